"""What a thread's history in Codex's own form shows of its trims.

A compaction has an item of Codex's own. Of other trims Codex knows nothing: where it is wanted, a
message says what left the context. Each stands behind the entry that the boundary follows.
"""

from collections import defaultdict
from typing import Any, NamedTuple

from trimpoint.core.model.decision import counted
from trimpoint.core.model.ledger import Discard, TrimPoint
from trimpoint.core.model.state import ThreadState
from trimpoint.gateway.commands.lone_messages import agent_message


class Marker(NamedTuple):
    """An item, and when the trim was made."""

    item: dict[str, Any]
    at_ms: int


class Markers:
    """Those of a thread, by the place in the ledger behind which they stand.

    `with_messages`: trims without an item of Codex's own are shown by a message.
    """

    def __init__(self, state: ThreadState, *, with_messages: bool) -> None:
        self._behind: dict[int, list[Marker]] = defaultdict(list)
        for boundary in sorted(state.boundaries, key=lambda one: one.created_at_ms):
            item = _item(boundary, with_messages=with_messages)
            if item is not None:
                marker = Marker({**item, "id": boundary.id}, boundary.created_at_ms)
                self._behind[boundary.entry_index - 1].append(marker)

    def place_of(self, item_id: str) -> int | None:
        """Return the place behind which an item stands; None if it is none of these."""
        found = (
            place
            for place, markers in self._behind.items()
            if any(marker.item["id"] == item_id for marker in markers)
        )
        return next(found, None)

    def behind(self, place: int) -> list[Marker]:
        """Return what stands behind an entry, oldest first."""
        return self._behind.get(place, [])


def _item(boundary: TrimPoint | Discard, *, with_messages: bool) -> dict[str, Any] | None:
    if isinstance(boundary, TrimPoint) and (boundary.summary or boundary.summary_unavailable):
        return {"type": "contextCompaction"}
    return agent_message(_text(boundary)) if with_messages else None


def _text(boundary: TrimPoint | Discard) -> str:
    if isinstance(boundary, Discard):
        return f"Context compressed: {counted(len(boundary.entry_ids), 'item')} above left it."
    return f"Context cleared: {counted(boundary.pruned_message_count, 'message')} above left it."
