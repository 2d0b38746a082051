"""A client of server-sent events that comes back with `Last-Event-ID` is sent each event once, in
order, while a writer never rests.
"""

import random
from typing import Any

import anyio
import msgspec
import pytest
from trimpoint.core.model import events as ev

from tests.deadlines import STEP_S
from tests.effort import tries
from tests.http.stage import Stage, Wire
from tests.threads.stage import THREAD, begin, never_rest

RECONNECTS = 100
SYNCHRONIZED = "orchestration/synchronized"


class Reader:
    """A reader that reconnects; `events` are the numbers of what it was sent since its last
    snapshot, and `cursor` is what it comes back with.
    """

    def __init__(self, stage: Stage, cursor: int) -> None:
        self.stage = stage
        self.cursor = cursor
        self.events: list[int] = []

    async def read(self, how_many: int, *, with_cursor: bool, until_live: bool) -> None:
        """Connects, reads some events, or what is replayed and some behind it, and leaves without a
        word.
        """
        with anyio.fail_after(STEP_S):
            async with self.stage.unix() as wire:
                await self.connect(wire, with_cursor=with_cursor)
                while until_live and self.take(await wire.event()) != SYNCHRONIZED:
                    pass
                for _ in range(how_many):
                    self.take(await wire.event())

    async def connect(self, wire: Wire, *, with_cursor: bool) -> None:
        cursor = f"Last-Event-ID: {self.cursor}\r\n" if with_cursor else ""
        head = f"GET /api/v1/threads/{THREAD}/events HTTP/1.1\r\nHost: localhost\r\n{cursor}\r\n"
        await wire.stream.send(head.encode())
        assert (await wire.answer()).headers["content-type"] == "text/event-stream"

    def take(self, event: dict[str, str]) -> str:
        """Checks an event, and returns its name."""
        data: dict[str, Any] = msgspec.json.decode(event["data"])
        match event["event"]:
            case "snapshot":
                self.events.clear()
                self.cursor = int(data["sequence"])
            case "orchestration/event":
                self.events.append(int(event["id"]))
                assert self.events[-1] > self.cursor, "an event came twice, or too late"
                self.cursor = self.events[-1]
            case name if name == SYNCHRONIZED:
                assert data["sequence"] == self.cursor
            case other:
                raise AssertionError(other)
        return event["event"]


@pytest.mark.parametrize("seed", range(5))
async def test_a_reader_that_reconnects_gets_every_event_once(stage: Stage, seed: int) -> None:
    await reconnect(stage, seed, tries(RECONNECTS))


@pytest.mark.thorough("ten thousand reconnects take a minute")
async def test_a_reader_that_reconnects_ten_thousand_times_gets_every_event_once(
    stage: Stage,
) -> None:
    await reconnect(stage, 5, tries(10_000))


async def reconnect(stage: Stage, seed: int, times: int) -> None:
    chance, registry = random.Random(seed), stage.daemon._registry
    writer, published = await begin(registry), list[int]()
    await writer.flush()

    def note(_: str, record: ev.Record) -> None:
        published.extend(record.sequence + index for index in range(len(record.events)))

    registry.subscribe(note)
    reader, ended = Reader(stage, writer.durable_sequence), anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(never_rest, writer, ended, chance)
        try:
            for _ in range(times):
                with_cursor, until_live = chance.random() < 0.98, chance.random() < 0.8
                await reader.read(
                    chance.randrange(8), with_cursor=with_cursor, until_live=until_live
                )
        finally:
            ended.set()
    since = reader.events[0] if reader.events else reader.cursor + 1
    assert reader.events == [one for one in published if since <= one <= reader.cursor]
