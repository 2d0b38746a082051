"""Each process is killed in the middle of a turn: every prompt gets an answer, and nothing is
lost.
"""

import os
import signal

import anyio
import pytest
from trimpoint.testkit import hang, run, say

from tests.acp.editor import Editor, Refused, opened_editor
from tests.deadlines import STEP_S
from tests.e2e.conftest import CODEX_BIN, Harness, opened_harness
from tests.e2e.conversation import Conversation
from tests.e2e.daemon_process import daemon_process, kill

pytestmark = pytest.mark.codex


async def _hanging_prompt(harness: Harness, editor: Editor, session_id: str) -> int:
    after = len(editor.received)
    harness.script.then(hang("I begin", until=anyio.Event()))
    prompt = await editor.begin_prompt(session_id, "Never end.")
    await editor.update("agent_message_chunk", after)
    return prompt


async def _until_codex_is_back(harness: Harness) -> None:
    async with harness.client() as client:
        talk = Conversation(client, "", harness.model, harness.script)
        await talk.until_codex_answers()


async def test_a_killed_codex_ends_the_prompt_and_the_next_one_works(
    harness: Harness, editor: Editor
) -> None:
    session_id = await editor.new_session(harness)
    harness.script.then(say("Remember me."))
    await editor.prompt(session_id, "Begin.")
    after = len(editor.received)
    harness.script.then(hang("I begin", until=anyio.Event()))
    prompt = await editor.begin_prompt(session_id, "Never end.")
    await editor.update("agent_message_chunk", after)
    os.kill(harness.child_pid(), signal.SIGKILL)
    assert await editor.result_of(prompt) == {"stopReason": "cancelled"}
    assert editor.said(after=after) != "I begin"
    await _until_codex_is_back(harness)
    assert await editor.prompt(session_id, "Again.") == {"stopReason": "end_turn"}
    assert harness.model.requests[-1].mentions("Remember me.")


async def test_a_killed_daemon_fails_the_prompt_and_the_next_one_works() -> None:
    async with (
        opened_harness() as harness,
        daemon_process(harness) as daemon,
        opened_editor(harness) as editor,
    ):
        await editor.introduce()
        session_id = await editor.new_session(harness)
        harness.script.then(say("Remember me."))
        await editor.prompt(session_id, "Begin.")
        prompt = await _hanging_prompt(harness, editor, session_id)
        await kill(daemon)
        with pytest.raises(Refused) as refused:
            await editor.result_of(prompt)
        assert refused.value.data["reason"] == "daemon_lost"
        async with daemon_process(harness):
            assert await editor.prompt(session_id, "Again.") == {"stopReason": "end_turn"}
            assert harness.model.requests[-1].mentions("Remember me.")


async def test_a_killed_agent_leaves_a_session_that_can_be_loaded(harness: Harness) -> None:
    async with opened_editor(harness) as editor:
        await editor.introduce()
        session_id = await editor.new_session(harness)
        harness.script.then(say("Remember me."))
        await editor.prompt(session_id, "Begin.")
        await _hanging_prompt(harness, editor, session_id)
        editor.process.send_signal(signal.SIGKILL)
        with anyio.fail_after(STEP_S):
            await editor.process.wait()
    async with opened_editor(harness) as later:
        await later.introduce()
        await later.request(
            "session/load", sessionId=session_id, cwd=str(harness.worktree), mcpServers=[]
        )
        assert "Remember me." in later.said()


@pytest.mark.parametrize("end", ["eof", "sigterm"])
async def test_an_editor_that_ends_has_its_turn_interrupted(harness: Harness, end: str) -> None:
    async with opened_editor(harness) as editor, harness.client() as watching:
        await editor.introduce()
        session_id = await editor.new_session(harness)
        await editor.request("session/set_mode", sessionId=session_id, modeId="full-access")
        await watching.request("orchestration/subscribeThread", threadId=session_id)
        await _hanging_prompt(harness, editor, session_id)
        if end == "eof":
            assert editor.process.stdin is not None
            await editor.process.stdin.aclose()
        else:
            editor.process.send_signal(signal.SIGTERM)
        with anyio.fail_after(STEP_S):
            assert await editor.process.wait() == 0
            ended = await watching.expect(
                lambda message: message.get("params", {}).get("type") == "thread.turn-completed"
            )
        assert ended["params"]["payload"]["status"] == "interrupted"


async def test_a_turn_continues_without_its_editor_if_another_client_is_subscribed(
    harness: Harness,
) -> None:
    gate = harness.worktree / "gate"
    os.mkfifo(gate)
    gate_fd = os.open(gate, os.O_RDWR)
    async with opened_editor(harness) as editor, harness.client() as other:
        await editor.introduce()
        session_id = await editor.new_session(harness)
        await editor.request("session/set_mode", sessionId=session_id, modeId="full-access")
        await other.request("thread/resume", threadId=session_id)
        harness.script.then(run(f"head -n 1 {gate}"), say("I am done."))
        await editor.begin_prompt(session_id, "Wait for it.")
        await editor.update("tool_call")
        assert editor.process.stdin is not None
        await editor.process.stdin.aclose()
        with anyio.fail_after(STEP_S):
            assert await editor.process.wait() == 0
            os.write(gate_fd, b"go\n")
            ended = await other.received("turn/completed")
        assert ended["params"]["turn"]["status"] == "completed"
    os.close(gate_fd)


async def test_an_agent_starts_the_daemon_and_leaves_it_running() -> None:
    async with opened_harness() as harness:
        config = harness.home / "config.toml"
        overrides = ", ".join(repr(one) for one in harness.overrides)
        config.write_text(f'[codex]\npath = "{CODEX_BIN}"\noverrides = [{overrides}]\n')
        async with opened_editor(harness) as editor:
            await editor.introduce()
            session_id = await editor.new_session(harness)
            assert await editor.prompt(session_id, "Hello.") == {"stopReason": "end_turn"}
        async with harness.client() as client:
            status = await client.request("sidecar/status")
            assert status["pid"]
            await client.request("sidecar/shutdown")
