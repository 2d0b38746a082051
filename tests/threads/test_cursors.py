"""A cursor of a client, and the history it belongs to."""

import copy

from trimpoint.core.model.decision import Policy
from trimpoint.threads.registry import ThreadRegistry
from trimpoint.threads.writing.recent_records import RECENT_RECORDS
from trimpoint.threads.writing.writer import ThreadWriter

from tests.threads.stage import THREAD, Disk, Store, begin, turn


async def take_turn(writer: ThreadWriter, turn_id: str) -> int:
    """One turn, durable; the cursor after it."""
    writer.record_facts(*turn(turn_id))
    await writer.flush()
    return writer.state.sequence


async def test_a_cursor_of_a_history_that_a_backup_replaced_is_not_replayed() -> None:
    disk = Disk()
    async with ThreadRegistry.running(Store(disk), Policy()) as threads:
        writer = await begin(threads)
        await take_turn(writer, "T1")
        backup = copy.deepcopy(disk.records)
        lost = [await take_turn(writer, f"lost {number}") for number in range(20)]
    disk.records.clear()
    disk.records.update(backup)
    async with ThreadRegistry.running(Store(disk), Policy()) as threads:
        writer = await threads.thread(THREAD)
        restored = writer.state.sequence
        for number in range(30):
            await take_turn(writer, f"new {number}")
        assert [writer.durable_since(cursor) for cursor in lost] == [None] * 20
        missed = writer.durable_since(restored)
        assert missed is not None
        assert len(missed) == 30


async def test_a_cursor_at_the_end_is_replayed_after_a_restart() -> None:
    disk = Disk()
    async with ThreadRegistry.running(Store(disk), Policy()) as threads:
        cursor = await take_turn(await begin(threads), "T1")
    async with ThreadRegistry.running(Store(disk), Policy()) as threads:
        writer = await threads.thread(THREAD)
        first = await take_turn(writer, "T2")
        await take_turn(writer, "T3")
        assert [len(writer.durable_since(at) or ()) for at in (cursor, first)] == [2, 1]
        assert writer.durable_since(cursor - 1) is None
        for number in range(RECENT_RECORDS):
            await take_turn(writer, f"more {number}")
        assert writer.durable_since(cursor) is None


async def test_no_run_of_a_daemon_gives_out_a_number_again() -> None:
    disk = Disk()
    numbers: list[int] = []
    for run in range(3):
        async with ThreadRegistry.running(Store(disk), Policy()) as threads:
            numbers.append(threads.sequence)
            writer = await begin(threads, f"{THREAD[:-1]}{run}")
            numbers.append(await take_turn(writer, "T1"))
        disk.records.clear()  # nothing of it is left
    assert numbers == sorted(set(numbers))
