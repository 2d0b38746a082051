"""A timeline as a person likes to look at it: prompts, answers, one line for each activity, and the trim points between them."""

import re
from collections.abc import Iterable, Iterator, Mapping

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.panel import Panel
from rich.table import Table
from rich.text import Text
from trimpoint_protocol.readmodel import (
    ContextSummaryBanner,
    ContextTrimPointDivider,
    TimelineActivity,
    TimelineEntry,
    TimelineMessage,
)

from trimpoint.cli.terminal import one_line, printable

PROMPT, ANSWER = ("❯", "bold cyan"), ("●", "green")
_ACTIVITIES: dict[str, tuple[str, str]] = {
    "commandExecution": ("$", "yellow"),
    "fileChange": ("✎", "magenta"),
    "mcpToolCall": ("⚒", "blue"),
    "dynamicToolCall": ("⚒", "blue"),
    "webSearch": ("⌕", "blue"),
    "reasoning": ("✻", "bright_black"),
    "plan": ("☰", "blue"),
    "contextCompaction": ("⇲", "yellow"),
}
_OTHER_ACTIVITY = ("·", "bright_black")


def activity_mark(kind: str) -> tuple[str, str]:
    """Glyph and style of a kind of activity."""
    return _ACTIVITIES.get(kind, _OTHER_ACTIVITY)


def timeline_rows(entries: Iterable[TimelineEntry], numbers: Mapping[str, int]) -> Iterator[RenderableType]:
    """Entries, oldest first, as what to print; `numbers` are those of the trim points, by id."""
    before: TimelineEntry | None = None
    for entry in entries:
        if _stands_apart(before, entry):
            yield Text()
        yield _row(entry, numbers)
        before = entry


def _stands_apart(before: TimelineEntry | None, entry: TimelineEntry) -> bool:
    """Blank lines part turns, and what was pruned from what was kept; a banner belongs to the divider below it."""
    match before, entry:
        case None, _:
            return False
        case ContextSummaryBanner(), ContextTrimPointDivider():
            return False
        case ContextTrimPointDivider(), _:
            return True
        case _, TimelineMessage(role="user") | ContextSummaryBanner() | ContextTrimPointDivider():
            return True
        case _:
            return False


def _row(entry: TimelineEntry, numbers: Mapping[str, int]) -> RenderableType:
    match entry:
        case TimelineMessage():
            glyph, style = PROMPT if entry.role == "user" else ANSWER
            body = Text(printable(entry.text.strip()), "bold" if entry.role == "user" else "")
            return with_glyph(glyph, style, body, trimmed=entry.trimmed)
        case TimelineActivity():
            glyph, style = activity_mark(entry.activity)
            title = Text(display_title(entry.title), "bright_black", no_wrap=True, overflow="ellipsis")
            return with_glyph(f"  {glyph}", style, title, trimmed=entry.trimmed)
        case ContextSummaryBanner():
            return summary_panel(entry.header, entry.summary)
        case ContextTrimPointDivider():
            number = numbers.get(entry.trim_point_id)
            if entry.trim_kind == "discard":
                return _Divider(
                    f" ◌ {entry.label} · {entry.hidden_message_count} taken out above ", "" if number is None else f" {number} "
                )
            return divider(entry.label, entry.hidden_message_count, entry.expanded, number)


def display_title(title: str) -> str:
    """An activity's title in one line, a command without the shell that Codex wraps it in."""
    wrapped = re.fullmatch(r"\S*/(?:ba|z|)sh -l?c (['\"])(.*)\1", title, re.DOTALL)
    return one_line(wrapped.group(2) if wrapped else title)


def with_glyph(glyph: str, style: str, body: Text, *, trimmed: bool = False) -> RenderableType:
    """`body` with a glyph before its first line and the others aligned; a rule of dots at its left when it was pruned."""
    grid = Table.grid(padding=(0, 1, 0, 0), expand=True)
    grid.add_column(width=len(glyph) + 2 * trimmed)
    grid.add_column(ratio=1)
    if trimmed:
        body = Text(body.plain, "dim", no_wrap=body.no_wrap, overflow=body.overflow)
        glyph, style = f"┊ {glyph}", "dim"
    grid.add_row(Text(glyph, style), body)
    return grid


def summary_panel(header: str, summary: str) -> RenderableType:
    """The text that stands for what a compaction pruned."""
    return Panel(Text(printable(summary.strip())), title=header, title_align="left", border_style="cyan", padding=(0, 1))


def divider(label: str, pruned: int, expanded: bool, number: int | None = None) -> RenderableType:
    """The line at a trim point; what was pruned is above it, what the agent still knows is below."""
    name = f" {'▾' if expanded else '▸'} {label} · {pruned} pruned "
    return _Divider(name, "" if number is None else f" {number} ")


class _Divider:
    def __init__(self, name: str, number: str) -> None:
        self._name = name
        self._number = number

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        line = Text.assemble(("────", "cyan"), (self._name, "bold cyan"))
        tail = Text.assemble((self._number, "cyan"), ("──" if self._number else "", "cyan"))
        fill = max(4, options.max_width - line.cell_len - tail.cell_len)
        yield Text.assemble(line, ("─" * fill, "cyan"), tail, no_wrap=True, overflow="crop")
