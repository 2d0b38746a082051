"""The timeline a person reads, ordered by the ledger and never by a clock (spec §2).

A divider stands at its boundary: what was kept comes after it. A summary's banner is right above its divider.
"""

from collections.abc import Iterable, Iterator

import msgspec
from trimpoint_protocol.readmodel import (
    ContextSummaryBanner,
    ContextTrimPointDivider,
    TimelineActivity,
    TimelineEntry,
    TimelineMessage,
)

from trimpoint.core.clock import rfc3339
from trimpoint.core.state import Discard, Entry, ThreadState, TrimPoint

BANNER_HEADER = "Context compacted"
DIVIDER_LABEL = "Earlier messages"
DISCARD_LABEL = "Discarded"


def derive_timeline_entries(state: ThreadState, expanded: frozenset[str]) -> Iterator[TimelineEntry]:
    """All entries, oldest first; the pruned section of a trim point only when its id is in `expanded`.

    What was discarded stays where it was said, flagged; the discard's own divider stands where it was made.
    """
    taken = _taken(state)
    start, dividers = 0, list[Discard]()
    for boundary in sorted(state.boundaries, key=lambda one: (one.entry_index, one.generation)):
        if isinstance(boundary, Discard):
            dividers.append(boundary)
            continue
        if boundary.id in expanded:
            yield from _section(state, start, boundary.entry_index, dividers, taken, boundary.id)
        yield from _boundary(boundary, boundary.id in expanded)
        start, dividers = boundary.entry_index, []
    yield from _section(state, start, len(state.entries), dividers, taken, None)


def _taken(state: ThreadState) -> dict[tuple[str, str], str]:
    """Turn and id of each entry that was discarded -> the discard."""
    return {
        (turn_id, entry_id): discard.id
        for discard in state.discards
        for turn_id, entry_ids in discard.entries.items()
        for entry_id in entry_ids
    }


def _section(
    state: ThreadState, start: int, end: int, dividers: list[Discard], taken: dict[tuple[str, str], str], pruned_by: str | None
) -> Iterator[TimelineEntry]:
    for discard in dividers:
        yield from _entries(state.entries[start : discard.entry_index], taken, pruned_by)
        yield _discard_divider(discard)
        start = discard.entry_index
    yield from _entries(state.entries[start:end], taken, pruned_by)


def _entries(entries: Iterable[Entry], taken: dict[tuple[str, str], str], pruned_by: str | None) -> Iterator[TimelineEntry]:
    for entry in entries:
        yield _entry(entry, taken.get((entry.turn_id, entry.id), pruned_by))


def _discard_divider(discard: Discard) -> TimelineEntry:
    return ContextTrimPointDivider(
        trim_point_id=discard.id,
        label=DISCARD_LABEL,
        hidden_message_count=len(discard.entry_ids),
        expanded=True,
        trim_kind="discard",
    )


def _boundary(point: TrimPoint, expanded: bool) -> Iterator[TimelineEntry]:
    if point.summary is not None:
        yield ContextSummaryBanner(trim_point_id=point.id, header=BANNER_HEADER, summary=point.summary)
    elif point.summary_unavailable:
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
    )


def _entry(entry: Entry, trim_point_id: str | None) -> TimelineEntry:
    created_at = rfc3339(entry.created_at_ms)
    if entry.kind == "message":
        return TimelineMessage(
            id=entry.id,
            turn_id=entry.turn_id,
            role=entry.role,
            text=entry.text,
            created_at=created_at,
            trimmed=trim_point_id is not None,
            trim_point_id=trim_point_id,
        )
    detail = msgspec.json.decode(entry.detail) if entry.detail else None
    return TimelineActivity(
        id=entry.id,
        turn_id=entry.turn_id,
        activity=entry.role,
        title=entry.text,
        created_at=created_at,
        trimmed=trim_point_id is not None,
        trim_point_id=trim_point_id,
        detail=detail,
    )
