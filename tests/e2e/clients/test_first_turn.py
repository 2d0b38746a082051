"""What a second client asks while Codex stores the first turn of a thread."""

from functools import partial
from typing import Any

import anyio
import pytest
from trimpoint.testkit import say

from tests.e2e.conftest import Harness

pytestmark = [
    pytest.mark.processes,
    pytest.mark.codex,
    pytest.mark.usefixtures("running_harness"),
]

EVERY_S = 0.004
MANY = 25
SETTINGS = {"approvalPolicy": "never", "sandbox": "danger-full-access"}


@pytest.mark.parametrize(
    ("method", "params", "before"),
    [
        ("thread/resume", {"excludeTurns": True}, True),
        ("thread/read", {}, True),
        # Codex refuses these before the first turn.
        ("thread/resume", {}, False),
        ("thread/read", {"includeTurns": True}, False),
        ("thread/turns/list", {}, False),
    ],
)
async def test_a_thread_can_be_read_and_joined_while_its_first_turn_is_stored(
    harness: Harness, method: str, params: dict[str, Any], before: bool
) -> None:
    async with harness.daemon(), harness.client() as client, harness.client("other") as other:
        for _ in range(3):
            started = await client.request("thread/start", cwd=str(harness.worktree), **SETTINGS)
            thread_id = started["thread"]["id"]
            harness.script.then(say("apple-1."))
            words = [{"type": "text", "text": "one?", "text_elements": []}]
            ask = partial(other.request, method, threadId=thread_id, **params)
            start = partial(client.request, "turn/start", threadId=thread_id, input=words)
            async with anyio.create_task_group() as tasks:
                if not before:
                    await start()
                for number in range(MANY):
                    tasks.start_soon(_later, number * EVERY_S, ask)
                if before:
                    await start()
            await client.received("turn/completed", threadId=thread_id)


async def _later(after_s: float, ask: Any) -> None:
    await anyio.sleep(after_s)
    await ask()
