"""`verify` reads a whole journal without changing it, and gives each kind of damage a name and
advice.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from trimpoint.core.model import events as ev
from trimpoint.journal import StateDirectory, framing
from trimpoint.journal.codec.records import encode_record
from trimpoint.journal.port import Damage
from trimpoint.journal.repair.verification import SnapshotState, verify

from tests.core.given import THREAD
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


def kinds(store: StateDirectory, thread_id: str = THREAD) -> list[str]:
    return [problem.kind for problem in verify(store, thread_id).problems]


def append(path: Path, payload: bytes) -> None:
    path.write_bytes(path.read_bytes() + framing.encode_batch([payload], path.stat().st_size))


def test_a_sound_journal_is_counted(store: StateDirectory) -> None:
    thread = thread_with_history()
    write_journal(store, thread)
    found = verify(store, THREAD)
    assert found.problems == []
    assert (found.records, found.events) == (len(thread.records), thread.state.thread_sequence)
    assert (found.first_at_ms, found.last_at_ms) == (
        thread.records[0].occurred_at_ms,
        thread.records[-1].occurred_at_ms,
    )
    assert (found.state, found.gaps, found.snapshot) == (thread.state, 0, SnapshotState.NONE)


def test_an_empty_journal_is_sound(store: StateDirectory) -> None:
    write_journal(store, thread_with_history(), records=0)
    assert verify(store, THREAD).problems == []


def test_every_cut_and_every_flipped_byte_is_seen(store: StateDirectory) -> None:
    path = write_journal(store, thread_with_history(turns=2))
    content, whole = path.read_bytes(), set(record_starts(path))
    for at in range(0, len(content), 3):
        path.write_bytes(content[:at] + bytes([content[at] ^ 0x10]) + content[at + 1 :])
        assert kinds(store) != []
        path.write_bytes(content[:at])
        expected = [] if at in whole else ["torn"]
        assert [kind for kind in kinds(store) if kind != "misnamed"] == expected


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"#!/bin/sh\necho this is something else\n", "foreign"),
        (framing.MAGIC + b"\x07\x00" + framing.encode_header()[10:], "damaged"),
    ],
)
def test_verification_names_files_that_are_no_journals(
    store: StateDirectory, content: bytes, kind: str
) -> None:
    write_journal(store, thread_with_history()).write_bytes(content)
    assert kinds(store) == [kind]


def test_a_newer_format_is_named(store: StateDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(framing, "FORMAT_VERSION", 2)
    path = write_journal(store, thread_with_history())
    monkeypatch.undo()
    assert kinds(store) == ["newer"]
    assert verify(store, THREAD).size_bytes == path.stat().st_size


def test_a_file_that_may_not_be_read_is_named(store: StateDirectory) -> None:
    write_journal(store, thread_with_history()).unlink()
    os.symlink(store.root / "nowhere", store.journal_path(THREAD))
    assert kinds(store) == ["unreadable"]
    assert verify(store, THREAD).size_bytes == 0


def test_a_record_of_a_later_version_is_named(store: StateDirectory) -> None:
    append(write_journal(store, thread_with_history()), b"\x93\x01\x02\x03")
    assert kinds(store) == ["unknown_record"]


def test_a_record_that_does_not_follow_is_named(store: StateDirectory) -> None:
    orphan = ev.Record(
        99, 99, 0, (ev.EntryRecorded("never started", "m", "message", "user", "hello"),)
    )
    append(write_journal(store, thread_with_history()), encode_record(orphan))
    found = verify(store, THREAD)
    assert [problem.kind for problem in found.problems] == ["does_not_follow"]
    assert (found.gaps, found.records) == (1, len(thread_with_history().records))


def test_a_journal_under_another_threads_name_is_named(store: StateDirectory) -> None:
    write_journal(store, thread_with_history(), "another")
    assert kinds(store, "another") == ["misnamed"]


def test_a_matching_snapshot_is_reported_as_matching(store: StateDirectory) -> None:
    thread = thread_with_history()
    write_journal(store, thread)
    write_snapshot(store, thread)
    found = verify(store, THREAD)
    assert (found.snapshot, found.snapshot_records, found.problems) == (
        SnapshotState.FITS,
        len(thread.records),
        [],
    )


def test_a_snapshot_that_is_not_intact_is_no_problem(store: StateDirectory) -> None:
    thread = thread_with_history()
    write_journal(store, thread)
    flip(write_snapshot(store, thread), 100)
    found = verify(store, THREAD)
    assert (found.snapshot, found.problems) == (SnapshotState.UNUSED, [])


def test_a_snapshot_that_tells_another_story_is_a_problem(store: StateDirectory) -> None:
    thread = thread_with_history()
    write_journal(store, thread)
    thread.state.name = "never given"
    write_snapshot(store, thread)
    found = verify(store, THREAD)
    assert (found.snapshot, [problem.kind for problem in found.problems]) == (
        SnapshotState.DIFFERS,
        ["snapshot_differs"],
    )


def test_damage_before_the_end_of_a_snapshot_is_reported_and_the_thread_stays_whole(
    store: StateDirectory,
) -> None:
    thread = thread_with_history(turns=60)
    path = write_journal(store, thread)
    write_snapshot(store, thread)
    assert path.stat().st_size > 8192
    flip(path, 400)
    assert kinds(store) == ["damaged_before_snapshot"]


def test_a_batch_that_is_being_written_is_waited_for(
    store: StateDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_journal(store, thread_with_history())
    content = path.read_bytes()
    path.write_bytes(content[:-3])
    monkeypatch.setattr(
        "trimpoint.journal.repair.verification.time.sleep",
        lambda seconds: path.write_bytes(content),
    )
    assert verify(store, THREAD, is_live=True).problems == []


def test_a_tail_that_stays_torn_is_torn(
    store: StateDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_journal(store, thread_with_history())
    path.write_bytes(path.read_bytes()[:-3])
    monkeypatch.setattr("trimpoint.journal.repair.verification.time.sleep", lambda seconds: None)
    found = verify(store, THREAD, is_live=True)
    assert [problem.kind for problem in found.problems] == ["torn"]
    assert found.report is not None
    assert found.report.damage is Damage.TORN_TAIL
