"""A prompt that was added to a running turn, and is sent again because its client was killed before
it knew, is taken once.
"""

import anyio
import pytest
from trimpoint.cli.connection.client import Client, RemoteError
from trimpoint.testkit import held, say

from tests.deadlines import STEP_S
from tests.e2e.conftest import Harness

pytestmark = pytest.mark.codex

NAME = "01900000-0000-7000-8000-0000000000aa"
PROMPT = [{"type": "text", "text": "And the second thing."}]


async def sends_again(client: Client, thread_id: str) -> None:
    """Queues the prompt, as a chat does that finds it in its line at its next start."""
    command = {
        "type": "thread.queue.add",
        "commandId": NAME,
        "threadId": thread_id,
        "input": PROMPT,
        "clientUserMessageId": NAME,
    }
    await client.request("orchestration/dispatch", command=command)


async def until_another_ended(client: Client, turn_id: str) -> None:
    await client.expect(
        lambda one: one.get("method") == "turn/completed" and one["params"]["turn"]["id"] != turn_id
    )


def count(harness: Harness) -> int:
    return str(harness.model.turn_requests()[-1].input).count("And the second thing.")


async def test_what_the_agent_has_read_is_not_taken_again(harness: Harness) -> None:
    go_on = anyio.Event()
    harness.script.then(held(say("first"), go_on), say("second"), say("third"))
    async with harness.daemon(), harness.client() as client, harness.client("late") as late:
        with anyio.fail_after(STEP_S):
            started = await client.request("thread/start", cwd=str(harness.worktree))
            thread_id = started["thread"]["id"]
            turn = await client.request(
                "turn/start", threadId=thread_id, input=[{"type": "text", "text": "One."}]
            )
            await harness.model.wait_for_request()
            await client.request(
                "turn/steer",
                threadId=thread_id,
                expectedTurnId=turn["turn"]["id"],
                input=PROMPT,
                clientUserMessageId=NAME,
            )
            go_on.set()
            await client.received("turn/completed")
            await sends_again(late, thread_id)
            shown = await late.request("orchestration/snapshot", threadId=thread_id)
            await client.request(
                "turn/start", threadId=thread_id, input=[{"type": "text", "text": "Three."}]
            )
            await until_another_ended(client, turn["turn"]["id"])
    assert shown["thread"]["queue"] == []
    assert len(harness.model.turn_requests()) == 3
    assert count(harness) == 1


async def test_what_the_agent_has_not_read_is_taken_when_it_is_sent_again(harness: Harness) -> None:
    go_on = anyio.Event()
    harness.script.then(held(say("first"), go_on), say("second"))
    async with harness.daemon(), harness.client() as client:
        with anyio.fail_after(STEP_S):
            started = await client.request("thread/start", cwd=str(harness.worktree))
            thread_id = started["thread"]["id"]
            turn = await client.request(
                "turn/start", threadId=thread_id, input=[{"type": "text", "text": "One."}]
            )
            turn_id = turn["turn"]["id"]
            await harness.model.wait_for_request()
            steer = {"threadId": thread_id, "input": PROMPT, "clientUserMessageId": NAME}
            with pytest.raises(RemoteError):
                await client.request("turn/steer", expectedTurnId="another", **steer)
            await client.request("turn/steer", expectedTurnId=turn_id, **steer)
            await client.request("turn/interrupt", threadId=thread_id, turnId=turn_id)
            await client.received("turn/completed")
            go_on.set()
            await sends_again(client, thread_id)
            await until_another_ended(client, turn_id)
    assert count(harness) == 1
