"""Items that show trims in a thread's history in Codex's own form.

Codex has an item for a compaction. Other trims are unknown to it; for clients that want it, a
message tells what left the context. Each item stands after the entry at which the boundary lies.
"""

from collections import defaultdict
from typing import Any, NamedTuple

from trimpoint.core.context.gone_entries import entries_before
from trimpoint.core.model.decision import counted
from trimpoint.core.model.ledger import Discard, TrimPoint
from trimpoint.core.model.state import ThreadState
from trimpoint.gateway.commands.lone_messages import agent_message


class Marker(NamedTuple):
    """An item that shows a trim, and the time of the trim in milliseconds."""

    item: dict[str, Any]
    at_ms: int


class Markers:
    """The items that show a thread's trims, by the index of the entry that they follow.

    With `with_messages`, trims for which Codex has no item are shown as messages.
    """

    def __init__(self, state: ThreadState, *, with_messages: bool) -> None:
        self._behind: dict[int, list[Marker]] = defaultdict(list)
        for boundary in sorted(state.boundaries, key=lambda one: one.created_at_ms):
            item = _item(boundary, with_messages=with_messages)
            if item is not None:
                marker = Marker({**item, "id": boundary.id}, boundary.created_at_ms)
                self._behind[entries_before(state, boundary) - 1].append(marker)

    def place_of(self, item_id: str) -> int | None:
        """Returns the index of the entry that an item follows, or None if the item shows no
        trim.
        """
        found = (
            place
            for place, markers in self._behind.items()
            if any(marker.item["id"] == item_id for marker in markers)
        )
        return next(found, None)

    def behind(self, place: int) -> list[Marker]:
        """Returns the markers that follow an entry, oldest first."""
        return self._behind.get(place, [])


def _item(boundary: TrimPoint | Discard, *, with_messages: bool) -> dict[str, Any] | None:
    is_sealed = isinstance(boundary, TrimPoint) and boundary.summary_unavailable
    if boundary.summary or is_sealed:
        return {"type": "contextCompaction"}
    return agent_message(_text(boundary)) if with_messages else None


def _text(boundary: TrimPoint | Discard) -> str:
    if isinstance(boundary, Discard):
        return f"Context compressed: {counted(len(boundary.entry_ids), 'item')} above left it."
    return f"Context cleared: {counted(boundary.pruned_message_count, 'message')} above left it."
