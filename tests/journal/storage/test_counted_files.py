"""Calls to the disk are counted and executed."""

from errno import EBADF
from pathlib import Path

import pytest
from trimpoint.journal.storage.directory import StateDirectory
from trimpoint.journal.storage.instrumented_files import InstrumentedFiles

NO_FD = 1_000_000


async def test_a_commit_is_counted_with_its_bytes_and_the_time_it_took(tmp_path: Path) -> None:
    files = InstrumentedFiles()
    journal = await StateDirectory(tmp_path, files=files).open_journal("thread")
    syncs, sync_s, written_bytes = files.syncs, files.sync_s, files.written_bytes
    journal.append(b"a record")
    await journal.commit()
    assert files.syncs == syncs + 1
    assert files.sync_s > sync_s
    assert files.written_bytes == journal.size_bytes
    assert written_bytes < journal.size_bytes
    await journal.close()


def test_a_sync_that_fails_was_waited_for_too() -> None:
    files = InstrumentedFiles()
    with pytest.raises(OSError, match="Bad file descriptor") as caught:
        files.datasync(NO_FD)
    assert caught.value.errno == EBADF
    assert files.syncs == 1
