"""Verifies a thread's journal. Reads the whole file and changes nothing; may run while a daemon
appends. Blocking.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import assert_never

from trimpoint.core.evolve.evolve import apply
from trimpoint.core.model.events import Record
from trimpoint.core.model.state import ThreadState
from trimpoint.journal import framing
from trimpoint.journal.codec.records import UnreadableRecord, decode_record
from trimpoint.journal.codec.snapshots import Snapshot, decode_snapshot
from trimpoint.journal.port import Damage, OpenReport
from trimpoint.journal.storage.directory import StateDirectory, snapshot_name
from trimpoint.journal.storage.inspection import Content, inspect

# A batch looks torn while a daemon is writing it.
TORN_READ_ATTEMPTS = 5
PAUSE_S = 0.1


class SnapshotState(Enum):
    """The state of a snapshot. `UNUSED`: it is damaged, or for other code or another journal, and
    will be replaced. `DIFFERS`: its state is not that of the journal.
    """

    NONE = "none"
    FITS = "fits"
    UNUSED = "unused"
    DIFFERS = "differs"


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem that was found: its `kind` for scripts, and a description and advice for people."""

    kind: str
    detail: str
    advice: str


_COVERED_DAMAGE = Problem(
    "damaged_before_snapshot",
    "the old part of the journal is damaged; the thread still opens whole, from its snapshot",
    "Export it with `trimpoint export`, and restore the file from a backup: another version of "
    "trimpoint will not take the snapshot.",
)


@dataclass(slots=True)
class Verified:
    """The findings about one journal. `gaps` is the number of places where records are missing."""

    thread_id: str
    path: Path
    report: OpenReport | None = None
    state: ThreadState = field(default_factory=ThreadState)
    records: int = 0
    events: int = 0
    gaps: int = 0
    first_at_ms: int | None = None
    last_at_ms: int | None = None
    snapshot: SnapshotState = SnapshotState.NONE
    snapshot_records: int = 0
    problems: list[Problem] = field(default_factory=list[Problem])
    size_bytes: int = 0


def verify(store: StateDirectory, thread_id: str, *, is_live: bool = False) -> Verified:
    """Reads the whole journal of a thread and compares its snapshot with it. With `is_live`, a torn
    tail is read again several times, because a daemon may be writing.
    """
    found = Verified(thread_id, store.journal_path(thread_id))
    try:
        content = read_settled(found.path, looks=TORN_READ_ATTEMPTS if is_live else 1)
    except OSError as error:
        found.problems.append(
            Problem(
                "unreadable",
                f"{error.strerror}",
                "Let the user that the daemon runs as read the file.",
            )
        )
        return found
    found.size_bytes = found.path.stat().st_size
    found.report, snapshot = content.report, _snapshot_beside(store, found)
    if (problem := _problem_of(content.report)) is not None:
        found.problems.append(
            _COVERED_DAMAGE if bridges_damage(found.path, content.report, snapshot) else problem
        )
    _fold(found, content, snapshot)
    return found


def bridges_damage(path: Path, report: OpenReport, snapshot: Snapshot | None) -> bool:
    """Returns whether the thread can be loaded completely although its journal is damaged, because
    its snapshot ends after the damage.
    """
    if report.damage is not Damage.DAMAGED_MIDDLE or snapshot is None:
        return False
    behind = inspect(path, after=snapshot.bookmark).report
    return behind.start == snapshot.bookmark.position and behind.damage is Damage.NONE


def read_settled(path: Path, looks: int) -> Content:
    """Returns the content of the file. While its tail is torn, it is read again, up to `looks`
    times in all.

    :raises OSError: when the file cannot be read.
    """
    content = inspect(path)
    while content.report.damage is Damage.TORN_TAIL and (looks := looks - 1) > 0:
        time.sleep(PAUSE_S)
        content = inspect(path)
    return content


def records_of(content: Content) -> Iterator[Record]:
    """Returns an iterator over the decoded records.

    :raises UnreadableRecord: at a record that this version does not know.
    """
    return map(decode_record, framing.payloads(content.records))


def _snapshot_beside(store: StateDirectory, found: Verified) -> Snapshot | None:
    name = snapshot_name(found.thread_id)
    if (store.root / name).exists():
        found.snapshot = SnapshotState.UNUSED
    return decode_snapshot(store.read(name), found.thread_id)


def _fold(found: Verified, content: Content, snapshot: Snapshot | None) -> None:
    try:
        for record in records_of(content):
            _count(found, record)
            apply(found.state, record)
            found.records += 1
            if snapshot is not None and found.records == snapshot.bookmark.position.records:
                _compare(found, snapshot)
    except UnreadableRecord as error:
        found.problems.append(
            Problem("unknown_record", str(error), "Run the version of trimpoint that wrote it.")
        )
    except (
        Exception
    ) as error:  # the boundary of replay: a record that does not follow may fail in any way
        detail = (
            f"record {found.records + 1} does not follow from those before it "
            f"({type(error).__name__})"
        )
        advice = (
            "Its thread is readable up to there. Keep the file, and report it with the version of "
            "trimpoint."
        )
        found.problems.append(Problem("does_not_follow", detail, advice))
    if found.records and found.state.id != found.thread_id:
        detail = f"the file holds the thread {found.state.id!r}"
        found.problems.append(
            Problem("misnamed", detail, "Give the file back the name that it had.")
        )


def _count(found: Verified, record: Record) -> None:
    if record.thread_sequence != found.state.thread_sequence + 1:
        found.gaps += 1
    found.events += len(record.events)
    found.first_at_ms = record.occurred_at_ms if found.first_at_ms is None else found.first_at_ms
    found.last_at_ms = record.occurred_at_ms


def _compare(found: Verified, snapshot: Snapshot) -> None:
    found.snapshot_records = snapshot.bookmark.position.records
    if snapshot.state == found.state:
        found.snapshot = SnapshotState.FITS
        return
    found.snapshot = SnapshotState.DIFFERS
    advice = (
        "Run `trimpoint daemon journal repair`: it puts the snapshot aside, and the journal counts."
    )
    found.problems.append(
        Problem("snapshot_differs", "the snapshot does not match the journal", advice)
    )


def _problem_of(report: OpenReport) -> Problem | None:
    at = f"byte {report.end.offset_bytes}"
    match report.damage:
        case Damage.NONE:
            return None
        case Damage.TORN_TAIL:
            detail = f"torn at {at}: {report.reason}; {report.damaged_bytes} bytes beyond"
            advice = (
                "They hold nothing that was acknowledged. The next start cuts them off and keeps "
                "them in a file, as does `trimpoint daemon journal repair`."
            )
            return Problem("torn", detail, advice)
        case Damage.DAMAGED_MIDDLE:
            detail = f"damaged at {at}: {report.reason}; {report.damaged_bytes} bytes from there on"
            advice = (
                "Restore the file from a backup, or stop the daemon and run `trimpoint daemon "
                "journal repair --salvage`."
            )
            return Problem("damaged", detail, advice)
        case Damage.FOREIGN:
            return Problem(
                "foreign",
                report.reason,
                "trimpoint did not write it and leaves it alone; move it elsewhere.",
            )
        case Damage.NEWER_VERSION:
            return Problem(
                "newer",
                report.reason,
                "Run the version of trimpoint that wrote it, or a later one.",
            )
        case _:
            assert_never(report.damage)
