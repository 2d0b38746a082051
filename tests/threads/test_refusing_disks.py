"""A disk that is full, read-only or hangs costs little, and is told."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from errno import EIO, ENOSPC, EROFS
from itertools import pairwise

import anyio
import pytest
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Policy
from trimpoint.journal.port import Bookmark
from trimpoint.journal.storage.memory import MemoryJournal
from trimpoint.threads.errors import JournalRefuses
from trimpoint.threads.registry import ThreadRegistry
from trimpoint.threads.writing import flushing
from trimpoint.threads.writing.flushing import Trouble
from trimpoint.threads.writing.writer import ThreadWriter
from trimpoint_protocol import commands as wire

from tests.simulation.loop import run_without_clock
from tests.threads.stage import THREAD, Disk, Store, begin, turn


class CountingStore(Store):
    """Counts how often a journal was opened."""

    opened = 0

    async def open_journal(self, thread_id: str, after: Bookmark | None = None) -> MemoryJournal:
        self.opened += 1
        return await super().open_journal(thread_id, after)


@dataclass
class HangingDisk(Disk):
    answers: anyio.Event | None = None

    def free(self) -> None:
        super().free()
        if self.answers is not None:
            self.answers.set()

    async def wait(self) -> None:
        await super().wait()
        if self.answers is not None:
            await self.answers.wait()


@dataclass
class Scene:
    store: CountingStore
    disk: Disk
    registry: ThreadRegistry
    writer: ThreadWriter
    told: list[Trouble | None] = field(default_factory=list)


def play(story: Callable[[Scene], Awaitable[None]], disk: Disk | None = None) -> None:
    """Runs a story of a thread with a turn, on a loop without a clock."""

    async def main() -> None:
        scene_disk = disk or Disk()
        store = CountingStore(scene_disk)
        async with ThreadRegistry.running(store, Policy()) as registry:
            writer = await begin(registry)
            writer.record_facts(*turn("T0"))
            await writer.flush()
            scene = Scene(store, scene_disk, registry, writer)
            registry.subscribe_trouble(lambda thread_id, trouble: scene.told.append(trouble))
            store.opened = 0
            try:
                await story(scene)
            finally:  # else the registry would wait for a disk that hangs
                scene.disk.free()

    run_without_clock(main)


def rename(number: int) -> wire.RenameThread:
    return wire.RenameThread(command_id=f"c{number}", thread_id=THREAD, name=f"name {number}")


@pytest.mark.parametrize("errno", [ENOSPC, EROFS, EIO])
def test_a_thread_is_not_read_again_until_its_records_can_be_written(errno: int) -> None:
    async def story(scene: Scene) -> None:
        scene.disk.fill()
        scene.disk.refusal = errno
        for number in range(20):
            scene.writer.record_facts(ev.TurnRequested(f"R{number}"))
            with pytest.raises(JournalRefuses):
                await scene.writer.execute(rename(number))
        await anyio.sleep(3_600)
        assert scene.store.opened == 0
        scene.disk.free()
        await anyio.sleep(60)
        assert scene.store.opened == 1
        assert len(scene.disk.written().turn_requests) == 20

    play(story)


def test_a_disk_that_refuses_is_tried_less_and_less_often() -> None:
    async def story(scene: Scene) -> None:
        scene.disk.fill(THREAD)
        scene.writer.record_facts(ev.TurnRequested("R"))
        refused: list[float] = []
        scene.disk.on_refusal = lambda: refused.append(anyio.current_time())
        await anyio.sleep(600)
        tried = sorted({round(one) for one in refused})
        assert [late - early for early, late in pairwise(tried)][:5] == [
            1, 2, 5, 10, 10,
        ]  # fmt: skip

    play(story)


def test_a_full_disk_is_reported_and_so_is_its_end() -> None:
    async def story(scene: Scene) -> None:
        scene.disk.fill()
        scene.writer.record_facts(ev.TurnRequested("R"))
        await anyio.sleep(5)
        assert scene.told[0] is not None
        assert "No space left on device" in scene.told[0].detail
        assert None not in scene.told
        scene.disk.free()
        await anyio.sleep(60)
        assert scene.told[-1] is None

    play(story)


def test_a_disk_that_does_not_answer_is_reported_and_so_is_its_end() -> None:
    async def story(scene: Scene) -> None:
        assert isinstance(scene.disk, HangingDisk)
        scene.disk.answers = anyio.Event()
        scene.writer.record_facts(ev.TurnRequested("R"))
        await anyio.sleep(3_600)
        assert scene.told == [Trouble(flushing.SLOW, is_too_much=False)]
        scene.disk.free()
        await anyio.sleep(1)
        assert scene.told[-1] is None
        assert scene.disk.written().turn_requests.keys() == {"R"}

    play(story, HangingDisk())


LARGE = ev.ContextItemsRecorded("T0", (b'{"text":"%s"}' % (b"x" * 2_000),))


@pytest.mark.parametrize("hangs", [False, True])
def test_facts_that_fill_the_memory_are_reported(
    monkeypatch: pytest.MonkeyPatch, hangs: bool
) -> None:
    monkeypatch.setattr(flushing, "MOST_UNWRITTEN_BYTES", 20_000)

    async def story(scene: Scene) -> None:
        assert isinstance(scene.disk, HangingDisk)
        scene.disk.answers = anyio.Event() if hangs else None
        if not hangs:
            scene.disk.fill()
        for _ in range(9):
            scene.writer.record_facts(LARGE)
        await anyio.sleep(11)
        assert not any(one.is_too_much for one in scene.told if one is not None)
        for _ in range(9):
            scene.writer.record_facts(LARGE)
        await anyio.sleep(11)
        assert any(one.is_too_much for one in scene.told if one is not None)
        scene.disk.free()
        await anyio.sleep(11)
        assert scene.told[-1] is None
        assert scene.writer.unwritten_bytes == 0

    play(story, HangingDisk())


def test_a_listener_that_breaks_does_not_keep_the_disk_from_being_tried() -> None:
    async def story(scene: Scene) -> None:
        def broken(thread_id: str, trouble: Trouble | None) -> None:
            raise KeyError(thread_id)

        scene.registry.subscribe_trouble(broken)
        scene.disk.fill()
        scene.writer.record_facts(ev.TurnRequested("R"))
        await anyio.sleep(5)
        scene.disk.free()
        await anyio.sleep(60)
        assert "R" in scene.disk.written().turn_requests

    play(story)
