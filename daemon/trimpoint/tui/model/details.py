"""Computes the lines of an opened row: a command's output, a diff, or a tool's arguments and
result.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, assert_never

import msgspec
from trimpoint_protocol.lenient import as_dict, as_list
from trimpoint_protocol.readmodel import (
    ContextSummaryBanner,
    ContextTrimPointDivider,
    TimelineActivity,
    TimelineEntry,
    TimelineMessage,
)

from trimpoint.cli.terminal import one_line, printable
from trimpoint.cli.views.changes import counts, diff_text, place_of
from trimpoint.core.model.decision import counted
from trimpoint.core.model.shell_commands import as_typed
from trimpoint.tui.model.pasted import Fold
from trimpoint.tui.model.prompt import typed_again
from trimpoint.tui.model.spots import Spot, hunk_at, spot_of

MAX_LINES = 400
OUTPUT_LINES = 4
"""So many lines of a command's output are shown while its row is closed."""
_WIDEST = 500
_CLOSED_PROMPT, _OPEN_PROMPT = Fold(20, 4_000), Fold(MAX_LINES, 100 * MAX_LINES)
SHORT_LINES = 6
"""So many lines of a summary are shown while it is closed."""


class Detail(NamedTuple):
    """A line and its style: plain, added, removed, place or dim. A click on it opens `spot`."""

    text: str
    look: str = "plain"
    spot: Spot | None = None


def can_open(entry: TimelineEntry) -> bool:
    """Returns whether an entry has more to show than its row."""
    match entry:
        case TimelineMessage():
            shown = shown_prompt(entry.text, is_open=False)
            return entry.role == "user" and shown != typed_again(entry.text)
        case TimelineActivity():
            return any(True for _ in _lines(entry))
        case ContextSummaryBanner():
            return len(entry.summary.strip().splitlines()) > SHORT_LINES
        case ContextTrimPointDivider():
            return entry.trim_kind == "boundary"
        case _:
            assert_never(entry)


def details(entry: TimelineActivity) -> list[Detail]:
    """Returns the lines of an opened activity; too many lines are cut off, and the last one says
    so.
    """
    lines = list(_lines(entry))
    if len(lines) <= MAX_LINES:
        return lines
    more = Detail(f"… {counted(len(lines) - MAX_LINES, 'more line')}", "dim")
    return [*lines[:MAX_LINES], more]


def changed_in(entry: TimelineActivity, folder: str) -> TimelineActivity:
    """Returns a change of files with its paths relative to a folder, and how many lines it adds and
    removes.
    """
    changes = [as_dict(one) for one in as_list(as_dict(entry.detail).get("changes"))]
    if not changes:
        return entry
    paths = ", ".join(place_of(one) for one in changes).replace(f"{folder.rstrip('/')}/", "")
    added = sum(counts(one).added for one in changes)
    removed = sum(counts(one).removed for one in changes)
    return msgspec.structs.replace(entry, title=f"{paths}  +{added} -{removed}")


def shown_prompt(text: str, *, is_open: bool) -> str:
    """Returns as much of a prompt as is shown: all but of a long one, such as one with a paste."""
    most = _OPEN_PROMPT if is_open else _CLOSED_PROMPT
    text = typed_again(text)
    whole = text.strip()
    shown = "\n".join(whole[: most.characters].split("\n")[: most.lines])
    if len(shown) == len(whole):
        return text
    left_out = whole.count("\n") - shown.count("\n")
    more = f"{left_out:,} more {'line' if left_out == 1 else 'lines'}" if left_out else "more"
    return f"{shown}\n{'…' if is_open else '▸ …'} {more}"


