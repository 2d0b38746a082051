"""A session as a timeline: the same entries and dividers that threads of our own have. Pure."""

from collections.abc import Iterable, Iterator

from trimpoint_protocol import unified as u
from trimpoint_protocol.readmodel import (
    ContextSummaryBanner,
    ContextTrimPointDivider,
    TimelineActivity,
    TimelineEntry,
    TimelineMessage,
)

from trimpoint.core.model.lenient import as_dict

SHOWN = ("prompt", "answer", "tool_call", "other")
LABELS = {
    "manual": "Compacted",
    "auto": "Compacted by itself",
    "manual_partial": "Compacted in part",
}
Point = u.BoundaryRecord | u.ClearRecord | u.RewindRecord


def timeline_of(records: Iterable[u.Record], expand: set[int] | None) -> list[TimelineEntry]:
    """Returns the entries, oldest first.

    :param expand: numbers of the dividers above which is shown what they took out; None for all.
    """
    return list(_Timeline(list(records), expand).entries())


class _Timeline:
    def __init__(self, records: list[u.Record], expand: set[int] | None) -> None:
        self._messages = [one for one in records if isinstance(one, u.MessageRecord)]
        self._points = sorted(
            (one for one in records if isinstance(one, Point)),
            key=lambda one: one.after_message_index,
        )
        self._expand = expand
        self._turn = ""

    def entries(self) -> Iterator[TimelineEntry]:
        """Yields messages with the dividers between them."""
        numbered = dict(enumerate(self._points, 1))
        hidden = {
            index for number, point in numbered.items() for index in self._hidden(number, point)
        }
        waiting = list(numbered.items())
        for message in self._messages:
            while waiting and waiting[0][1].after_message_index < message.index:
                yield from self._divider(*waiting.pop(0))
            if message.index not in hidden:
                yield from self._message(message)
        for number, point in waiting:
            yield from self._divider(number, point)

    def _hidden(self, number: int, point: Point) -> list[int]:
        if self._expand is None or number in self._expand:
            return []
        match point:
            case u.BoundaryRecord():
                return point.replaced_message_indices
            case u.RewindRecord():
                return point.dropped_message_indices
            case _:
                return []

    def _divider(self, number: int, point: Point) -> Iterator[TimelineEntry]:
        point_id = f"point {number}"
        is_open = self._expand is None or number in self._expand
        match point:
            case u.BoundaryRecord():
                label = LABELS.get(point.trigger or "", "Compacted")
                count = len(point.replaced_message_indices)
                yield from _banner(point, point_id, count)
            case u.RewindRecord():
                label, count = "Taken back", len(point.dropped_message_indices)
            case _:
                label, count = "Cleared", 0
        yield ContextTrimPointDivider(
            trim_point_id=point_id,
            label=label,
            hidden_message_count=count,
            expanded=is_open,
            trim_kind="boundary",
        )

    def _message(self, message: u.MessageRecord) -> Iterator[TimelineEntry]:
        if message.kind not in SHOWN:
            return
        if message.kind == "prompt":
            self._turn = str(message.index)
        if message.text:
            yield TimelineMessage(
                id=f"message {message.index}",
                turn_id=self._turn,
                role="user" if message.role == "user" else "assistant",
                text=message.text,
                created_at=message.timestamp or "",
                trimmed=not message.active,
                trim_point_id=None,
            )
        for call in message.tool_calls:
            yield self._activity(message, call)

    def _activity(self, message: u.MessageRecord, call: u.ToolCall) -> TimelineActivity:
        arguments = as_dict(call.arguments)
        words = " ".join(str(value) for value in arguments.values() if isinstance(value, str))
        return TimelineActivity(
            id=f"call {message.index}",
            turn_id=self._turn,
            activity="dynamicToolCall",
            title=f"{call.name} {words}".strip()[:300],
            created_at=message.timestamp or "",
            trimmed=not message.active,
            trim_point_id=None,
            detail=None,
        )


def _banner(boundary: u.BoundaryRecord, point_id: str, count: int) -> Iterator[TimelineEntry]:
    summary = boundary.summary
    if summary is None and boundary.summary_encrypted:
        summary = "Only its provider can read this summary."
    if summary is not None:
        header = f"Summary of {count} messages"
        yield ContextSummaryBanner(trim_point_id=point_id, header=header, summary=summary)
