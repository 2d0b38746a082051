"""Idle threads leave memory and come back as they were; what anybody uses stays."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import msgspec
import pytest
from trimpoint.config.sections import ThreadsSection
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Policy
from trimpoint.core.model.state import ThreadState
from trimpoint.journal.codec.lazy_list import LazyList
from trimpoint.threads.registry import ThreadRegistry
from trimpoint.threads.writing import loading
from trimpoint_protocol import commands as wire

from tests.deadlines import STEP_S
from tests.threads.stage import OTHER, THREAD, Disk, Store, begin, published, turn

AT_ONCE = ThreadsSection(evict_after_s=0.0, snapshot_after_records=3)
SNAPSHOT = f"snapshots/{THREAD}"


@asynccontextmanager
async def running(
    disk: Disk | None = None, rules: ThreadsSection = AT_ONCE
) -> AsyncGenerator[ThreadRegistry]:
    async with ThreadRegistry.running(Store(disk or Disk()), Policy(), rules) as registry:
        with anyio.fail_after(STEP_S):
            yield registry


async def live(registry: ThreadRegistry, thread_id: str = THREAD, turns: int = 3) -> ThreadState:
    """A thread with turns, none of its writer left behind; a copy of its state."""
    writer = await begin(registry, thread_id)
    for number in range(turns):
        writer.record_facts(*turn(f"T{number}"))
        await writer.flush()
    return msgspec.msgpack.decode(msgspec.msgpack.encode(writer.state), type=ThreadState)


async def test_an_idle_thread_leaves_memory_and_comes_back_as_it_was() -> None:
    async with running() as registry:
        before = await live(registry)
        await registry.sweep()
        assert registry.loaded_writers() == []
        assert registry.summaries[THREAD].preview == "hello"
        writer = await registry.thread(THREAD)
        assert writer.state == before
        assert isinstance(writer.state.turns, LazyList)


async def test_a_thread_that_came_back_continues_in_the_same_journal() -> None:
    disk = Disk()
    async with running(disk) as registry:
        await live(registry)
        await registry.sweep()
        writer = await registry.thread(THREAD)
        writer.record_facts(*turn("after"))
        await writer.flush()
    assert [one.id for one in disk.written().turns] == ["T0", "T1", "T2", "after"]


async def test_a_writer_that_is_held_stays_the_only_one() -> None:
    async with running() as registry:
        await live(registry)
        held = await registry.thread(THREAD)
        await registry.sweep()
        assert await registry.thread(THREAD) is held
        del held
        await registry.sweep()
        assert registry.loaded(THREAD) is None


async def test_a_thread_stays_while_a_predicate_says_that_it_is_in_use() -> None:
    using = {THREAD}
    async with running() as registry:
        registry.keep_in_memory(using.__contains__)
        await live(registry)
        await live(registry, OTHER)
        await registry.sweep()
        assert [writer.thread_id for writer in registry.loaded_writers()] == [THREAD]
        using.clear()
        await registry.sweep()
        assert registry.loaded_writers() == []


@pytest.mark.parametrize(
    "under_way",
    [
        ev.TurnStarted("running", 1),
        ev.TurnRequested("request"),
        ev.RequestOpened("question", "m"),
        ev.OperationStarted("o", "clear"),
        ev.ThreadArchived(),
    ],
    ids=lambda event: type(event).__name__,
)
async def test_a_thread_on_which_something_is_under_way_stays(under_way: ev.AnyEvent) -> None:
    async with running() as registry:
        await live(registry)
        writer = await registry.thread(THREAD)
        writer.record_facts(under_way)
        await writer.flush()
        del writer
        await registry.sweep()
        assert registry.loaded(THREAD) is not None


async def test_a_thread_with_unwritten_records_stays_in_memory() -> None:
    disk = Disk()
    async with running(disk) as registry:
        await live(registry)
        disk.fill()
        (await registry.thread(THREAD)).record_facts(*turn("unwritten"))
        await registry.sweep()
        assert registry.loaded(THREAD) is not None
        with published(registry, ev.TurnCompleted) as written:
            disk.free()
            await written.wait()
        while registry.loaded(THREAD) is not None:
            await registry.sweep()
            await anyio.lowlevel.checkpoint()
    assert [one.id for one in disk.written().turns][-1] == "unwritten"


async def test_of_too_many_idle_threads_the_least_recently_used_leave() -> None:
    async with running(rules=ThreadsSection(evict_after_s=3600, max_idle=2)) as registry:
        ids = [f"01900000-0000-7000-8000-00000000000{n}" for n in range(4)]
        for thread_id in ids:
            await live(registry, thread_id)
        await registry.thread(ids[0])
        await registry.sweep()
        assert {writer.thread_id for writer in registry.loaded_writers()} == {ids[0], ids[3]}


async def test_a_thread_that_is_not_idle_for_long_enough_stays() -> None:
    async with running(rules=ThreadsSection(evict_after_s=3600)) as registry:
        await live(registry)
        await registry.sweep()
        assert registry.loaded(THREAD) is not None


async def test_a_damaged_thread_can_leave_and_come_back() -> None:
    disk = Disk()
    async with running(disk) as registry:
        await live(registry)
    disk.damaged[THREAD] = 2
    disk.checked.clear()
    async with running(disk) as registry:
        assert (await registry.thread(THREAD)).read_only
        await registry.sweep()
        assert registry.loaded(THREAD) is None
        assert "damaged" in str((await registry.thread(THREAD)).read_only)


async def test_few_records_are_not_worth_a_snapshot() -> None:
    disk = Disk()
    async with running(
        disk, ThreadsSection(evict_after_s=0.0, snapshot_after_records=100)
    ) as registry:
        await live(registry)
        await registry.sweep()
    assert SNAPSHOT not in disk.checked


async def test_a_thread_in_use_gets_its_snapshot_while_it_rests() -> None:
    disk = Disk()
    async with running(disk) as registry:
        registry.keep_in_memory(lambda thread_id: True)
        await live(registry)
        await registry.sweep()
        kept = disk.checked[SNAPSHOT]
        await registry.sweep()
        assert disk.checked[SNAPSHOT] is kept
        writer = await registry.thread(THREAD)
        assert writer.records_beyond_snapshot == 0
        writer.record_facts(*turn("more"))
        await writer.flush()
        assert writer.records_beyond_snapshot == 1


async def test_a_daemon_that_ends_leaves_snapshots_and_a_catalogue() -> None:
    disk = Disk()
    async with running(disk) as registry:
        before = await live(registry)
    assert SNAPSHOT in disk.checked
    store = Store(disk)
    async with ThreadRegistry.running(store, Policy(), AT_ONCE) as registry:
        assert registry.loaded_writers() == []
        assert (await registry.thread(THREAD)).state == before


async def test_a_daemon_that_was_killed_leaves_the_catalogue_of_its_last_sweep() -> None:
    disk = Disk()
    async with running(disk) as registry:
        await live(registry)
        await registry.sweep()
        left = disk.checked["catalogue"]
        disk.fill()
    assert disk.checked["catalogue"] == left


async def test_a_start_without_a_catalogue_does_not_keep_all_threads_in_memory() -> None:
    disk = Disk()
    async with running(disk) as registry:
        await live(registry)
        await live(registry, OTHER)
    del disk.checked["catalogue"]
    async with running(disk) as registry:
        assert registry.loaded_writers() == []
        assert set(registry.summaries) == {THREAD, OTHER}


async def test_a_snapshot_that_cannot_be_written_costs_nothing_else() -> None:
    disk = Disk()
    async with running(disk) as registry:
        await live(registry)
        disk.fill()
        await registry.sweep()
        assert registry.loaded(THREAD) is None
        disk.free()
        await (await registry.thread(THREAD)).execute(
            wire.RenameThread(command_id="c", thread_id=THREAD, name="new")
        )
    assert disk.written().name == "new"


async def test_a_snapshot_is_given_up_when_something_happens_meanwhile() -> None:
    disk = Disk()
    async with running(disk) as registry:
        await live(registry, turns=600)
        writer = await registry.thread(THREAD)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(writer.keep_snapshot)
            await anyio.lowlevel.checkpoint()
            writer.record_facts(*turn("meanwhile"))
        assert SNAPSHOT not in disk.checked
        await writer.flush()
        await writer.keep_snapshot()
        assert SNAPSHOT in disk.checked


async def test_a_snapshot_that_breaks_in_the_making_or_the_reading_costs_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*arguments: object) -> None:
        raise RuntimeError("a defect")

    disk = Disk()
    async with running(disk) as registry:
        before = await live(registry)
        with monkeypatch.context() as making:
            making.setattr(loading, "SnapshotWriter", broken)
            await registry.sweep()
        assert SNAPSHOT not in disk.checked
        await (await registry.thread(THREAD)).keep_snapshot()
        await registry.sweep()
        monkeypatch.setattr(loading, "decode_snapshot", broken)
        assert (await registry.thread(THREAD)).state == before
