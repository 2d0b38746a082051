"""Requests of Codex that no client answers, with the real Codex: the agent continues as it would
with Codex alone.
"""

import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from trimpoint.testkit import Reply, call, run

from tests.e2e import asking_mcp_server
from tests.e2e.clients.asking import (
    ACCEPT,
    ASK_A_PERSON,
    COMMAND,
    ELICITATION,
    FILE_CHANGE,
    LOOKUP,
    PATCH,
    TOOL,
    USER_INPUT,
    decline_to_answer,
    reply,
    resolved,
    scene_in,
    touch,
)
from tests.e2e.conftest import Harness

pytestmark = pytest.mark.codex

ASKED = {"questions": [{"id": "colour", "header": "Colour", "question": "Which one?", "options": [
    {"label": "Red (Recommended)", "description": "warm"}, {"label": "Blue", "description": "cold"}]}]}  # fmt: skip
KINDS: dict[str, tuple[Reply, dict[str, Any]]] = {
    COMMAND: (touch(), {}),
    FILE_CHANGE: (run(PATCH), {}),
    TOOL: (call("lookup", {"q": "answer"}), {"dynamicTools": [LOOKUP]}),
    USER_INPUT: (call("request_user_input", ASKED), {}),
    ELICITATION: (Reply(items=[ASK_A_PERSON]), {"approvalPolicy": "on-request"}),
}


@pytest.mark.each_case(reason="each kind of question is refused in its own way")
@pytest.mark.parametrize("kind", KINDS)
async def test_a_turn_continues_when_every_client_refuses_its_question(
    harness: Harness, kind: str
) -> None:
    server = Path(asking_mcp_server.__file__)
    harness.overrides.append(f'mcp_servers.asking={{command="{sys.executable}",args=["{server}"]}}')
    harness.overrides.append("features.default_mode_request_user_input=true")
    replies, settings = KINDS[kind]
    async with AsyncExitStack() as stack:
        setup = await scene_in(harness, stack)
        one = await setup.client("one")
        await setup.begin(one, **settings)
        two = await setup.joined("two")
        await one.received_after("mcpServer/startupStatus/updated", status="ready")
        turn_id = await setup.prompt(one, replies)
        question = await one.received_after(kind)
        await decline_to_answer(one, question)
        await decline_to_answer(two, await two.received_after(kind))
        assert await setup.ended(one, turn_id) == "completed"
        assert len(resolved(one, question)) == len(resolved(two, question)) == 1
        snapshot = await one.result("orchestration/snapshot", threadId=setup.thread_id)
        assert snapshot["thread"]["pendingRequests"] == []
    assert not setup.made.exists()


async def test_a_turn_continues_when_the_last_client_that_could_answer_is_gone(
    harness: Harness,
) -> None:
    async with AsyncExitStack() as stack:
        setup = await scene_in(harness, stack)
        one = await setup.client("one")
        await setup.begin(one)
        two = await setup.joined("two")
        turn_id = await setup.prompt(one, touch())
        await decline_to_answer(one, await one.received_after(COMMAND))
        await two.received_after(COMMAND)
        await two.abort()
        assert await setup.ended(one, turn_id) == "completed"
    assert not setup.made.exists()


@pytest.mark.parametrize("no_answer", [None, {"decision": "allow"}, {"decision": {"accept": 1}}])
async def test_what_codex_cannot_read_decides_nothing_for_the_other_client(
    harness: Harness, no_answer: Any
) -> None:
    async with AsyncExitStack() as stack:
        setup = await scene_in(harness, stack)
        one = await setup.client("one")
        await setup.begin(one)
        two = await setup.joined("two")
        turn_id = await setup.prompt(one, touch())
        await reply(one, await one.received_after(COMMAND), no_answer)
        await one.settled()
        await reply(two, await two.received_after(COMMAND), ACCEPT)
        assert await setup.ended(two, turn_id) == "completed"
    assert setup.made.exists()