def output_begun(entry: TimelineActivity) -> list[Detail]:
    """Returns the few lines of a command's output that are shown while its row is closed: the first
    ones and the last.
    """
    if entry.activity != "commandExecution":
        return []
    output = str(as_dict(entry.detail).get("aggregatedOutput") or "")
    ends = output.strip("\n").split("\n", OUTPUT_LINES)
    if not output.strip():
        return []
    if len(ends) <= OUTPUT_LINES:
        return [Detail(one_line(line, _WIDEST)) for line in ends]
    rest = ends[-1]
    left_out = len(ends[OUTPUT_LINES - 2 : -1]) + rest.count("\n")
    ends = [*ends[: OUTPUT_LINES - 2], rest.rpartition("\n")[2]]
    shown = [Detail(one_line(line, _WIDEST)) for line in ends]
    return [*shown[:-1], Detail(f"… {counted(left_out, 'more line')}", "dim"), shown[-1]]


def short_summary(summary: str) -> tuple[str, int]:
    """Returns the first lines of a summary, and the number of lines that are left out."""
    lines = summary.strip().splitlines()
    return "\n".join(lines[:SHORT_LINES]), max(0, len(lines) - SHORT_LINES)


def text_of(entry: TimelineEntry) -> str:
    """Returns the text of an entry for the clipboard."""
    match entry:
        case TimelineMessage():
            return entry.text.strip()
        case TimelineActivity():
            lines = [detail.text for detail in _lines(entry)]
            title = _title(entry)
            # The lines of a long command are among the details already.
            return "\n".join(lines if "\n" in title else [title, *lines])
        case ContextSummaryBanner():
            return entry.summary.strip()
        case ContextTrimPointDivider():
            return entry.label
        case _:
            assert_never(entry)


def _title(entry: TimelineActivity) -> str:
    detail = as_dict(entry.detail)
    return as_typed(detail) if detail.get("command") else entry.title


def _lines(entry: TimelineActivity) -> Iterator[Detail]:
    detail = as_dict(entry.detail)
    match entry.activity:
        case "commandExecution":
            yield from _command(detail)
        case "fileChange":
            for change in map(as_dict, as_list(detail.get("changes"))):
                yield from _change(change)
        case "mcpToolCall" | "dynamicToolCall":
            yield from _tool(detail)
        case "reasoning":
            said = [*as_list(detail.get("summary")), *as_list(detail.get("content"))]
            text = "\n\n".join(map(str, said)).strip() or entry.title
            if "\n" in text or len(text) > len(entry.title):
                yield from _plain(text)
        case "userInput":
            for part in map(as_dict, as_list(detail.get("questions"))):
                yield from _plain(str(part.get("question")), "place")
                yield from _plain(str(part.get("answer") or "(no answer)"))
        case "plan":
            yield from _plain(str(detail.get("text") or ""))
        case _:
            return


def _command(detail: Mapping[str, Any]) -> Iterator[Detail]:
    typed = as_typed(detail)
    if "\n" in typed:
        yield from (Detail(line, "place") for line in printable(typed).splitlines())
    yield from _plain(str(detail.get("aggregatedOutput") or "").rstrip())


def _change(change: Mapping[str, Any]) -> Iterator[Detail]:
    spot = spot_of(change)
    yield Detail(f"{one_line(place_of(change), 2000)}  {counts(change)}", "place", spot)
    for line in printable(diff_text(change)).splitlines():
        look = {"+": "added", "-": "removed", "@": "place"}.get(line[:1], "plain")
        yield Detail(line, look, hunk_at(spot.path, line))


def _tool(detail: Mapping[str, Any]) -> Iterator[Detail]:
    if arguments := detail.get("arguments"):
        yield from _plain(_json(arguments), "place")
    for answered in (detail.get("result"), detail.get("error"), detail.get("contentItems")):
        if answered:
            yield from _plain(_said(answered))


def _said(answered: Any) -> str:
    parts = as_list(as_dict(answered).get("content")) or as_list(answered)
    texts = [str(text) for part in parts if (text := as_dict(part).get("text"))]
    return "\n".join(texts) or str(as_dict(answered).get("message") or "") or _json(answered)


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def _plain(text: str, look: str = "plain") -> Iterator[Detail]:
    for line in printable(text).splitlines():
        yield Detail(line, look)
