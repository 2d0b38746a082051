"""An interrupt ends the turn whenever it comes: Codex forgets one in the first moments of a turn."""

from typing import Any

import anyio
import pytest
from trimpoint.testkit import run, say

from tests.deadlines import STEP_S
from tests.e2e.conftest import Harness

pytestmark = pytest.mark.codex


@pytest.mark.parametrize("delay_s", [0.0, 0.02, 0.05, 0.1])
async def test_nothing_runs_behind_an_interrupt(harness: Harness, delay_s: float) -> None:
    marker = harness.worktree / "ran"
    settings: dict[str, Any] = {"approvalPolicy": "never", "sandbox": "danger-full-access"}
    async with harness.daemon(), harness.client() as client:
        with anyio.fail_after(STEP_S):
            started = await client.request("thread/start", cwd=str(harness.worktree), **settings)
            thread_id = started["thread"]["id"]
            harness.script.then(run(f"sleep 3; touch {marker}"), say("done"))
            prompt = [{"type": "text", "text": "go"}]
            turn = (await client.request("turn/start", threadId=thread_id, input=prompt))["turn"]
            await anyio.sleep(delay_s)  # any moment of the turn's beginning
            await client.request("turn/interrupt", threadId=thread_id, turnId=turn["id"])
            ended = await client.received("turn/completed")
    assert ended["params"]["turn"]["status"] == "interrupted"
    assert not marker.exists()
