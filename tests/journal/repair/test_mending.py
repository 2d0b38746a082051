"""Repairs: torn ends are cut off, damaged journals are salvaged on request, and all original bytes
are kept.
"""

from __future__ import annotations

from errno import ENOSPC
from pathlib import Path

import pytest
from trimpoint.journal import StateDirectory, framing
from trimpoint.journal.codec.records import encode_record
from trimpoint.journal.codec.snapshots import decode_snapshot
from trimpoint.journal.errors import JournalWriteError
from trimpoint.journal.repair import repair as repair_module
from trimpoint.journal.repair.repair import Outcome, repair
from trimpoint.journal.repair.verification import verify

from tests.core.given import THREAD
from tests.journal.faults import FaultyFiles
from tests.journal.threads import (
    flip,
    record_starts,
    thread_with_history,
    write_journal,
    write_snapshot,
)


@pytest.fixture
def store(tmp_path: Path) -> StateDirectory:
    return StateDirectory(tmp_path)


def test_a_sound_journal_is_not_touched(store: StateDirectory) -> None:
    path = write_journal(store, thread_with_history())
    before = path.stat().st_mtime_ns
    assert repair(path, salvage=True).outcome is Outcome.SOUND
    assert path.stat().st_mtime_ns == before


def test_a_torn_tail_is_cut_and_kept(store: StateDirectory) -> None:
    thread = thread_with_history()
    path = write_journal(store, thread)
    content, last = path.read_bytes(), record_starts(path)[-2]
    path.write_bytes(content[:-3])
    mended = repair(path, salvage=False)
    assert (mended.outcome, mended.kept_at) == (Outcome.CUT, path.with_name(f"{path.name}.torn-1"))
    assert mended.kept_at is not None
    assert path.read_bytes() == content[:last]
    assert mended.kept_at.read_bytes() == content[last:-3]
    assert repair(path, salvage=False).outcome is Outcome.SOUND


def test_a_damaged_journal_is_left_unless_salvage_is_asked_for(store: StateDirectory) -> None:
    path = write_journal(store, thread_with_history())
    flip(path, record_starts(path)[3] + 9)
    before = path.read_bytes()
    assert repair(path, salvage=False).outcome is Outcome.UNREPAIRED
    assert path.read_bytes() == before


@pytest.mark.parametrize("number", range(1, len(thread_with_history().records) - 1))
def test_records_behind_a_damaged_one_are_salvaged(store: StateDirectory, number: int) -> None:
    thread = thread_with_history()
    path = write_journal(store, thread)
    flip(path, record_starts(path)[number] + 9)
    damaged = path.read_bytes()
    mended = repair(path, salvage=True)
    assert mended.outcome is Outcome.SALVAGED
    assert mended.kept_at is not None
    assert mended.kept_at.read_bytes() == damaged
    found = verify(store, THREAD)
    assert found.problems == []
    assert found.records == number + mended.salvaged
    assert number + 1 + mended.salvaged + mended.refused == len(thread.records)
    assert found.state.id == THREAD
    assert repair(path, salvage=True).outcome is Outcome.SOUND


def test_records_that_need_the_lost_one_are_refused_and_later_ones_taken(
    store: StateDirectory,
) -> None:
    thread = thread_with_history()
    path = write_journal(store, thread)
    lost = next(
        at
        for at, record in enumerate(thread.records)
        if "TurnStarted" in repr(record) and "turn-2" in repr(record)
    )
    flip(path, record_starts(path)[lost] + 9)
    mended = repair(path, salvage=True)
    assert mended.refused > 0
    turns = [turn.id for turn in verify(store, THREAD).state.turns]
    assert "turn-2" not in turns
    assert turns[-1] == thread.state.turns[-1].id


def test_a_damaged_header_is_made_anew(store: StateDirectory) -> None:
    thread = thread_with_history()
    path = write_journal(store, thread)
    flip(path, 9)
    mended = repair(path, salvage=True)
    assert (mended.outcome, mended.salvaged) == (Outcome.SALVAGED, len(thread.records))
    assert verify(store, THREAD).state == thread.state


def test_a_thread_whose_beginning_is_lost_is_left(store: StateDirectory) -> None:
    path = write_journal(store, thread_with_history())
    flip(path, record_starts(path)[0] + 9)
    mended = repair(path, salvage=True)
    assert mended.outcome is Outcome.UNREPAIRED
    assert "beginning" in mended.detail


def test_a_journal_whose_snapshot_has_it_all_is_left(store: StateDirectory) -> None:
    thread = thread_with_history(turns=60)
    path = write_journal(store, thread)
    write_snapshot(store, thread)
    flip(path, 400)
    mended = repair(
        path, salvage=True, snapshot=decode_snapshot(store.read(f"snapshots/{THREAD}"), THREAD)
    )
    assert mended.outcome is Outcome.UNREPAIRED
    assert "snapshot" in mended.detail


def test_a_journal_that_refuses_everything_is_left(
    store: StateDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repair_module, "MAX_REFUSED", 1)
    path = write_journal(store, thread_with_history())
    flip(path, record_starts(path)[0] + 9)
    mended = repair(path, salvage=True)
    assert (mended.outcome, "cannot be recognized" in mended.detail) == (Outcome.UNREPAIRED, True)


@pytest.mark.parametrize(
    "content",
    [b"something else entirely, of some length", framing.MAGIC + b"\x02\x00\x14\x00" + bytes(20)],
)
def test_other_files_are_left(store: StateDirectory, content: bytes) -> None:
    path = write_journal(store, thread_with_history())
    path.write_bytes(content)
    assert repair(path, salvage=False).outcome is Outcome.UNREPAIRED
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "operation", ["open for writing", "write", "datasync", "replace", "sync_directory"]
)
@pytest.mark.parametrize("nth", [1, 2])
def test_a_disk_that_refuses_leaves_the_damaged_journal_or_the_salvaged_one(
    store: StateDirectory, operation: str, nth: int
) -> None:
    path = write_journal(store, thread_with_history())
    flip(path, record_starts(path)[3] + 9)
    before, files = path.read_bytes(), FaultyFiles()
    files.fail(operation, ENOSPC, nth)
    with pytest.raises(JournalWriteError):
        repair(path, salvage=True, files=files)
    assert path.read_bytes() == before or verify(store, THREAD).problems == []
    assert repair(path, salvage=True).outcome in (Outcome.SALVAGED, Outcome.SOUND)


def test_a_disk_that_refuses_leaves_a_torn_journal_as_it_is(store: StateDirectory) -> None:
    path = write_journal(store, thread_with_history())
    path.write_bytes(path.read_bytes()[:-3])
    before, files = path.read_bytes(), FaultyFiles()
    files.refuse(ENOSPC, "write")
    with pytest.raises(JournalWriteError):
        repair(path, salvage=True, files=files)
    assert path.read_bytes() == before


def test_unknown_and_repeated_records_are_not_salvaged(store: StateDirectory) -> None:
    thread = thread_with_history()
    path = write_journal(store, thread)
    size = path.stat().st_size
    unknown = framing.encode_batch([b"\x93\x01\x02\x03"], size)
    again = framing.encode_batch([encode_record(thread.records[-1])], size + len(unknown))
    path.write_bytes(path.read_bytes() + unknown + again)
    flip(path, record_starts(path)[3] + 9)
    assert repair(path, salvage=True).refused >= 2
    assert verify(store, THREAD).problems == []
