"""Exports a timeline as Markdown or as one JSON document: that of a thread, or of a session of any
agent.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, assert_never

import msgspec
from trimpoint_protocol.lenient import as_dict
from trimpoint_protocol.readmodel import (
    ContextSummaryBanner,
    ContextTrimPointDivider,
    TimelineActivity,
    TimelineEntry,
    TimelineMessage,
)
from trimpoint_protocol.unified import Agent

from trimpoint.core.model.asked import ASKED
from trimpoint.core.model.decision import counted
from trimpoint.core.model.shell_commands import as_typed, in_one_line

SPEAKERS = {"user": "You", "assistant": "Agent"}

_ACTIVITIES = {
    "commandExecution": "Command",
    "fileChange": "Files changed",
    "mcpToolCall": "Tool",
    "dynamicToolCall": "Tool",
    "toolResult": "Result",
    ASKED: "Question",
    "webSearch": "Web search",
    "reasoning": "Thinking",
    "plan": "Plan",
    "contextCompaction": "Compaction",
}


_MAX_NAME_CHARS = 200
_MAX_OUTPUT_CHARS = 4000


class Heading(NamedTuple):
    """The heading of an exported thread, or of a session of `agent`. `created_at` is RFC 3339."""

    id: str
    name: str | None
    cwd: str | None
    created_at: str | None
    agent: Agent = "trimpoint"


def markdown(
    heading: Heading, entries: Iterable[TimelineEntry], *, outputs: bool = False
) -> Iterator[str]:
    """Yields the Markdown document in pieces. `entries` must be oldest first; messages are exported
    word for word, with `outputs` also the beginning of what activities printed.
    """
    yield f"# {_line(heading.name or 'Conversation')[:_MAX_NAME_CHARS]}\n\n"
    is_ours = heading.agent == "trimpoint"
    yield f"- {'Thread:' if is_ours else f'Session: {heading.agent}'} {_code(heading.id)}\n"
    yield f"- Folder: {_code(heading.cwd)}\n" if heading.cwd else ""
    yield f"- Begun: {heading.created_at}\n" if heading.created_at else ""
    is_in_list = False
    for entry in entries:
        is_activity = isinstance(entry, TimelineActivity)
        yield "" if is_activity and is_in_list else "\n"
        yield _section(entry)
        block = _output(entry) if outputs and isinstance(entry, TimelineActivity) else ""
        yield block
        is_in_list = is_activity and not block


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
            when = f"{entry.created_at}{pruned}".removeprefix(" · ")
            aside = f"<sub>{when}</sub>\n\n" if when else ""
            return f"## {speaker}\n\n{aside}{entry.text.strip()}\n"
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


def _output(entry: TimelineActivity) -> str:
    """Returns the beginning of what an activity printed as a block of code, or nothing."""
    text = as_dict(entry.detail).get("aggregatedOutput")
    if not isinstance(text, str) or not text:
        return ""
    rest = len(text) - _MAX_OUTPUT_CHARS
    fence = "`" * max(3, _longest_fence(text) + 1)
    more = f"\n… {counted(rest, 'more character')}" if rest > 0 else ""
    return f"\n{fence}\n{text[:_MAX_OUTPUT_CHARS]}{more}\n{fence}\n"


def _line(text: str) -> str:
    return " ".join(text.split())


def _code(text: str) -> str:
    """Returns the text as Markdown code in one line, also if it contains backticks."""
    longest = _longest_fence(text)
    fence = "`" * (longest + 1)
    padding = " " if longest else ""
    one_line = " ".join(text.splitlines())
    return f"{fence}{padding}{one_line}{padding}{fence}"


def _longest_fence(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)
