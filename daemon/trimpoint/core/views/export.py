"""Exports a thread's timeline as Markdown or as one JSON document."""

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, assert_never

import msgspec
from trimpoint_protocol.readmodel import (
    ContextSummaryBanner,
    ContextTrimPointDivider,
    TimelineActivity,
    TimelineEntry,
    TimelineMessage,
)

from trimpoint.core.model.lenient import as_dict
from trimpoint.core.model.shell_commands import as_typed, in_one_line

SPEAKERS = {"user": "You", "assistant": "Agent"}

_ACTIVITIES = {
    "commandExecution": "Command",
    "fileChange": "Files changed",
    "mcpToolCall": "Tool",
    "dynamicToolCall": "Tool",
    "webSearch": "Web search",
    "reasoning": "Thinking",
    "plan": "Plan",
    "contextCompaction": "Compaction",
}


class Heading(NamedTuple):
    """The heading of an exported thread. `created_at` is RFC 3339."""

    id: str
    name: str | None
    cwd: str
    created_at: str


def markdown(heading: Heading, entries: Iterable[TimelineEntry]) -> Iterator[str]:
    """Yields the Markdown document in pieces. `entries` must be oldest first; messages are exported
    word for word.
    """
    yield f"# {_line(heading.name or 'Conversation')}\n\n"
    yield f"- Thread: {_code(heading.id)}\n- Folder: {_code(heading.cwd)}\n"
    yield f"- Begun: {heading.created_at}\n"
    was_activity = False
    for entry in entries:
        is_activity = isinstance(entry, TimelineActivity)
        yield "" if is_activity and was_activity else "\n"
        yield _section(entry)
        was_activity = is_activity


def document(heading: Heading, entries: Iterable[TimelineEntry]) -> dict[str, Any]:
    """Returns the export as data: `thread`, and `entries` as in `timeline/read`."""
    thread = {
        "id": heading.id,
        "name": heading.name,
        "cwd": heading.cwd,
        "createdAt": heading.created_at,
    }
    return {"thread": thread, "entries": msgspec.to_builtins(list(entries))}


def _section(entry: TimelineEntry) -> str:
    match entry:
        case TimelineMessage():
            pruned = " · pruned" if entry.trimmed else ""
            speaker = SPEAKERS.get(entry.role, entry.role)
            when = f"<sub>{entry.created_at}{pruned}</sub>"
            return f"## {speaker}\n\n{when}\n\n{entry.text.strip()}\n"
        case TimelineActivity():
            return f"- {_activity(entry)}: {_code(_title(entry))}\n"
        case ContextSummaryBanner():
            quoted = "\n".join(f"> {line}" for line in entry.summary.strip().splitlines())
            return f"> **{entry.header}**\n>\n{quoted}\n"
        case ContextTrimPointDivider():
            return f"---\n\n*{divider_text(entry)}*\n"
        case _:
            assert_never(entry)


def divider_text(entry: ContextTrimPointDivider) -> str:
    """Returns what a trim point says: how much is above it, and whether that is shown."""
    above = "" if entry.expanded else ", not shown"
    return f"{entry.label}: {entry.hidden_message_count}{above}"


def _activity(entry: TimelineActivity) -> str:
    return _ACTIVITIES.get(entry.activity, entry.activity)


def _title(entry: TimelineActivity) -> str:
    detail = as_dict(entry.detail)
    return in_one_line(as_typed(detail)) if detail.get("command") else entry.title


def _line(text: str) -> str:
    return " ".join(text.split())


def _code(text: str) -> str:
    """Returns the text as Markdown code in one line, also if it contains backticks."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    padding = " " if longest else ""
    one_line = " ".join(text.splitlines())
    return f"{fence}{padding}{one_line}{padding}{fence}"
