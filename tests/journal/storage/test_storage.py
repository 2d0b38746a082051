"""The writing end alone, when its caller and the file disagree."""

from __future__ import annotations

from errno import ECANCELED, EIO
from pathlib import Path

import pytest
from trimpoint.journal import JournalWriteError, framing
from trimpoint.journal.port import Position
from trimpoint.journal.storage.file import open_file
from trimpoint.journal.storage.file_storage import JournalFile

from tests.journal.faults import FaultyFiles


@pytest.fixture
def files() -> FaultyFiles:
    return FaultyFiles()


@pytest.fixture
def file(tmp_path: Path, files: FaultyFiles) -> JournalFile:
    file, _, failure = open_file(tmp_path / "t.journal", None, files)
    assert failure is None
    return file


def records(path: Path) -> list[bytes]:
    _, content, _ = open_file(path, None, FaultyFiles())
    return [bytes(payload) for payload in framing.payloads(content.records)]


def test_a_failed_file_takes_nothing_before_it_is_restored(
    file: JournalFile, files: FaultyFiles
) -> None:
    start = file.report.end
    files.fail("datasync", EIO)
    with pytest.raises(JournalWriteError, match="fdatasync failed"):
        file.write([b"a"], start)
    with pytest.raises(JournalWriteError) as refused:
        file.write([b"b"], start)
    assert refused.value.errno == ECANCELED
    file.restore(start)
    file.write([b"c"], start)
    assert records(file.path) == [b"c"]


@pytest.mark.parametrize("late", ["write", "restore"])
def test_a_late_call_with_an_old_end_cuts_nothing_that_counts(file: JournalFile, late: str) -> None:
    start = file.report.end
    end = file.write([b"a"], start)
    with pytest.raises(JournalWriteError):
        file.write([b"late"], start) if late == "write" else file.restore(start)
    assert records(file.path) == [b"a"]
    file.restore(end)
    file.write([b"b"], end)
    assert records(file.path) == [b"a", b"b"]


def test_restoring_a_sound_file_does_nothing(file: JournalFile, files: FaultyFiles) -> None:
    end = file.write([b"a"], file.report.end)
    files.log.clear()
    file.restore(end)
    assert files.log == []


def test_a_write_without_a_waiter_is_cut(file: JournalFile) -> None:
    start = file.report.end
    file.write([b"of unknown fate"], start)
    with pytest.raises(JournalWriteError):
        file.restore(start)
    file.restore(start)
    assert file.write([b"b"], start) == Position(start.offset_bytes + 9, 1)
    assert records(file.path) == [b"b"]
