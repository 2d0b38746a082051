"""Questions that no client answers, on the real Codex: the agent goes on as it would with Codex alone."""

import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from trimpoint.testkit import Reply, call, run

from tests.e2e import asking_mcp_server
from tests.e2e.conftest import House
from tests.e2e.test_questions import (
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


@pytest.mark.parametrize("kind", KINDS)
async def test_a_turn_goes_on_when_every_client_refuses_its_question(house: House, kind: str) -> None:
    server = Path(asking_mcp_server.__file__)
    house.overrides.append(f'mcp_servers.asking={{command="{sys.executable}",args=["{server}"]}}')
    house.overrides.append("features.default_mode_request_user_input=true")
    replies, settings = KINDS[kind]
    async with AsyncExitStack() as stack:
        scene = await scene_in(house, stack)
        one = await scene.client("one")
        await scene.begin(one, **settings)
        two = await scene.joined("two")
        await one.heard("mcpServer/startupStatus/updated", status="ready")
        turn_id = await scene.prompt(one, replies)
        question = await one.heard(kind)
        await decline_to_answer(one, question)
        await decline_to_answer(two, await two.heard(kind))
        assert await scene.ended(one, turn_id) == "completed"
        assert len(resolved(one, question)) == len(resolved(two, question)) == 1
        snapshot = await one.result("orchestration/snapshot", threadId=scene.thread_id)
        assert snapshot["thread"]["pendingRequests"] == []
    assert not scene.made.exists()


async def test_a_turn_goes_on_when_the_last_client_that_could_answer_is_gone(house: House) -> None:
    async with AsyncExitStack() as stack:
        scene = await scene_in(house, stack)
        one = await scene.client("one")
        await scene.begin(one)
        two = await scene.joined("two")
        turn_id = await scene.prompt(one, touch())
        await decline_to_answer(one, await one.heard(COMMAND))
        await two.heard(COMMAND)
        await two.vanish()
        assert await scene.ended(one, turn_id) == "completed"
    assert not scene.made.exists()


async def test_a_null_of_one_client_decides_nothing_for_the_other(house: House) -> None:
    async with AsyncExitStack() as stack:
        scene = await scene_in(house, stack)
        one = await scene.client("one")
        await scene.begin(one)
        two = await scene.joined("two")
        turn_id = await scene.prompt(one, touch())
        await reply(one, await one.heard(COMMAND), None)
        await one.settled()
        await reply(two, await two.heard(COMMAND), ACCEPT)
        assert await scene.ended(two, turn_id) == "completed"
    assert scene.made.exists()
