"""Mend a journal that no daemon has open. Nothing is deleted: what a mended file no longer holds is
in a file beside it. Blocking.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import islice
from pathlib import Path

from trimpoint.core.evolve.evolve import apply
from trimpoint.core.model.state import ThreadState
from trimpoint.journal import framing
from trimpoint.journal.codec.records import UnreadableRecord, decode_record
from trimpoint.journal.codec.snapshots import Snapshot
from trimpoint.journal.port import Damage
from trimpoint.journal.repair.verification import bridges_damage
from trimpoint.journal.storage import damage
from trimpoint.journal.storage.file import open_file
from trimpoint.journal.storage.file_ops import (
    SYSTEM_FILES,
    FileOperations,
    free_name,
    read_fully,
    write_atomically,
)
from trimpoint.journal.storage.file_storage import refusals
from trimpoint.journal.storage.inspection import Content, inspect

# What one lost record can make unusable is the rest of its turn; a journal that refuses more than
# that is no case for a program.
MAX_REFUSED = 1_000
RECORDS_A_BATCH = 256


class Outcome(Enum):
    """SOUND: there was nothing to mend. LEFT: it is as it was, because mending it was not asked for
    or is not possible.
    """

    SOUND = "sound"
    CUT = "cut"
    SALVAGED = "salvaged"
    UNREPAIRED = "left"


@dataclass(frozen=True, slots=True)
class RepairResult:
    """`kept_at` holds what was cut off, or the whole of the damaged file. `salvaged` records came
    from behind the damage, `refused` ones were found there and do not follow from what is left;
    `detail` says why it was left, or what was wrong.
    """

    outcome: Outcome
    detail: str = ""
    kept_at: Path | None = None
    salvaged: int = 0
    refused: int = 0


def repair(
    path: Path,
    *,
    salvage: bool,
    snapshot: Snapshot | None = None,
    files: FileOperations = SYSTEM_FILES,
) -> RepairResult:
    """Cut a torn tail; with `salvage`, write a damaged journal anew with all that can still be
    read.

    A damaged journal whose `snapshot` still gives the whole thread is left: written anew it would
    lose what the snapshot has.

    :raises JournalWriteError: the disk refused; the journal is as it was.
    :raises OSError: it cannot be read.
    """
    content = inspect(path, files=files)
    report = content.report
    match report.damage:
        case Damage.NONE:
            return RepairResult(Outcome.SOUND)
        case Damage.TORN_TAIL:
            return _cut(path, report.reason, files)
        case Damage.DAMAGED_MIDDLE if bridges_damage(path, report, snapshot):
            return RepairResult(
                Outcome.UNREPAIRED,
                "the thread opens whole from its snapshot, which a salvaged journal would not fit",
            )
        case Damage.DAMAGED_MIDDLE if salvage:
            return _salvage(path, content, files)
        case _:
            return RepairResult(Outcome.UNREPAIRED, report.reason)


def _cut(path: Path, reason: str, files: FileOperations) -> RepairResult:
    file, _, failure = open_file(path, None, files)
    file.close()
    if failure is not None:
        raise failure
    return RepairResult(Outcome.CUT, reason, file.report.kept_at)


def _salvage(path: Path, content: Content, files: FileOperations) -> RepairResult:
    damaged = _whole(path, files)
    gathered = _SalvagedRecords()
    for payload in framing.payloads(content.records):
        gathered.add(payload)
    intact = len(gathered.payloads)
    try:
        for payload in _payloads_beyond(memoryview(damaged), content.report.end.offset_bytes):
            gathered.add(payload)
    except (damage.ScanBudgetExceeded, _TooManyRefused):
        return RepairResult(
            Outcome.UNREPAIRED, "what lies behind the damage cannot be told from noise"
        )
    if not gathered.state.exists:
        return RepairResult(
            Outcome.UNREPAIRED,
            "the beginning of the thread is lost, and nothing can follow without it",
        )
    kept_at = free_name(files, path, "damaged")
    with refusals(path, "keeping the damaged journal"):
        write_atomically(files, kept_at, (damaged,))
    with refusals(path, "writing the salvaged journal"):
        write_atomically(files, path, _encoded(gathered.payloads))
    return RepairResult(
        Outcome.SALVAGED,
        content.report.reason,
        kept_at,
        len(gathered.payloads) - intact,
        gathered.refused,
    )


class _TooManyRefused(Exception):
    """Hardly anything behind the damage follows from what is before it."""


class _SalvagedRecords:
    """Payloads that follow from each other, and the state they come to."""

    def __init__(self) -> None:
        self.payloads: list[memoryview] = []
        self.refused = 0
        self.state = ThreadState()

    def add(self, payload: memoryview) -> None:
        if self._follows(payload):
            self.payloads.append(payload)
            return
        self.refused += 1
        if self.refused > MAX_REFUSED:
            raise _TooManyRefused
        # The fold may have stopped half-way.
        self.state = ThreadState()
        for kept in self.payloads:
            apply(self.state, decode_record(kept))

    def _follows(self, payload: memoryview) -> bool:
        try:
            record = decode_record(payload)
            if record.thread_sequence <= self.state.thread_sequence and record.events:
                return False
            apply(self.state, record)
        except UnreadableRecord:
            return False
        except (
            Exception
        ):  # the boundary of replay: whatever a record that does not follow makes of the state
            return False
        return True


def _payloads_beyond(view: memoryview, start: int) -> Iterator[memoryview]:
    """Returns the records behind the damage at `start`; the header itself may be damaged."""
    for position, _ in damage.records_after(view, 0, start - 1):
        record = framing.candidate_at(view, 0, position)
        assert record is not None
        yield view[position + framing.RECORD_OVERHEAD_BYTES : record.end]


def _encoded(payloads: list[memoryview]) -> Iterator[bytes]:
    offset = framing.HEADER_BYTES
    yield framing.encode_header()
    rest = iter(payloads)
    while batch := list(islice(rest, RECORDS_A_BATCH)):
        encoded = framing.encode_batch(batch, offset)
        offset += len(encoded)
        yield encoded


def _whole(path: Path, files: FileOperations) -> bytes:
    fd = files.open(path, os.O_RDONLY)
    try:
        return read_fully(files, fd, 0, files.size(fd))
    finally:
        files.close(fd)
