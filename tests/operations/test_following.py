"""A client that follows a thread, and comes back with its cursor, is sent each event once, in
order, while a writer never rests.
"""

import random

import anyio
import msgspec
import pytest
from trimpoint.core.model import events as ev
from trimpoint.gateway.session.requests.dispatch import Call

from tests.effort import tries
from tests.gateway.stage import FakeClient
from tests.operations.stage import Stage, opened_stage
from tests.threads.stage import THREAD, never_rest


class Follower:
    """A client that reconnects; `events` are the numbers of all events that it was sent or that a
    snapshot had, and `cursor` is what it comes back with.
    """

    def __init__(self, stage: Stage, cursor: int) -> None:
        self.stage = stage
        self.cursor = cursor
        self.events: list[int] = []

    async def connect(self, *, with_cursor: bool) -> FakeClient:
        client = FakeClient(self.stage.clients)
        call = Call(client.client)
        given = {"threadId": THREAD, **({"afterSequence": self.cursor} if with_cursor else {})}
        params = msgspec.Raw(msgspec.json.encode(given))
        extensions = self.stage.routes.extensions
        answer = await extensions.call("orchestration/subscribeThread", params, call)
        assert answer.result is not None, answer.error
        result = msgspec.to_builtins(answer.result)
        if result["mode"] == "snapshot":
            self.events.clear()
            self.cursor = result["sequence"]
        await anyio.lowlevel.checkpoint()  # as if something waited before the rest is sent
        for step in call.after:
            step()
        return client

    def leave(self, client: FakeClient) -> None:
        """Takes what the client was sent, and checks it."""
        self.stage.clients.remove(client.client)
        for message in client.received:
            match message["method"]:
                case "orchestration/event":
                    self.events.append(message["params"]["sequence"])
                    assert self.events[-1] > self.cursor, "an event came twice, or too late"
                    self.cursor = self.events[-1]
                case "orchestration/synchronized":
                    assert message["params"]["sequence"] == self.cursor
                case _:
                    pass


@pytest.mark.parametrize("seed", range(5))
async def test_a_follower_that_reconnects_gets_every_event_once(seed: int) -> None:
    await reconnect(seed, tries(100))


@pytest.mark.thorough("ten thousand reconnects take half a minute")
async def test_a_follower_that_reconnects_ten_thousand_times_gets_every_event_once() -> None:
    await reconnect(5, tries(10_000))


async def reconnect(seed: int, times: int) -> None:
    chance = random.Random(seed)
    async with opened_stage() as stage:
        writer, published = await stage.thread(), list[int]()
        first = writer.durable_sequence

        def note(_: str, record: ev.Record) -> None:
            published.extend(record.sequence + index for index in range(len(record.events)))

        stage.registry.subscribe(note)
        follower, ended = Follower(stage, first), anyio.Event()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(never_rest, writer, ended, chance)
            for _ in range(times):
                client = await follower.connect(with_cursor=chance.random() < 0.98)
                for _ in range(chance.randrange(6)):
                    await anyio.lowlevel.checkpoint()
                follower.leave(client)
            ended.set()
        # A snapshot that nothing followed has all events up to the cursor.
        since = follower.events[0] if follower.events else follower.cursor + 1
        expected = [one for one in published if since <= one <= follower.cursor]
        assert follower.events == expected
