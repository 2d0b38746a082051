"""Prompts of an editor: streamed, answered once, cancelled."""

import anyio
import pytest
from trimpoint.testkit import hang, say

from tests.acp.editor import Editor
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
