"""A thread whose compaction waits, and a client that has begun it."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import anyio
from trimpoint.testkit import ModelRequest, Reply, say

from tests.deadlines import STEP_S
from tests.e2e.conftest import Harness
from tests.e2e.conversation import Conversation
from tests.e2e.wire import JsonRpcClient, Message, connect_socket

ACTIVE = {"type": "active", "activeFlags": []}


class Setup:
    """A thread with two turns, whose next compaction waits for `release`."""

    def __init__(self, harness: Harness, wire: JsonRpcClient, talk: Conversation) -> None:
        self.harness = harness
        self.wire = wire
        self.talk = talk
        self.thread_id = talk.thread_id
        self.release = anyio.Event()
        self.reply = say("The gist.")

    async def prompt(self, text: str, **params: Any) -> Message:
        turn_input = [{"type": "text", "text": text}]
        return await self.wire.ask(
            "turn/start", threadId=self.thread_id, input=turn_input, **params
        )

    async def compacting(self, text: str = "/compact") -> str:
        """Types the command, and waits until the model is asked for a summary."""

        async def held(request: ModelRequest) -> Reply:
            await self.release.wait()
            return self.reply

        self.harness.script.at_compaction(held)
        turn_id = str((await self.prompt(text, clientUserMessageId="mine"))["result"]["turn"]["id"])
        await self.until_summarizing()
        return turn_id

    async def compacting_natively(self) -> str:
        """Sends Codex's own request, and waits until the model is asked for a summary."""
        self.harness.script.at_compaction(lambda _: never(self))
        after = len(self.wire.received)
        await self.wire.result("thread/compact/start", threadId=self.thread_id)
        started = await self.wire.received_after("turn/started", after, threadId=self.thread_id)
        await self.until_summarizing()
        return str(started["params"]["turn"]["id"])

    async def until_summarizing(self) -> None:
        with anyio.fail_after(STEP_S):
            await self.harness.model.wait_for_request(lambda request: request.kind != "turn")

    async def begin(self, kind: str) -> str:
        """Begins a compaction, and returns the id of its turn."""
        return await (self.compacting() if kind == "typed" else self.compacting_natively())

    async def ended(self, turn_id: str) -> dict[str, Any]:
        message = await self.wire.until(
            lambda one: (
                one.get("method") == "turn/completed" and one["params"]["turn"]["id"] == turn_id
            )
        )
        return dict(message["params"]["turn"])

    async def operation(self) -> dict[str, Any]:
        """Returns the last phase of the thread's operation, from its events."""
        steps = [
            one["params"]
            for one in self.wire.received
            if one.get("method") == "orchestration/event"
        ]
        return dict(
            [step["payload"] for step in steps if step["type"] == "thread.operation-advanced"][-1]
        )


@asynccontextmanager
async def scene_in(harness: Harness) -> AsyncIterator[Setup]:
    async with AsyncExitStack() as stack:
        talk = await stack.enter_async_context(harness.conversation())
        wire = await stack.enter_async_context(connect_socket(harness.socket))
        await wire.initialize()
        for _ in range(2):
            await talk.turn()
        await wire.result("thread/resume", threadId=talk.thread_id)
        await wire.result("orchestration/subscribeThread", threadId=talk.thread_id)
        setup = Setup(harness, wire, talk)
        yield setup
        setup.release.set()


async def never(setup: Setup) -> Reply:
    await setup.release.wait()
    return say("too late")
