"""Threads whose catalogue entries are of a version that did not count what they have spent."""

import anyio
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Policy
from trimpoint.core.views.totals import encoded_spent
from trimpoint.threads.catalogue import FILE_NAME, decode_catalogue, encode_catalogue
from trimpoint.threads.registry import ThreadRegistry

from tests.deadlines import STEP_S
from tests.threads.stage import OTHER, THREAD, Disk, Store, begin, turn


async def spent_on(disk: Disk) -> bytes | None:
    """Two threads, the first with a model call; returns what the catalogue has of it."""
    async with ThreadRegistry.running(Store(disk), Policy()) as registry:
        await begin(registry, OTHER)
        writer = await begin(registry)
        started, message, ended = turn("T1")
        call = ev.UsageReported("T1", 110, 110, 1_000, 100, 60, 10, 0)
        writer.record_facts(started, message, call, ended)
        await writer.flush()
        assert registry.summaries[THREAD].spent == encoded_spent(writer.state)
    return decode_catalogue(disk.checked[FILE_NAME])[THREAD].spent


def forget(disk: Disk) -> None:
    """Makes the catalogue one of an older version."""
    known = decode_catalogue(disk.checked[FILE_NAME])
    for summary in known.values():
        summary.spent = None
    disk.checked[FILE_NAME] = encode_catalogue([*known.values()])


async def test_they_are_counted_in_the_background_and_not_opened() -> None:
    disk = Disk()
    with anyio.fail_after(STEP_S):
        spent = await spent_on(disk)
        assert spent is not None
        forget(disk)
        async with ThreadRegistry.running(Store(disk), Policy()) as registry:
            registry.uncounted.count()
            registry.uncounted.count()
            assert registry.summaries[THREAD].spent is None
            while any(one.spent is None for one in registry.summaries.values()):
                await anyio.lowlevel.checkpoint()
            assert registry.loaded_writers() == []
        assert decode_catalogue(disk.checked[FILE_NAME])[THREAD].spent == spent


async def test_one_that_is_opened_is_counted() -> None:
    disk = Disk()
    with anyio.fail_after(STEP_S):
        spent = await spent_on(disk)
        forget(disk)
        async with ThreadRegistry.running(Store(disk), Policy()) as registry:
            await registry.thread(THREAD)
            assert registry.summaries[THREAD].spent == spent


async def test_one_that_cannot_be_read_is_told_apart_and_tried_once() -> None:
    disk = Disk()
    with anyio.fail_after(STEP_S):
        await spent_on(disk)
        forget(disk)
        async with ThreadRegistry.running(Store(disk), Policy()) as registry:
            disk.records[THREAD][0] = b"nonsense"
            registry.uncounted.count()
            while not registry.uncounted.unreadable or registry.summaries[OTHER].spent is None:
                await anyio.lowlevel.checkpoint()
            assert registry.uncounted.unreadable == {THREAD}
            registry.uncounted.count()
            await anyio.lowlevel.checkpoint()
            assert registry.summaries[THREAD].spent is None
