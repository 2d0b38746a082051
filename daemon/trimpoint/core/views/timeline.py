"""The timeline that a person reads, in the order of the ledger and never of timestamps
(docs/spec/model.md).

A divider is at its boundary: the kept turns follow it. The banner with a summary is directly before
its divider.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Any, overload

import msgspec
from trimpoint_protocol.readmodel import (
    ContextSummaryBanner,
    ContextTrimPointDivider,
    TimelineActivity,
    TimelineEntry,
    TimelineMessage,
)

from trimpoint.core.context.gone_entries import (
    EntryKey,
    entries_before,
    gone_entries,
    masked_entries,
)
from trimpoint.core.model.clock import rfc3339
from trimpoint.core.model.ledger import Boundary, Discard, Entry, TrimPoint
from trimpoint.core.model.state import ThreadState
from trimpoint.core.views.pins_view import pinned_within

BANNER_HEADER = "Context compacted"
DIVIDER_LABEL = "Earlier messages"
DISCARD_LABEL = "Discarded"
MASK_LABEL = "Output left the context"
SUMMARIZED_LABEL = "Summarized"

_Gone = dict[EntryKey, Boundary]


class Timeline(Sequence[TimelineEntry]):
    """The entries of a thread's timeline, oldest first. The pruned entries of a trim point are
    included only if its id is in `expanded`.

    Discarded entries, and those that an overflow has cut off from the first turn of the context,
    stay in their place and are marked; the divider of a discard is at the time when it was made, or
    with its summary behind the turns that this stands for. An entry is rendered on access, so that
    the cost of a page does not depend on the length of the thread.
    """

    def __init__(self, state: ThreadState, expanded: frozenset[str]) -> None:
        self._state = state
        self._gone = gone_entries(state)
        self._masked = masked_entries(state)
        self._begins: list[int] = []
        self._runs: list[Sequence[TimelineEntry]] = []
        self._length = 0
        self._lay_out(expanded)

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> TimelineEntry: ...
    @overload
    def __getitem__(self, index: slice) -> list[TimelineEntry]: ...
    def __getitem__(self, index: int | slice) -> TimelineEntry | list[TimelineEntry]:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(self._length))]
        if not 0 <= index < self._length:
            raise IndexError(index)
        run = bisect_right(self._begins, index) - 1
        return self._runs[run][index - self._begins[run]]

    def place_of(self, entry_index: int) -> int:
        """Returns the place of an entry of the ledger; that of the next one, if it is hidden."""
        for begin, run in zip(self._begins, self._runs, strict=True):
            if isinstance(run, _Run) and run.places.stop > entry_index:
                return begin + max(0, entry_index - run.places.start)
        return self._length

    def _lay_out(self, expanded: frozenset[str]) -> None:
        start, dividers = 0, list[Discard]()
        for boundary in sorted(
            self._state.boundaries, key=lambda one: (self._place(one), one.generation)
        ):
            if isinstance(boundary, Discard):
                dividers.append(boundary)
                continue
            if boundary.id in expanded:
                self._add_section(start, boundary.entry_index, dividers, boundary.id)
            self._add(list(_boundary(self._state, boundary, boundary.id in expanded)))
            start, dividers = boundary.entry_index, []
        self._add_section(start, len(self._state.entries), dividers, None)

    def _add_section(
        self, start: int, end: int, dividers: list[Discard], pruned_by: str | None
    ) -> None:
        for discard in dividers:
            place = max(start, self._place(discard))
            self._add(self._run(range(start, place), pruned_by))
            self._add([*_banner(discard), _discard_divider(discard)])
            start = place
        self._add(self._run(range(start, end), pruned_by))

    def _place(self, boundary: Boundary) -> int:
        return entries_before(self._state, boundary)

    def _run(self, places: range, pruned_by: str | None) -> "_Run":
        return _Run(self._state, places, self._gone, self._masked, pruned_by)

    def _add(self, run: Sequence[TimelineEntry]) -> None:
        if len(run) > 0:
            self._begins.append(self._length)
            self._runs.append(run)
            self._length += len(run)


class _Run(Sequence[TimelineEntry]):
    """A range of consecutive entries of the ledger."""

    def __init__(
        self,
        state: ThreadState,
        places: range,
        gone: _Gone,
        masked: frozenset[EntryKey],
        pruned_by: str | None,
    ) -> None:
        self._state = state
        self.places = places
        self._gone = gone
        self._masked = masked
        self._pruned_by = pruned_by

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, index: Any) -> Any:
        entry = self._state.entries[self.places.start + int(index)]
        key = (entry.turn_id, entry.id)
        left = self._gone.get(key)
        by = self._pruned_by if left is None else left.id
        return _entry(entry, by, is_masked=key in self._masked)


def _discard_divider(discard: Discard) -> TimelineEntry:
    return ContextTrimPointDivider(
        trim_point_id=discard.id,
        label=SUMMARIZED_LABEL
        if discard.summary is not None
        else DISCARD_LABEL
        if discard.entry_ids
        else MASK_LABEL,
        hidden_message_count=len(discard.entry_ids),
        expanded=True,
        trim_kind="discard",
        masked_count=len(discard.masked_entry_ids),
    )


def _banner(boundary: Boundary) -> Iterator[TimelineEntry]:
    if boundary.summary is not None:
        yield ContextSummaryBanner(
            trim_point_id=boundary.id, header=BANNER_HEADER, summary=boundary.summary
        )


def _boundary(state: ThreadState, point: TrimPoint, expanded: bool) -> Iterator[TimelineEntry]:
    yield from _banner(point)
    if point.summary_unavailable:
        yield ContextSummaryBanner(
            trim_point_id=point.id,
            header=BANNER_HEADER,
            summary="The provider keeps this summary sealed; it cannot be shown.",
        )
    yield ContextTrimPointDivider(
        trim_point_id=point.id,
        label=DIVIDER_LABEL,
        hidden_message_count=point.pruned_message_count,
        expanded=expanded,
        trim_kind="boundary",
        pinned_count=len(
            pinned_within(state, point.turn_index - point.pruned_turn_count, point.turn_index)
        ),
    )


def _entry(entry: Entry, trim_point_id: str | None, *, is_masked: bool) -> TimelineEntry:
    created_at = rfc3339(entry.created_at_ms)
    detail = msgspec.json.decode(entry.detail) if entry.detail else None
    if entry.kind == "message":
        return TimelineMessage(
            id=entry.id,
            turn_id=entry.turn_id,
            role=entry.role,
            text=entry.text,
            created_at=created_at,
            trimmed=trim_point_id is not None,
            trim_point_id=trim_point_id,
            detail=detail,
        )
    return TimelineActivity(
        id=entry.id,
        turn_id=entry.turn_id,
        activity=entry.role,
        title=entry.text,
        created_at=created_at,
        trimmed=trim_point_id is not None,
        trim_point_id=trim_point_id,
        detail=detail,
        masked=is_masked,
    )
