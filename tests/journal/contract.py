"""The contract of every journal (`port`). Subclass it and provide
`store_harness`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from errno import EIO, ENOSPC, EROFS

import anyio
import pytest
from trimpoint.journal import (
    Damage,
    Journal,
    JournalClosed,
    JournalReadOnly,
    JournalWriteError,
    Position,
    StateStore,
)

THREAD = "thr_1"


class StoreHarness(ABC):
    """A store whose disk can be made to refuse writes, and that can be restarted."""

    @abstractmethod
    def store(self) -> StateStore:
        """Returns the store of another daemon on the same disk."""

    @abstractmethod
    def refuse(self, errno: int) -> None: ...

    @abstractmethod
    def allow(self) -> None: ...

    @abstractmethod
    def damage_after(self, thread_id: str, records: int) -> None:
        """Damages a journal of several batches so that only this many records can be read."""


def payloads(journal: Journal) -> list[bytes]:
    return [bytes(payload) for payload in journal.read()]


async def write(journal: Journal, *records: bytes) -> None:
    for record in records:
        journal.append(record)
        await journal.commit()


class JournalContract:
    async def test_a_new_journal_is_empty_and_undamaged(self, store_harness: StoreHarness) -> None:
        journal = await store_harness.store().open_journal(THREAD)
        assert payloads(journal) == []
        assert journal.report.damage is Damage.NONE
        assert journal.durable.records == 0

    async def test_committed_records_are_there_after_a_restart_in_order(
        self, store_harness: StoreHarness
    ) -> None:
        journal = await store_harness.store().open_journal(THREAD)
        records = [b"%d" % n for n in range(200)]
        for record in records:
            journal.append(record)
        await journal.commit()
        assert payloads(await store_harness.store().open_journal(THREAD)) == records

    async def test_appended_but_uncommitted_records_promise_nothing(
        self, store_harness: StoreHarness
    ) -> None:
        journal = await store_harness.store().open_journal(THREAD)
        await write(journal, b"a")
        durable = journal.durable
        journal.append(b"b")
        assert journal.durable == durable
        assert payloads(await store_harness.store().open_journal(THREAD)) == [b"a"]

    async def test_closing_commits_what_is_queued(self, store_harness: StoreHarness) -> None:
        journal = await store_harness.store().open_journal(THREAD)
        journal.append(b"a")
        await journal.close()
        await journal.close()
        assert payloads(await store_harness.store().open_journal(THREAD)) == [b"a"]

    async def test_a_closed_journal_refuses_everything(self, store_harness: StoreHarness) -> None:
        journal = await store_harness.store().open_journal(THREAD)
        await journal.close()
        with pytest.raises(JournalClosed, match="the journal is closed"):
            journal.append(b"a")
        with pytest.raises(JournalClosed):
            await journal.commit()
        with pytest.raises(JournalClosed):
            await journal.reopen()

    async def test_records_found_at_opening_are_read_once(
        self, store_harness: StoreHarness
    ) -> None:
        journal = await store_harness.store().open_journal(THREAD)
        assert payloads(journal) == []
        with pytest.raises(RuntimeError):
            journal.read()

    async def test_an_empty_payload_is_refused(self, store_harness: StoreHarness) -> None:
        journal = await store_harness.store().open_journal(THREAD)
        with pytest.raises(ValueError, match="1 to"):
            journal.append(b"")

    async def test_concurrent_commits_all_become_durable(self, store_harness: StoreHarness) -> None:
        journal = await store_harness.store().open_journal(THREAD)

        async def committer(name: int) -> None:
            for n in range(10):
                await write(journal, b"%d.%d" % (name, n))

        async with anyio.create_task_group() as tasks:
            for name in range(16):
                tasks.start_soon(committer, name)
        found = payloads(await store_harness.store().open_journal(THREAD))
        for name in range(16):
            prefix = b"%d." % name
            assert [r for r in found if r.startswith(prefix)] == [
                b"%d.%d" % (name, n) for n in range(10)
            ]

    async def test_sizes_and_positions_agree_with_the_next_opening(
        self, store_harness: StoreHarness
    ) -> None:
        journal = await store_harness.store().open_journal(THREAD)
        await write(journal, b"a", b"bc")
        again = await store_harness.store().open_journal(THREAD)
        assert again.durable == journal.durable == again.report.end
        assert again.size_bytes == journal.size_bytes
        assert await store_harness.store().scan() == [(THREAD, journal.size_bytes)]

    async def test_opening_after_a_position_reads_only_what_follows(
        self, store_harness: StoreHarness
    ) -> None:
        journal = await store_harness.store().open_journal(THREAD)
        await write(journal, b"a", b"b")
        noted = await journal.bookmark()
        await write(journal, b"c", b"d")
        again = await store_harness.store().open_journal(THREAD, after=noted)
        assert payloads(again) == [b"c", b"d"]
        assert again.report.start == noted.position
        assert again.durable == Position(journal.size_bytes, 4)

    async def test_opening_after_the_very_end_reads_nothing_and_continues(
        self, store_harness: StoreHarness
    ) -> None:
        journal = await store_harness.store().open_journal(THREAD)
        await write(journal, b"a", b"b")
        again = await store_harness.store().open_journal(THREAD, after=await journal.bookmark())
        assert payloads(again) == []
        await write(again, b"c")
        assert payloads(await store_harness.store().open_journal(THREAD)) == [b"a", b"b", b"c"]

    @pytest.mark.parametrize("offset_bytes", [0, 21, 30, 10_000])
    async def test_a_bookmark_the_journal_does_not_bear_out_reads_all(
        self, store_harness: StoreHarness, offset_bytes: int
    ) -> None:
        journal = await store_harness.store().open_journal(THREAD)
        await write(journal, b"first", b"second")
        noted = await journal.bookmark()
        moved = replace(noted, position=Position(offset_bytes, 1))
        again = await store_harness.store().open_journal(THREAD, after=moved)
        assert payloads(again) == [b"first", b"second"]
        assert again.report.start.records == 0

    async def test_a_bookmark_of_another_past_reads_all(self, store_harness: StoreHarness) -> None:
        journal = await store_harness.store().open_journal(THREAD)
        await write(journal, b"first", b"second")
        other = await store_harness.store().open_journal("other")
        await write(other, b"first", b"zwei..")
        again = await store_harness.store().open_journal(THREAD, after=await other.bookmark())
        assert payloads(again) == [b"first", b"second"]

    async def test_a_bookmark_beyond_the_end_reads_all(self, store_harness: StoreHarness) -> None:
        longer = await store_harness.store().open_journal("other")
        await write(longer, b"first", b"second", b"third")
        journal = await store_harness.store().open_journal(THREAD)
        await write(journal, b"first", b"second")
        again = await store_harness.store().open_journal(THREAD, after=await longer.bookmark())
        assert payloads(again) == [b"first", b"second"]

    async def test_a_closed_journal_gives_no_bookmark(self, store_harness: StoreHarness) -> None:
        journal = await store_harness.store().open_journal(THREAD)
        await journal.close()
        with pytest.raises(JournalClosed):
            await journal.bookmark()

    @pytest.mark.parametrize("errno", [EIO, ENOSPC, EROFS])
    async def test_a_refused_write_fails_the_commit_with_its_reason(
        self, store_harness: StoreHarness, errno: int
    ) -> None:
        journal = await store_harness.store().open_journal(THREAD)
        store_harness.refuse(errno)
        journal.append(b"a")
        with pytest.raises(JournalWriteError) as refused:
            await journal.commit()
        assert refused.value.errno == errno
        assert journal.failure is not None

    async def test_a_failed_journal_refuses_until_it_is_reopened(
        self, store_harness: StoreHarness
    ) -> None:
        journal = await self._failed(store_harness)
        store_harness.allow()
        with pytest.raises(JournalWriteError):
            journal.append(b"c")
        with pytest.raises(JournalWriteError):
            await journal.commit()
        await journal.reopen()
        assert journal.failure is None
        await write(journal, b"d")
        assert payloads(await store_harness.store().open_journal(THREAD)) == [b"a", b"d"]

    async def test_reopening_fails_while_the_disk_refuses(
        self, store_harness: StoreHarness
    ) -> None:
        journal = await self._failed(store_harness)
        with pytest.raises(JournalWriteError):
            await journal.reopen()
        assert journal.failure is not None

    async def test_refused_records_are_absent_after_a_restart(
        self, store_harness: StoreHarness
    ) -> None:
        await self._failed(store_harness)
        store_harness.allow()
        assert payloads(await store_harness.store().open_journal(THREAD)) == [b"a"]

    async def test_every_waiting_commit_learns_of_the_failure(
        self, store_harness: StoreHarness
    ) -> None:
        journal = await store_harness.store().open_journal(THREAD)
        store_harness.refuse(ENOSPC)
        refused: list[JournalWriteError] = []

        async def committer(name: int) -> None:
            journal.append(b"%d" % name)
            try:
                await journal.commit()
            except JournalWriteError as error:
                refused.append(error)

        async with anyio.create_task_group() as tasks:
            for name in range(8):
                tasks.start_soon(committer, name)
        assert len({id(error) for error in refused}) == 8

    async def test_reopening_a_healthy_journal_keeps_what_is_queued(
        self, store_harness: StoreHarness
    ) -> None:
        journal = await store_harness.store().open_journal(THREAD)
        journal.append(b"a")
        await journal.reopen()
        await journal.commit()
        assert payloads(await store_harness.store().open_journal(THREAD)) == [b"a"]

    async def test_concurrent_reopenings_lose_nothing_written_between_them(
        self, store_harness: StoreHarness
    ) -> None:
        journal = await self._failed(store_harness)
        store_harness.allow()

        async def recover_and_write(name: int) -> None:
            await journal.reopen()
            await write(journal, b"%d" % name)

        async with anyio.create_task_group() as tasks:
            for name in range(8):
                tasks.start_soon(recover_and_write, name)
        found = payloads(await store_harness.store().open_journal(THREAD))
        assert sorted(found) == sorted([b"a", *(b"%d" % name for name in range(8))])

    async def test_closing_a_failed_journal_is_quiet(self, store_harness: StoreHarness) -> None:
        journal = await self._failed(store_harness)
        await journal.close()

    async def test_closing_says_when_the_queue_could_not_be_kept(
        self, store_harness: StoreHarness
    ) -> None:
        journal = await store_harness.store().open_journal(THREAD)
        journal.append(b"a")
        store_harness.refuse(ENOSPC)
        with pytest.raises(JournalWriteError):
            await journal.close()
        with pytest.raises(JournalClosed):
            journal.append(b"b")

    async def test_a_damaged_journal_is_readable_up_to_the_damage_and_takes_nothing(
        self, store_harness: StoreHarness
    ) -> None:
        journal = await store_harness.store().open_journal(THREAD)
        await write(journal, b"a", b"b", b"c", b"d")
        await journal.close()
        store_harness.damage_after(THREAD, 2)
        damaged = await store_harness.store().open_journal(THREAD)
        assert damaged.report.damage is Damage.DAMAGED_MIDDLE
        assert damaged.report.reason
        assert payloads(damaged) == [b"a", b"b"]
        with pytest.raises(JournalReadOnly) as refused:
            damaged.append(b"e")
        assert refused.value.offset_bytes == damaged.report.end.offset_bytes
        with pytest.raises(JournalReadOnly):
            await damaged.commit()
        with pytest.raises(JournalReadOnly):
            await damaged.reopen()
        await damaged.close()

    async def test_a_journal_cannot_be_made_on_a_disk_that_refuses(
        self, store_harness: StoreHarness
    ) -> None:
        store_harness.refuse(ENOSPC)
        with pytest.raises(JournalWriteError):
            await store_harness.store().open_journal(THREAD)
        store_harness.allow()
        assert payloads(await store_harness.store().open_journal(THREAD)) == []

    async def _failed(self, store_harness: StoreHarness) -> Journal:
        journal = await store_harness.store().open_journal(THREAD)
        await write(journal, b"a")
        store_harness.refuse(ENOSPC)
        journal.append(b"b")
        with pytest.raises(JournalWriteError):
            await journal.commit()
        return journal
