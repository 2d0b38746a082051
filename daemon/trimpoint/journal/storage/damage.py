"""Decides whether bytes that are no record were torn by a crash or damaged later. Pure.

A crash can only affect the last batch (`framing`: a batch is written after all bytes before it are
durable). The file then ends early, or sectors of the batch were never written and read as zeros, in
any order. All other damage is to bytes that were durable and perhaps acknowledged, and must not be
cut off. With p the first byte that is no record, the first matching rule decides:

1. A valid first-of-batch record is after p: the bytes at p had been durable.     -> middle
2. A sector between p and the next valid record is all zeros: it was not written. -> torn
3. Another valid record is after p: the batch is complete except at p.            -> middle
4. The record at p ends, by its own length, at or after the end of the file.      -> torn
5. The record at p ends before that, and no valid record follows.                 -> middle

One case cannot be distinguished: damage to the last record of the file long after it was
acknowledged (rule 4). Its bytes are kept beside the journal, so nothing is lost for good.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from trimpoint.journal import framing

SECTOR_BYTES = 512

# A record's length is below 2**28, so the last byte of its word has few possible values, which are
# rare in text.
_TOP = framing.RECORD_OVERHEAD_BYTES - 1
_WORD_TOP = re.compile(rb"[\x00-\x0f\x80-\x8f]", re.DOTALL)

# Hostile payloads can contain many plausible lengths, and each needs a checksum over that length.
_SEARCH_BUDGET_BYTES = 1 << 28


class ScanBudgetExceeded(Exception):
    """The search for records has checked more bytes than allowed."""


@dataclass(frozen=True, slots=True)
class TailState:
    """The verdict on the end of a journal. `torn`: the tail may be cut off. Otherwise the journal
    is read-only from there; `reason` says why.
    """

    torn: bool
    reason: str


def classify_tail(view: memoryview, base: int, position: int) -> TailState:
    """Returns whether the bytes at `position`, where `framing.scan` stopped, were torn or damaged.
    `view` starts at file offset `base`.
    """
    try:
        next_valid, later_batch = _look_ahead(view, base, position)
    except ScanBudgetExceeded:
        return TailState(False, "no record here, and the search for later ones was given up")
    if later_batch is not None:
        return TailState(False, f"a later batch stands intact at byte {base + later_batch}")
    if _has_unwritten_sector(view, base, position, len(view) if next_valid is None else next_valid):
        return TailState(True, "sectors of the last batch were never written")
    if next_valid is not None:
        return TailState(False, f"a later record stands intact at byte {base + next_valid}")
    if framing.declared_end(view, position) >= len(view):
        return TailState(True, "the last record is not whole")
    return TailState(False, "the record does not match its checksum and is not the last")


def _look_ahead(view: memoryview, base: int, position: int) -> tuple[int | None, int | None]:
    """Returns the positions after `position` of the first valid record, and of the first one that
    is the first of a batch; None if there is none.
    """
    first: int | None = None
    for found, opens_batch in records_after(view, base, position):
        first = found if first is None else first
        if opens_batch:
            return first, found
    return first, None


def records_after(view: memoryview, base: int, position: int) -> Iterator[tuple[int, bool]]:
    """Yields the position of each valid record after `position`, and whether it is the first of a
    batch.

    :raises ScanBudgetExceeded: when too many bytes look like a record and are none.
    """
    at, budget, size = position + 1, _SEARCH_BUDGET_BYTES, len(view)
    while (top := _WORD_TOP.search(view, at + _TOP)) is not None:
        at = top.start() - _TOP
        if (record := framing.candidate_at(view, base, at)) is not None:
            yield at, record.first_of_batch
            at = record.end
            continue
        end = framing.declared_end(view, at)
        budget -= end - at if end <= size else 0
        if budget < 0:
            raise ScanBudgetExceeded
        at += 1


def _has_unwritten_sector(view: memoryview, base: int, start: int, stop: int) -> bool:
    """Returns whether a sector between `start` and `stop` is all zeros. Of the first sector, only
    the bytes from `start` on are checked.
    """
    at = start
    while at < stop:
        sector_end = at + SECTOR_BYTES - (base + at) % SECTOR_BYTES
        if not any(view[at:sector_end]):
            return True
        at = sector_end
    return False
