# Tests look at the files themselves; nothing else waits for their loop.
# ruff: noqa: ASYNC240
from __future__ import annotations

import asyncio
import contextlib
import os
from errno import EIO, ENOSPC, EROFS
from pathlib import Path

import anyio
import pytest
from anyio import to_thread
from trimpoint.journal import (
    FileJournal,
    JournalClosed,
    JournalWriteError,
    StateDirectory,
    framing,
)

from tests.deadlines import STEP_S
from tests.journal.contract import (
    JournalContract,
    StoreHarness,
    payloads,
    write,
)
from tests.journal.faults import FaultyFiles, Hold
from tests.journal.state_store_contract import StateStoreContract
from tests.journal.storage.stage import filled, flip, record_offset

WRITING = ("open for writing", "write", "truncate", "datasync")


class FileRig(StoreHarness):
    def __init__(self, root: Path) -> None:
        self.root = root
        self.files = FaultyFiles()

    def store(self) -> StateDirectory:
        return StateDirectory(self.root, files=self.files)

    def refuse(self, errno: int) -> None:
        self.files.refuse(errno, *WRITING)

    def allow(self) -> None:
        self.files.allow()

    def damage_after(self, thread_id: str, records: int) -> None:
        path = self.store().journal_path(thread_id)
        flip(path, record_offset(path, records))


@pytest.fixture
def store_harness(tmp_path: Path) -> FileRig:
    return FileRig(tmp_path / "made" / "state")


async def reached(hold: Hold) -> None:
    assert await to_thread.run_sync(hold.reached.wait, 5)


async def settle(journal: FileJournal) -> None:
    """Reopens the journal twice: the first attempt finds the finished write and raises, and the
    second cuts it off.
    """
    with pytest.raises(JournalWriteError):
        await journal.reopen()
    await journal.reopen()


class TestFileJournal(JournalContract):
    pass


class TestStateDirectory(StateStoreContract):
    pass


async def test_a_new_file_is_private_and_durable_with_its_name(
    path: Path, files: FaultyFiles
) -> None:
    previous = os.umask(0)
    try:
        await FileJournal.open(path, files=files)
    finally:
        os.umask(previous)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.read_bytes() == framing.encode_header()
    assert files.log.index("datasync") < files.log.index("sync_directory")


async def test_opening_a_whole_journal_with_records_syncs_nothing(
    path: Path, files: FaultyFiles
) -> None:
    await filled(path, b"a")
    await FileJournal.open(path, files=files)
    assert set(files.log) <= {"open for reading", "read"}


async def test_the_name_of_an_empty_journal_is_made_durable_again(
    path: Path, files: FaultyFiles
) -> None:
    path.write_bytes(framing.encode_header())
    await FileJournal.open(path, files=files)
    assert files.calls["sync_directory"] == 1


async def test_short_writes_are_continued(path: Path, files: FaultyFiles) -> None:
    files.max_write_bytes = 3
    journal = await FileJournal.open(path, files=files)
    await write(journal, b"first", b"second")
    assert payloads(await FileJournal.open(path)) == [b"first", b"second"]


async def test_concurrent_commits_share_one_sync(path: Path, files: FaultyFiles) -> None:
    journal = await FileJournal.open(path, files=files)
    files.calls.clear()
    async with anyio.create_task_group() as tasks:
        for n in range(64):
            tasks.start_soon(write, journal, b"%d" % n)
    assert (files.calls["write"], files.calls["datasync"]) == (1, 1)


