"""Prompts of an editor are streamed, answered once, and cancelled."""

import anyio
import pytest
from trimpoint.testkit import ModelRequest, Reply, hang, run, say, throwaway_codex_home

from tests.acp.editor import Editor, opened_editor
from tests.e2e.conftest import Harness

pytestmark = pytest.mark.codex


async def test_a_prompt_is_answered_in_pieces_and_then_ended(
    harness: Harness, editor: Editor
) -> None:
    session_id = await editor.new_session(harness)
    harness.script.then(say("An answer that is long enough to come in several pieces, I think."))
    answer = await editor.prompt(session_id, "Say something long.")
    assert answer == {"stopReason": "end_turn"}
    chunks = editor.updates("agent_message_chunk")
    assert len(chunks) > 1
    assert len({chunk["messageId"] for chunk in chunks}) == 1
    assert editor.said() == "An answer that is long enough to come in several pieces, I think."
    assert harness.model.requests[-1].mentions("Say something long.")


async def test_a_cancelled_prompt_is_answered_as_cancelled(
    harness: Harness, editor: Editor
) -> None:
    session_id = await editor.new_session(harness)
    harness.script.then(hang("I begin", until=anyio.Event()))
    prompt = await editor.begin_prompt(session_id, "Never end.")
    await editor.update("agent_message_chunk")
    await editor.notify("session/cancel", sessionId=session_id)
    assert await editor.result_of(prompt) == {"stopReason": "cancelled"}


async def test_a_cancel_right_behind_a_prompt_finds_it(harness: Harness, editor: Editor) -> None:
    session_id = await editor.new_session(harness)
    prompt = await editor.begin_prompt(session_id, "Begin.")
    await editor.notify("session/cancel", sessionId=session_id)
    assert await editor.result_of(prompt) == {"stopReason": "cancelled"}
    assert await editor.prompt(session_id, "Are you there?") == {"stopReason": "end_turn"}


@pytest.mark.parametrize("delay_s", [0.02, 0.06])
async def test_nothing_runs_behind_an_early_cancel_and_the_next_prompt_is_answered(
    harness: Harness, editor: Editor, delay_s: float
) -> None:
    marker = harness.worktree / "ran"
    session_id = await editor.new_session(harness)
    await editor.request("session/set_mode", sessionId=session_id, modeId="full-access")

    def answer(request: ModelRequest) -> Reply:
        # By the prompt: the model may not have been asked yet when the cancel comes.
        is_next = request.mentions("Are you there?")
        return say("Here.") if is_next else run(f"sleep 3; touch {marker}")

    harness.script.then(answer, answer, answer)
    prompt = await editor.begin_prompt(session_id, "Begin.")
    await anyio.sleep(delay_s)  # any moment of the turn's beginning
    await editor.notify("session/cancel", sessionId=session_id)
    assert await editor.result_of(prompt) == {"stopReason": "cancelled"}
    assert await editor.prompt(session_id, "Are you there?") == {"stopReason": "end_turn"}
    assert not marker.exists()


async def test_an_editor_with_a_codex_home_of_its_own_is_answered_from_there(
    harness: Harness, editor: Editor
) -> None:
    async with (
        throwaway_codex_home() as home,
        opened_editor(harness, CODEX_HOME=str(home)) as other,
    ):
        (home / "AGENTS.md").write_text("The other home.")
        await other.introduce()
        for one in (editor, other):
            await one.prompt(await one.new_session(harness), "Hello.")
    requests = harness.model.turn_requests()
    assert [request.mentions("The other home.") for request in requests] == [False, True]
