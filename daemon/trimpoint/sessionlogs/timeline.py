"""A session as a timeline: the same entries and dividers that threads of our own have. Pure.

The records are taken twice, first for the dividers, so that no more than these is held in memory.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec
from trimpoint_protocol import unified as u
from trimpoint_protocol.lenient import as_dict
from trimpoint_protocol.readmodel import (
    ContextSummaryBanner,
    ContextTrimPointDivider,
    TimelineActivity,
    TimelineEntry,
    TimelineMessage,
)

from trimpoint.sessionlogs.ranges import Ranges

SHOWN = ("prompt", "answer", "tool_call", "other")
SHOWN_IN_FULL = (*SHOWN, "command", "tool_result")
LABELS = {
    "manual": "Compacted",
    "auto": "Compacted automatically",
    "manual_partial": "Compacted in part",
}
Point = u.BoundaryRecord | u.ClearRecord | u.RewindRecord


class Divider(NamedTuple):
    """A point of a session, and the messages that it took out."""

    point: Point
    took_out: Ranges


def dividers_of(records: Iterable[u.Record]) -> list[Divider]:
    """Returns the dividers of a session, in its order."""
    found = [_divider_of(record) for record in records if isinstance(record, Point)]
    return sorted(found, key=lambda one: one.point.after_message_index)


def _divider_of(record: Point) -> Divider:
    """Returns the divider for a record, with its message indices as ranges, which need little
    memory for a long log.
    """
    match record:
        case u.BoundaryRecord():
            took_out = Ranges.of(record.replaced_message_indices)
            light = msgspec.structs.replace(
                record, replaced_message_indices=[], kept_message_indices=[]
            )
            return Divider(light, took_out)
        case u.RewindRecord():
            took_out = Ranges.of(record.dropped_message_indices)
            return Divider(msgspec.structs.replace(record, dropped_message_indices=[]), took_out)
        case u.ClearRecord():
            return Divider(record, Ranges())


def point_id(number: int) -> str:
    """Returns the id of the divider with that number, counted from 1."""
    return f"point {number}"


def timeline_of(
    records: Iterable[u.Record],
    dividers: list[Divider],
    expand: set[int] | None,
    *,
    in_full: bool = False,
) -> Iterator[TimelineEntry]:
    """Yields the entries, oldest first.

    :param dividers: those of the same records.
    :param expand: numbers of the dividers above which is shown what they took out; None for all.
    :param in_full: with typed commands, and with what tools were given and returned, for documents.
    """
    return _Timeline(dividers, expand, in_full=in_full).entries(records)


class _Timeline:
    def __init__(self, dividers: list[Divider], expand: set[int] | None, *, in_full: bool) -> None:
        self._dividers = dividers
        self._expand = expand
        self._in_full = in_full
        self._turn = ""
        self._tools: dict[str, str] = {}

    def entries(self, records: Iterable[u.Record]) -> Iterator[TimelineEntry]:
        """Yields messages with the dividers between them."""
        hidden = Ranges()
        for number, divider in enumerate(self._dividers, 1):
            if not self._is_open(number):
                hidden = hidden.plus(divider.took_out)
        at = 0
        for message in records:
            if not isinstance(message, u.MessageRecord):
                continue
            while at < len(self._dividers) and self._is_before(at, message.index):
                at += 1
                yield from self._divider(at)
            if message.index not in hidden:
                yield from self._message(message)
        for number in range(at + 1, len(self._dividers) + 1):
            yield from self._divider(number)

    def _is_before(self, at: int, index: int) -> bool:
        return self._dividers[at].point.after_message_index < index

    def _is_open(self, number: int) -> bool:
        return self._expand is None or number in self._expand

    def _divider(self, number: int) -> Iterator[TimelineEntry]:
        point, took_out = self._dividers[number - 1]
        match point:
            case u.BoundaryRecord():
                label = LABELS.get(point.trigger or "", "Compacted")
                yield from _banner(point, point_id(number), len(took_out))
            case u.RewindRecord():
                label = "Taken back"
            case u.ClearRecord():
                label = "Cleared"
        yield ContextTrimPointDivider(
            trim_point_id=point_id(number),
            label=label,
            hidden_message_count=len(took_out),
            expanded=self._is_open(number),
            trim_kind="boundary",
        )

    def _message(self, message: u.MessageRecord) -> Iterator[TimelineEntry]:
        if message.kind not in (SHOWN_IN_FULL if self._in_full else SHOWN):
            return
        if message.kind == "prompt":
            self._turn = str(message.index)
        if message.text and message.kind != "tool_result":
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
            yield self._call(message, call)
        for result in message.tool_results if self._in_full else ():
            tool = self._tools.get(result.call_id or "", "tool")
            title = f"{tool}, failed" if result.is_error else tool
            yield self._activity(message, "toolResult", title, result.output)

    def _call(self, message: u.MessageRecord, call: u.ToolCall) -> TimelineActivity:
        if self._in_full:
            self._tools[call.id or ""] = call.name
            arguments = msgspec.json.encode(call.arguments).decode()
            return self._activity(message, "dynamicToolCall", call.name, arguments)
        words = [value for value in as_dict(call.arguments).values() if isinstance(value, str)]
        title = " ".join((call.name, *words)).strip()
        return self._activity(message, "dynamicToolCall", title[:300], None)

    def _activity(
        self, message: u.MessageRecord, activity: str, title: str, text: str | None
    ) -> TimelineActivity:
        return TimelineActivity(
            id=f"call {message.index}",
            turn_id=self._turn,
            activity=activity,
            title=title,
            created_at=message.timestamp or "",
            trimmed=not message.active,
            trim_point_id=None,
            detail=None if text is None else {"aggregatedOutput": text},
        )


def _banner(boundary: u.BoundaryRecord, divider_id: str, count: int) -> Iterator[TimelineEntry]:
    summary = boundary.summary
    if summary is None and boundary.summary_encrypted:
        summary = "Only its provider can read this summary."
    if summary is not None:
        header = f"Summary of {count} messages"
        yield ContextSummaryBanner(trim_point_id=divider_id, header=header, summary=summary)
