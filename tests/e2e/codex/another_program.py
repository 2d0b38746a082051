"""Another program goes on with a thread of the daemon, by a Codex of its own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from trimpoint.testkit import run, say

from tests.e2e.conftest import Harness
from tests.e2e.conversation import Conversation
from tests.e2e.wire import JsonRpcClient, connect_to_codex


@asynccontextmanager
async def another_program(
    harness: Harness, thread_id: str, **settings: Any
) -> AsyncIterator[JsonRpcClient]:
    """Yields a Codex without a daemon that has resumed the thread."""
    async with connect_to_codex(harness) as wire:
        await wire.initialize()
        await wire.result("thread/resume", threadId=thread_id, **settings)
        yield wire


async def turn(wire: JsonRpcClient, harness: Harness, thread_id: str, number: int) -> str:
    harness.script.then(run(f"echo tool-output-{number}"), say(f"answer-{number}."))
    prompt = [{"type": "text", "text": f"prompt-{number}."}]
    answer = await wire.result("turn/start", threadId=thread_id, input=prompt)
    turn_id = str(answer["turn"]["id"])
    await wire.until(
        lambda one: one.get("method") == "turn/completed" and one["params"]["turn"]["id"] == turn_id
    )
    return turn_id


def provider_thread_of(harness: Harness) -> str:
    """Returns the id of the newest Codex thread, which serves the only thread."""
    return max(
        path.stem[-36:] for path in harness.codex_home.glob("sessions/*/*/*/rollout-*.jsonl")
    )


async def begun(harness: Harness, turns: int, *commands: str) -> tuple[str, str]:
    """Starts a thread with numbered turns, ends its daemon, and returns the ids of the thread and
    of its provider thread.
    """
    async with harness.conversation() as talk:
        for _ in range(turns):
            await talk.turn(tool=True)
        for command in commands:
            assert (await talk.type(command))["status"] == "completed"
        return talk.thread_id, provider_thread_of(harness)


@asynccontextmanager
async def going_on(
    harness: Harness, thread_id: str, turns: int, **params: Any
) -> AsyncIterator[Conversation]:
    """Yields the thread in a new daemon, resumed by a client, with this many turns counted."""
    async with harness.daemon(), harness.client() as client:
        await client.request("thread/resume", threadId=thread_id, **params)
        talk = Conversation(client, thread_id, harness.model, harness.script)
        talk.turns = turns
        yield talk
