"""The contract of every state store (`port`). Subclass it and provide `store_harness`."""

from __future__ import annotations

from errno import ENOSPC

import anyio
import pytest
from trimpoint.journal import (
    JournalWriteError,
    StateDirectoryBusy,
)

from tests.journal.contract import THREAD, StoreHarness, payloads, write


class StateStoreContract:
    async def test_a_store_without_threads_lists_none(self, store_harness: StoreHarness) -> None:
        assert await store_harness.store().scan() == []

    @pytest.mark.parametrize(
        "thread_id", ["plain", "../../etc/passwd", ".", "..", "a/b", "a%2Fb", "ü", "a\0b"]
    )
    async def test_any_thread_id_names_a_journal_and_is_listed_as_itself(
        self, store_harness: StoreHarness, thread_id: str
    ) -> None:
        await write(await store_harness.store().open_journal(thread_id), b"a")
        assert [name for name, _ in await store_harness.store().scan()] == [thread_id]
        assert payloads(await store_harness.store().open_journal(thread_id)) == [b"a"]

    @pytest.mark.parametrize("thread_id", ["", "x" * 201, "ü" * 40])
    async def test_a_thread_id_too_short_or_long_is_refused(
        self, store_harness: StoreHarness, thread_id: str
    ) -> None:
        with pytest.raises(ValueError, match="cannot name"):
            await store_harness.store().open_journal(thread_id)

    async def test_threads_are_listed_in_order(self, store_harness: StoreHarness) -> None:
        for thread_id in ("b", "c", "a"):
            await store_harness.store().open_journal(thread_id)
        assert [name for name, _ in await store_harness.store().scan()] == ["a", "b", "c"]

    async def test_a_journal_is_read_while_it_is_appended_to_and_stays_as_it_is(
        self, store_harness: StoreHarness
    ) -> None:
        store = store_harness.store()
        journal = await store.open_journal(THREAD)
        await write(journal, b"one", b"two")
        assert list(map(bytes, await store.read_journal(THREAD))) == [b"one", b"two"]
        await write(journal, b"three")
        assert list(map(bytes, await store.read_journal(THREAD))) == [b"one", b"two", b"three"]
        assert payloads(await store_harness.store().open_journal(THREAD)) == [
            b"one",
            b"two",
            b"three",
        ]

    async def test_of_a_damaged_journal_what_comes_before_the_damage_is_read(
        self, store_harness: StoreHarness
    ) -> None:
        store = store_harness.store()
        await write(await store.open_journal(THREAD), b"one", b"two", b"three")
        store_harness.damage_after(THREAD, 1)
        assert list(map(bytes, await store.read_journal(THREAD))) == [b"one"]

    async def test_a_journal_that_is_not_there_cannot_be_read_and_is_not_made(
        self, store_harness: StoreHarness
    ) -> None:
        with pytest.raises(FileNotFoundError):
            await store_harness.store().read_journal(THREAD)
        assert await store_harness.store().scan() == []

    async def test_a_checked_file_is_read_back_and_replaced(
        self, store_harness: StoreHarness
    ) -> None:
        await store_harness.store().write_atomic("catalogue", b"one")
        assert await store_harness.store().read_checked("catalogue") == b"one"
        await store_harness.store().write_atomic("catalogue", b"")
        assert await store_harness.store().read_checked("catalogue") == b""

    async def test_a_checked_file_holds_its_parts_joined(self, store_harness: StoreHarness) -> None:
        parts = [bytes([number]) * (300 * 1024) for number in range(8)]
        await store_harness.store().write_atomic("snapshots/large", *parts, b"", memoryview(b"end"))
        assert (
            await store_harness.store().read_checked("snapshots/large") == b"".join(parts) + b"end"
        )

    async def test_a_missing_checked_file_reads_as_none(self, store_harness: StoreHarness) -> None:
        assert await store_harness.store().read_checked("snapshots/none") is None

    async def test_checked_files_may_lie_in_folders(self, store_harness: StoreHarness) -> None:
        await store_harness.store().write_atomic("snapshots/a", b"1")
        await store_harness.store().write_atomic("snapshots/b", b"2")
        assert await store_harness.store().read_checked("snapshots/a") == b"1"

    @pytest.mark.parametrize(
        "name", ["", "/etc/x", "../x", "a/../b", "a//b", "lock", "threads/x", ".x", "a\n"]
    )
    async def test_a_name_that_leads_elsewhere_is_refused(
        self, store_harness: StoreHarness, name: str
    ) -> None:
        with pytest.raises(ValueError, match="cannot name"):
            await store_harness.store().write_atomic(name, b"x")
        with pytest.raises(ValueError, match="cannot name"):
            await store_harness.store().read_checked(name)

    async def test_a_refused_replacement_leaves_the_old_content(
        self, store_harness: StoreHarness
    ) -> None:
        await store_harness.store().write_atomic("catalogue", b"old")
        store_harness.refuse(ENOSPC)
        with pytest.raises(JournalWriteError):
            await store_harness.store().write_atomic("catalogue", b"new")
        assert await store_harness.store().read_checked("catalogue") == b"old"
        store_harness.allow()
        await store_harness.store().write_atomic("catalogue", b"new")
        assert await store_harness.store().read_checked("catalogue") == b"new"

    async def test_concurrent_replacements_leave_one_of_them_whole(
        self, store_harness: StoreHarness
    ) -> None:
        store = store_harness.store()
        contents = [bytes([n]) * 10_000 for n in range(8)]
        async with anyio.create_task_group() as tasks:
            for content in contents:
                tasks.start_soon(store.write_atomic, "catalogue", content)
        assert await store.read_checked("catalogue") in contents

    async def test_only_one_daemon_holds_the_directory(self, store_harness: StoreHarness) -> None:
        with store_harness.store().lock(), pytest.raises(StateDirectoryBusy):
            store_harness.store().lock()
        with store_harness.store().lock():
            pass
