"""Repairs a journal that no daemon has open. Nothing is deleted: removed bytes are kept in a file
beside the journal. Blocking.
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

# A lost record makes at most the rest of its turn unusable. If more records cannot be applied, a
# program should not decide what to keep.
MAX_REFUSED = 1_000
RECORDS_A_BATCH = 256


class Outcome(Enum):
    """The outcome of a repair. `SOUND`: there was no damage. `UNREPAIRED`: the journal was not
    changed, because repair was not requested or is not possible.
    """

    SOUND = "sound"
    CUT = "cut"
    SALVAGED = "salvaged"
    UNREPAIRED = "left"


@dataclass(frozen=True, slots=True)
class RepairResult:
    """The result of a repair. `kept_at` is the file with the bytes that were cut off, or with the
    whole damaged journal. `salvaged` is the number of records recovered after the damage, `refused`
    the number of records found there that cannot be applied. `detail` says what was damaged, or why
    the journal was left unchanged.
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
    """Cuts a torn tail; with `salvage`, rewrites a damaged journal with all records that can still
    be read.

    A damaged journal is left unchanged if the thread can be loaded completely from `snapshot`,
    because the rewritten journal would lack records that the snapshot includes.

    :raises JournalWriteError: when the disk refused; the journal is unchanged.
    :raises OSError: when the journal cannot be read.
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
            Outcome.UNREPAIRED, "the bytes after the damage cannot be recognized as records"
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
    """Too many records after the damage cannot be applied to the state before it."""


class _SalvagedRecords:
    """The payloads that can be applied one after another, and the resulting state."""

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
        # The record may have been applied partly, so the state is computed again.
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
        ):  # the boundary of replay: a record that does not follow may fail in any way
            return False
        return True


def _payloads_beyond(view: memoryview, start: int) -> Iterator[memoryview]:
    """Yields the payloads of the records after the damage at `start`; the damage may also be in the
    file's header.
    """
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
