"""Formats a timeline for the terminal: prompts, answers, one line for each activity, and the trim
points between them.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.panel import Panel
from rich.segment import Segment
from rich.style import Style
from rich.table import Table
from rich.text import Text
from trimpoint_protocol.lenient import as_dict
from trimpoint_protocol.readmodel import (
    ContextSummaryBanner,
    ContextTrimPointDivider,
    ThreadTurn,
    TimelineActivity,
    TimelineEntry,
    TimelineMessage,
)

from trimpoint.cli.terminal import one_line, printable
from trimpoint.cli.views.age import clock_time, duration
from trimpoint.core.model.asked import APPROVAL, ASKED
from trimpoint.core.model.shell_commands import as_typed, in_one_line, unwrapped

if TYPE_CHECKING:  # most commands show no Markdown
    from markdown_it import MarkdownIt

_MAX_TITLE_CHARS = 300
_LONG_MS = 1000

PROMPT, ANSWER = ("❯", "bold cyan"), ("●", "green")
_ACTIVITIES: dict[str, tuple[str, str]] = {
    "commandExecution": ("$", "yellow"),
    "fileChange": ("✎", "magenta"),
    "mcpToolCall": ("⚒", "blue"),
    "dynamicToolCall": ("⚒", "blue"),
    "webSearch": ("⌕", "blue"),
    "reasoning": ("✻", "dim"),
    "plan": ("☰", "blue"),
    "contextCompaction": ("⇲", "yellow"),
    ASKED: ("?", "cyan"),
}
_OTHER_ACTIVITY = ("·", "dim")


def activity_mark(kind: str) -> tuple[str, str]:
    """Returns the glyph and the style of a kind of activity."""
    return _ACTIVITIES.get(kind, _OTHER_ACTIVITY)


class TurnMark(NamedTuple):
    """The facts about a turn that are shown beside its entries; `when` is a local time."""

    number: int
    when: str
    status: str
    error: str | None


class Marks(NamedTuple):
    """The numbers of trim points and the marks of turns, by id. `rich_text`: whether Markdown is
    rendered.
    """

    trim_points: Mapping[str, int] = {}
    turns: Mapping[str, TurnMark] = {}
    rich_text: bool = False


def turn_marks(turns: Iterable[ThreadTurn]) -> dict[str, TurnMark]:
    """Returns the marks of a thread's turns by turn id; turns are numbered from 1."""
    return {
        turn.id: TurnMark(number, clock_time(turn.started_at), turn.status, turn.error)
        for number, turn in enumerate(turns, 1)
    }


def timeline_rows(entries: Iterable[TimelineEntry], marks: Marks) -> Iterator[RenderableType]:
    """Yields entries, oldest first, as what rich can print."""
    before: TimelineEntry | None = None
    for entry in entries:
        yield from rows_between(before, entry, marks)
        yield timeline_row(entry, marks, is_first=begins_turn(before, entry))
        before = entry
    yield from turn_end(before, marks)


def rows_between(
    before: TimelineEntry | None, entry: TimelineEntry, marks: Marks
) -> Iterator[RenderableType]:
    """Yields what is printed between two entries: the end of the previous turn, and a blank line
    where needed.
    """
    if begins_turn(before, entry):
        yield from turn_end(before, marks)
    if _stands_apart(before, entry):
        yield Text()


def begins_turn(before: TimelineEntry | None, entry: TimelineEntry) -> bool:
    """Returns whether `entry` is the first one of its turn."""
    return _turn_of(entry) != _turn_of(before)


def _turn_of(entry: TimelineEntry | None) -> str | None:
    return entry.turn_id if isinstance(entry, TimelineMessage | TimelineActivity) else None


def turn_end(last: TimelineEntry | None, marks: Marks) -> Iterator[RenderableType]:
    """Yields a line about a turn that failed or was interrupted; nothing if it completed."""
    mark = marks.turns.get(_turn_of(last) or "")
    match mark:
        case TurnMark(status="failed", error=error):
            why = f": {one_line(error, 500)}" if error else ""
            yield with_glyph("✗", "red", Text(f"failed{why}", "red"))
        case TurnMark(status="interrupted"):
            yield with_glyph("■", "yellow", Text("interrupted", "yellow"))
        case TurnMark(status="running"):
            yield with_glyph("…", "yellow", Text("still running", "yellow"))
        case _:
            return


def _stands_apart(before: TimelineEntry | None, entry: TimelineEntry) -> bool:
    """Returns whether a blank line separates two entries: between turns, and between pruned and
    kept entries. A banner stays with the divider below it.
    """
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


