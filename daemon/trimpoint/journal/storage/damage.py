"""Torn by a crash, or damaged later? The judgement on bytes that are no record. Pure.

A crash can only hurt the last batch (`framing`: a batch is written when all before it is durable),
and it hurts in two ways: the file ends early, or sectors of the batch were never written and read
as zeros, in any order the disk liked. Everything else is damage to what once was durable, perhaps
acknowledged, and is not ours to cut. With p the first byte that is no record, in this order:

1. A valid first-of-batch record lies after p: what stood at p had been durable. -> middle
2. A sector after p, up to the next valid record, is all zeros: never written.   -> torn
3. Another valid record lies after p: the batch is whole but for p.              -> middle
4. The record at p, by its own length, ends at or beyond the end of the file.    -> torn
5. It ends before that, and nothing valid follows.                               -> middle

The one case that cannot be told apart: damage to the very last record of the file long after it was
acknowledged (rule 4). Its bytes are kept beside the journal, so even that loses nothing for good.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from trimpoint.journal import framing

SECTOR_BYTES = 512

# A record's length stays below 2**28, so the last byte of its word has few values, rare ones in
# text.
_TOP = framing.RECORD_OVERHEAD_BYTES - 1
_WORD_TOP = re.compile(rb"[\x00-\x0f\x80-\x8f]", re.DOTALL)

# Hostile payloads can hold any number of plausible lengths, each of which costs a checksum over
# that length.
_SEARCH_BUDGET_BYTES = 1 << 28


class ScanBudgetExceeded(Exception):
    """The search looked at more bytes than it may."""


@dataclass(frozen=True, slots=True)
class TailState:
    """`torn`: cut here and go on. Otherwise the journal is read-only from here; `reason` says
    why.
    """

    torn: bool
    reason: str


def classify_tail(view: memoryview, base: int, position: int) -> TailState:
    """Say what happened at `position`, where `framing.scan` stopped; `view` starts at file offset
    `base`.
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
    """Positions after `position` of the first valid record and of the first one that opens a
    batch.
    """
    first: int | None = None
    for found, opens_batch in records_after(view, base, position):
        first = found if first is None else first
        if opens_batch:
            return first, found
    return first, None


def records_after(view: memoryview, base: int, position: int) -> Iterator[tuple[int, bool]]:
    """Returns where whole records lie after `position`, and whether each opens a batch.

    :raises Exhausted: too much of the file looks like the beginning of a record and is none.
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
    """Returns whether a sector reaching into start..stop is zeros, as far as it lies after start
    and in the file.
    """
    at = start
    while at < stop:
        sector_end = at + SECTOR_BYTES - (base + at) % SECTOR_BYTES
        if not any(view[at:sector_end]):
            return True
        at = sector_end
    return False
