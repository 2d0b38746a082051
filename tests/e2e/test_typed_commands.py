"""Slash commands typed as prompts by clients that know nothing of trimpoint (docs/spec/clients.md, docs/spec/traps.md)."""

import anyio
import pytest

from tests.deadlines import STEP_S
from tests.e2e.conftest import Harness
from tests.e2e.conversation import Conversation, seen_turns

pytestmark = [pytest.mark.codex, pytest.mark.also_restarted]


async def _prompt(talk: Conversation, text: str) -> tuple[str, str]:
    """The status of the turn and what it answered."""
    turn = await talk.prompt(text)
    ended = [m["params"] for m in talk.client.messages if m.get("method") == "item/completed"]
    items = [params["item"] for params in ended if params["turnId"] == turn["id"]]
    return turn["status"], next((item["text"] for item in items if item["type"] == "agentMessage"), "")


async def test_a_prompt_that_is_a_command_is_carried_out_and_never_sent(harness: Harness) -> None:
    async with harness.conversation() as talk:
        for _ in range(3):
            await talk.turn()
        status, answer = await _prompt(talk, "/clear 1")
        assert status == "completed"
        assert answer.startswith("Context cleared: 4 messages in 2 turns left it")
        request = await talk.turn()
        snapshot = await talk.snapshot()
    assert seen_turns(request, 3) == [3]
    assert not any(request.mentions("/clear") for request in harness.model.requests)
    assert snapshot["turnCount"] == 4


@pytest.mark.parametrize("text", ["/clear abc", "/clear -1", "/clear 3 fix it", "/compact --keep"])
async def test_a_wrong_command_says_what_is_right_and_is_never_sent(harness: Harness, text: str) -> None:
    async with harness.conversation() as talk:
        await talk.turn()
        _, answer = await _prompt(talk, text)
        assert "Usage: /" in answer
    assert len(harness.model.requests) == 1


async def test_an_input_that_names_no_command_is_a_prompt(harness: Harness) -> None:
    async with harness.conversation() as talk:
        await talk.turn()
        with anyio.fail_after(STEP_S):
            await talk.prompt("/clearance of goods")
    assert harness.model.requests[-1].mentions("/clearance of goods")