def timeline_row(entry: TimelineEntry, marks: Marks, *, is_first: bool) -> RenderableType:
    """Returns an entry as what rich can print; the first one of a turn also shows the turn's number
    and time.
    """
    numbers = marks.trim_points
    match entry:
        case TimelineMessage(role="user"):
            body = Text(printable(entry.text.strip()), "bold")
            mark = marks.turns.get(entry.turn_id) if is_first else None
            aside = Text(f"{mark.number} · {mark.when}", "dim") if mark is not None else None
            return with_glyph(*PROMPT, body, trimmed=entry.trimmed, aside=aside)
        case TimelineMessage():
            return with_glyph(*ANSWER, _answer(entry, marks), trimmed=entry.trimmed)
        case TimelineActivity():
            glyph, style = activity_mark(entry.activity)
            title = Text(activity_words(entry), "dim", no_wrap=True, overflow="ellipsis")
            return with_glyph(
                f"  {glyph}", style, title, trimmed=entry.trimmed, aside=_outcome(entry)
            )
        case ContextSummaryBanner():
            return summary_panel(entry.header, entry.summary)
        case ContextTrimPointDivider():
            number = numbers.get(entry.trim_point_id)
            if entry.trim_kind == "discard":
                return _Divider(
                    f" ◌ {entry.label} · {_taken(entry)} above ",
                    "" if number is None else f" {number} ",
                )
            return divider(entry.label, entry.hidden_message_count, entry.expanded, number)


def _taken(entry: ContextTrimPointDivider) -> str:
    parts = [(entry.hidden_message_count, "taken out"), (entry.masked_count, "masked")]
    return ", ".join(f"{count} {what}" for count, what in parts if count)


def _answer(entry: TimelineMessage, marks: Marks) -> RenderableType:
    text = printable(entry.text.strip())
    if not marks.rich_text or entry.trimmed:
        return Text(text)
    return _markdown(text)


def _markdown(text: str) -> RenderableType:
    from rich.markdown import Markdown

    markdown = Markdown("", hyperlinks=False, code_theme="ansi_dark")
    markdown.markup, markdown.parsed = text, markdown_parser().parse(text)
    return markdown


def markdown_parser() -> "MarkdownIt":
    """Returns a parser of what agents write. What looks like HTML is text, such as the T of
    `List<T>`.
    """
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False}).enable("strikethrough").enable("table")


def activity_words(entry: TimelineActivity) -> str:
    """Returns an activity as one line; a command as the agent typed it."""
    detail = as_dict(entry.detail)
    return display_title(entry.title) if not detail.get("command") else command_line(detail)


def command_line(item: Mapping[str, Any]) -> str:
    """Returns the command of a Codex item as one printable line of limited length."""
    line = printable(in_one_line(as_typed(item)))
    return line if len(line) <= _MAX_TITLE_CHARS else f"{line[: _MAX_TITLE_CHARS - 1]}…"


def display_title(title: str) -> str:
    """Returns an activity's title as one line, without the shell that Codex wraps around a
    command.
    """
    return one_line(unwrapped(title))


def _outcome(entry: TimelineActivity) -> Text | None:
    """Returns how an activity ended, whether a person allowed it, and how long it took; None if it
    succeeded within a second, unasked.
    """
    detail = as_dict(entry.detail)
    took_ms = detail.get("durationMs")
    took = duration(took_ms / 1000) if isinstance(took_ms, int) and took_ms >= _LONG_MS else ""
    took = " · ".join(filter(None, ("allowed" if detail.get(APPROVAL) else "", took)))
    ended = ending_words(detail)
    if not ended:
        return Text(took, "dim") if took else None
    return ended.append(f" · {took}", "dim") if took else ended


def ending_words(detail: Mapping[str, Any]) -> Text:
    """Returns how a Codex item ended; empty if it succeeded."""
    status, code = detail.get("status"), detail.get("exitCode")
    if status == "declined":
        return Text("declined", "yellow")
    if isinstance(code, int) and code:
        return Text(f"exit code {code}", "yellow")
    return Text("failed" if status == "failed" else "", "red")


def with_glyph(
    glyph: str,
    style: str,
    body: RenderableType,
    *,
    trimmed: bool = False,
    aside: Text | None = None,
) -> RenderableType:
    """Returns `body` with a glyph before its first line and the other lines indented to it, and
    `aside` at the right.

    A pruned entry (`trimmed`) has dots before each line.
    """
    grid = Table.grid(padding=(0, 1, 0, 0), expand=True)
    grid.add_column(width=len(glyph))
    grid.add_column(ratio=1)
    if trimmed and isinstance(body, Text):
        body = Text(body.plain, "dim", no_wrap=body.no_wrap, overflow=body.overflow)
        style = "dim"
    row: list[RenderableType] = [Text(glyph, style), body]
    if aside is not None:
        grid.add_column(justify="right", no_wrap=True)
        row.append(aside)
    grid.add_row(*row)
    return _Pruned(grid) if trimmed else grid


class _Pruned:
    """Draws dots at the left of every line of a pruned entry."""

    def __init__(self, inner: RenderableType) -> None:
        self._inner = inner

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        narrower = options.update_width(max(1, options.max_width - 2))
        for line in console.render_lines(self._inner, narrower, pad=False):
            yield Segment("┊ ", Style(dim=True))
            yield from line
            yield Segment.line()


def summary_panel(header: str, summary: str) -> RenderableType:
    """Returns a compaction's summary in a frame."""
    return Panel(
        Text(printable(summary.strip())),
        title=header,
        title_align="left",
        border_style="cyan",
        padding=(0, 1),
    )


def divider(label: str, pruned: int, expanded: bool, number: int | None = None) -> RenderableType:
    """Returns the line at a trim point: above it are the pruned entries, below it those still in
    the agent's context.
    """
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
