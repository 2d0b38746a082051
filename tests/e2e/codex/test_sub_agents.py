"""A thread is busy while a sub-agent that it started is working (docs/spec/sessions.md)."""

import anyio
import pytest
from trimpoint.testkit import held, say

from tests.deadlines import STEP_S
from tests.e2e.codex.sub_agents import replies_of_both
from tests.e2e.conftest import Harness

pytestmark = pytest.mark.codex


async def test_a_working_sub_agent_keeps_its_parent_busy_until_it_rests(harness: Harness) -> None:
    release = anyio.Event()

    async with harness.conversation() as talk:
        talk.script.then(*replies_of_both(held(say("done"), release)))
        with anyio.fail_after(STEP_S):
            await talk.prompt("prompt-1.")
            await harness.model.wait_for_request(lambda request: not request.mentions("prompt-1."))
            with talk.no_restart():
                blocked = await talk.type("/clear")
            assert (blocked["status"], blocked["reason"]) == ("skipped", "request_pending"), blocked
            assert blocked["blocker"]["detail"] == "subAgent"
            follower = len(talk.client.messages)
            await talk.client.request("orchestration/subscribeThread", threadId=talk.thread_id)
            release.set()
            await talk.client.expect(
                lambda m: (
                    m.get("method") == "orchestration/event"
                    and m["params"]["type"] == "thread.request-closed"
                ),
                follower,
            )
            cleared = await talk.type("/clear")
    assert cleared["status"] == "completed", cleared
