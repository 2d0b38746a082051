"""The timeline a person reads, ordered by the ledger and never by a clock (spec §2).

A divider stands at its boundary: what was kept comes after it. A summary's banner is right above its divider.
"""

from collections.abc import Iterator

import msgspec
from trimpoint_protocol.readmodel import (
    ContextSummaryBanner,
    ContextTrimPointDivider,
    TimelineActivity,
    TimelineEntry,
    TimelineMessage,
)

from trimpoint.core.clock import rfc3339
from trimpoint.core.state import Entry, ThreadState, TrimPoint

BANNER_HEADER = "Context compacted"
DIVIDER_LABEL = "Earlier messages"


def derive_timeline_entries(state: ThreadState, expanded: frozenset[str]) -> Iterator[TimelineEntry]:
    """All entries, oldest first; the pruned section of a trim point only when its id is in `expanded`."""
    start = 0
    for point in state.trim_points:
        if point.id in expanded:
            yield from (_entry(entry, trimmed=True) for entry in state.entries[start : point.entry_index])
        yield from _boundary(point, point.id in expanded)
        start = point.entry_index
    yield from (_entry(entry, trimmed=False) for entry in state.entries[start:])


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
    )


def _entry(entry: Entry, *, trimmed: bool) -> TimelineEntry:
    created_at = rfc3339(entry.created_at_ms)
    if entry.kind == "message":
        return TimelineMessage(
            id=entry.id,
            turn_id=entry.turn_id,
            role=entry.role,
            text=entry.text,
            created_at=created_at,
            trimmed=trimmed,
        )
    detail = msgspec.json.decode(entry.detail) if entry.detail else None
    return TimelineActivity(
        id=entry.id,
        turn_id=entry.turn_id,
        activity=entry.role,
        title=entry.text,
        created_at=created_at,
        trimmed=trimmed,
        detail=detail,
    )