async def test_the_event_loop_runs_while_a_sync_takes_long(path: Path, files: FaultyFiles) -> None:
    journal = await FileJournal.open(path, files=files)
    hold = files.hold("datasync")
    files.calls.clear()
    with anyio.fail_after(STEP_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(write, journal, b"a")
            await reached(hold)
            for payload in (b"b", b"c", b"d"):
                tasks.start_soon(write, journal, payload)
            await anyio.wait_all_tasks_blocked()
            assert journal.durable.records == 0
            hold.release.set()
    assert files.calls["datasync"] == 2
    assert payloads(await FileJournal.open(path)) == [b"a", b"b", b"c", b"d"]


@pytest.mark.parametrize("operation", ["write", "datasync"])
@pytest.mark.parametrize("max_write_bytes", [None, 7])
async def test_no_record_of_a_failed_batch_stays(
    path: Path, files: FaultyFiles, operation: str, max_write_bytes: int | None
) -> None:
    journal = await FileJournal.open(path, files=files)
    await write(journal, b"a")
    files.max_write_bytes = max_write_bytes
    files.fail(operation, EIO, nth=2 if operation == "write" and max_write_bytes else 1)
    journal.append(b"refused")
    with pytest.raises(JournalWriteError) as refused:
        await journal.commit()
    assert refused.value.errno == EIO
    assert journal.failure is not None
    assert journal.failure.operation == refused.value.operation
    await journal.reopen()
    assert path.stat().st_size == journal.size_bytes
    await write(journal, b"b")
    assert payloads(await FileJournal.open(path)) == [b"a", b"b"]


async def test_after_a_failed_sync_the_file_is_opened_anew_and_cut_before_anything_is_written(
    path: Path, files: FaultyFiles
) -> None:
    journal = await FileJournal.open(path, files=files)
    await write(journal, b"a")
    files.fail("datasync", EIO)
    journal.append(b"refused")
    with pytest.raises(JournalWriteError):
        await journal.commit()
    files.log.clear()
    await journal.reopen()
    await write(journal, b"b")
    assert files.log == ["open for writing", "truncate", "datasync", "write", "datasync"]


async def test_a_full_disk_refuses_until_there_is_room(path: Path, files: FaultyFiles) -> None:
    journal = await FileJournal.open(path, files=files)
    files.refuse(ENOSPC, "write")
    journal.append(b"refused")
    for refused in (journal.commit, journal.reopen, journal.reopen):
        with pytest.raises(JournalWriteError, match="write failed: No space left on device"):
            await refused()
    assert path.read_bytes() == framing.encode_header()
    files.allow()
    await journal.reopen()
    await write(journal, b"a")
    assert payloads(await FileJournal.open(path)) == [b"a"]


@pytest.mark.parametrize("operation", ["open for writing", "truncate", "datasync"])
async def test_a_reopening_that_fails_is_tried_again(
    path: Path, files: FaultyFiles, operation: str
) -> None:
    journal = await FileJournal.open(path, files=files)
    await write(journal, b"a")
    files.fail("write", EIO)
    journal.append(b"refused")
    with pytest.raises(JournalWriteError):
        await journal.commit()
    files.fail(operation, EIO)
    with pytest.raises(JournalWriteError):
        await journal.reopen()
    await journal.reopen()
    await write(journal, b"b")
    assert payloads(await FileJournal.open(path)) == [b"a", b"b"]


@pytest.mark.parametrize(
    "refused", [("write", ENOSPC), ("replace", EIO), ("open for writing", EROFS)]
)
async def test_a_torn_journal_on_a_disk_that_refuses_is_readable_and_mended_later(
    path: Path, files: FaultyFiles, refused: tuple[str, int]
) -> None:
    torn = (await filled(path, b"a", b"b"))[:-1]
    path.write_bytes(torn)
    operation, errno = refused
    files.refuse(errno, operation)
    journal = await FileJournal.open(path, files=files)
    assert payloads(journal) == [b"a"]
    assert journal.failure is not None
    assert journal.failure.errno == errno
    with pytest.raises(JournalWriteError):
        journal.append(b"c")
    assert path.read_bytes() == torn
    files.allow()
    await journal.reopen()
    assert journal.report.kept_at == path.with_name("t.journal.torn-1")
    await write(journal, b"c")
    assert payloads(await FileJournal.open(path)) == [b"a", b"c"]


async def test_a_read_only_disk_lets_a_whole_journal_be_read(
    path: Path, files: FaultyFiles
) -> None:
    await filled(path, b"a")
    files.refuse(EROFS, *WRITING)
    journal = await FileJournal.open(path, files=files)
    assert payloads(journal) == [b"a"]
    journal.append(b"b")
    with pytest.raises(JournalWriteError, match="open failed: Read-only file system"):
        await journal.commit()


async def test_a_file_that_lost_durable_bytes_takes_no_more(path: Path) -> None:
    await filled(path, b"a")
    journal = await FileJournal.open(path)
    os.truncate(path, framing.HEADER_BYTES)
    journal.append(b"b")
    with pytest.raises(JournalWriteError, match="finding what was durable"):
        await journal.commit()
    with pytest.raises(JournalWriteError, match="finding what was durable"):
        await journal.reopen()


async def test_a_write_whose_caller_was_torn_away_is_undone(path: Path, files: FaultyFiles) -> None:
    journal = await FileJournal.open(path, files=files)
    await write(journal, b"a")
    hold = files.hold("datasync")
    journal.append(b"of unknown fate")
    torn_away = asyncio.ensure_future(journal.commit())
    await reached(hold)
    torn_away.cancel()
    with pytest.raises(asyncio.CancelledError):
        await torn_away
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(settle, journal)
        hold.release.set()
    await write(journal, b"b")
    assert payloads(await FileJournal.open(path)) == [b"a", b"b"]


async def test_closing_during_a_reopening_leaves_no_descriptor(
    path: Path, files: FaultyFiles
) -> None:
    journal = await FileJournal.open(path, files=files)
    await write(journal, b"a")
    files.fail("write", EIO)
    journal.append(b"refused")
    with pytest.raises(JournalWriteError):
        await journal.commit()
    hold = files.hold("truncate")
    before = len(os.listdir("/proc/self/fd"))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(journal.reopen)
        await reached(hold)
        tasks.start_soon(journal.close)
        await anyio.wait_all_tasks_blocked()
        hold.release.set()
    assert len(os.listdir("/proc/self/fd")) == before - 1
    with pytest.raises(JournalClosed):
        journal.append(b"b")


async def test_a_deleted_file_takes_no_more(path: Path) -> None:
    journal = await FileJournal.open(path)
    journal.append(b"kept")
    await journal.commit()
    path.unlink()
    for _ in range(2):
        with contextlib.suppress(JournalWriteError):
            journal.append(b"lost")
        with pytest.raises(JournalWriteError, match="No such file"):
            await journal.commit()
        with pytest.raises(JournalWriteError, match="No such file"):
            await journal.reopen()
    await journal.close()
    assert not path.exists()


async def test_a_file_that_another_has_replaced_takes_no_more(path: Path) -> None:
    journal = await FileJournal.open(path)
    journal.append(b"kept")
    await journal.commit()
    moved = path.rename(path.with_name("moved"))
    path.write_bytes(b"another's")
    journal.append(b"lost")
    with pytest.raises(JournalWriteError, match="finding the file again"):
        await journal.commit()
    assert path.read_bytes() == b"another's"
    path.unlink()
    moved.rename(path)
    await journal.reopen()
    journal.append(b"after")
    await journal.commit()
    await journal.close()
    assert payloads(await FileJournal.open(path)) == [b"kept", b"after"]
