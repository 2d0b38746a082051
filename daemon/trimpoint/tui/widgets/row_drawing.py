"""Draws rows of the transcript as styled lines and caches them."""

from typing import NamedTuple

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.strip import Strip
from trimpoint_protocol.readmodel import (
    ContextSummaryBanner,
    ContextTrimPointDivider,
    TimelineActivity,
    TimelineEntry,
    TimelineMessage,
)

from trimpoint.cli.terminal import MARKDOWN
from trimpoint.cli.views.age import clock_time
from trimpoint.cli.views.timeline_view import (
    Marks,
    TurnMark,
    begins_turn,
    rows_between,
    summary_panel,
    timeline_row,
    turn_end,
)
from trimpoint.core.model.decision import counted
from trimpoint.tui.model.details import (
    Detail,
    changed_in,
    details,
    output_begun,
    short_summary,
    shown_prompt,
)
from trimpoint.tui.model.spots import opening
from trimpoint.tui.model.streaming import settled
from trimpoint.tui.model.transcript import key_of

MAX_KEPT = 600
_LOOKS = {
    "plain": "dim",
    "added": "green",
    "removed": "red",
    "place": "cyan",
    "dim": "dim",
}
_NOT_DRAWN = "✗ This entry cannot be drawn. The timeline command may show more of it."
_SEALED = "The provider keeps this summary sealed; it cannot be shown."


class Place(NamedTuple):
    """A row and everything that its drawing depends on; `before` is the entry above it."""

    entry: TimelineEntry
    before: TimelineEntry | None
    mark: TurnMark | None
    mark_before: TurnMark | None
    is_open: bool
    is_last: bool
    is_live: bool


class RowDrawing:
    """Draws rows for one width; rows that have not changed come from a cache."""

    def __init__(self) -> None:
        self.folder = ""
        self._width = 0
        self._kept: dict[str, tuple[Place, list[Strip]]] = {}
        self._settled: tuple[str, list[Strip]] = ("", [])
        self._console = Console(
            width=80, force_terminal=True, color_system="truecolor", highlight=False, markup=False,
            emoji=False, legacy_windows=False, theme=MARKDOWN,
        )  # fmt: skip

    def lines(self, place: Place, width: int) -> list[Strip]:
        """Returns the lines of a row, at least one."""
        if width != self._width:
            self._width = width
            self._kept.clear()
            self._settled = ("", [])
        key = key_of(place.entry)
        kept = self._kept.get(key)
        if kept is not None and kept[0] == place:
            return kept[1]
        try:
            lines = self._drawn(place) or [Strip.blank(0)]
        except Exception:
            lines = [Strip([Segment(_NOT_DRAWN, Style(color="red"))])]
        self._kept.pop(key, None)
        self._kept[key] = (place, lines)
        if len(self._kept) > MAX_KEPT:
            del self._kept[next(iter(self._kept))]
        return lines

    def _drawn(self, place: Place) -> list[Strip]:
        is_over = place.mark is not None and place.mark.status != "running"
        if place.is_live and not is_over and isinstance(place.entry, TimelineMessage):
            return self._streamed(place, place.entry)
        if isinstance(place.entry, TimelineActivity) and place.entry.activity == "fileChange":
            place = place._replace(entry=changed_in(place.entry, self.folder))
        return self._strips(Group(*_parts(place)))

    def _streamed(self, place: Place, entry: TimelineMessage) -> list[Strip]:
        """Draws a streamed answer; only the part that can still change is rendered again."""
        end = settled(entry.text)
        begun = f"{entry.id} {entry.text[:end]}"
        if self._settled[0] != begun:
            shown = _with_text(entry, entry.text[:end])
            self._settled = (begun, self._strips(Group(*_parts(place._replace(entry=shown)))))
        if not end:
            return self._strips(Group(*_parts(place)))
        rest = _with_text(entry, entry.text[end:])
        if not rest.text.strip():
            return self._settled[1]
        tail = self._strips(timeline_row(rest, _marks(place), is_first=False))
        return [*self._settled[1], Strip.blank(0), *(_without_glyph(line) for line in tail)]

    def _strips(self, renderable: RenderableType) -> list[Strip]:
        options = self._console.options.update(width=max(8, self._width), height=None)
        rows = self._console.render_lines(renderable, options, pad=False)
        strips = [Strip(_without_tail(row)) for row in rows]
        # Markdown puts blank lines around and inside of code blocks.
        return [
            strip for at, strip in enumerate(strips)
            if strip.text.strip() or at == 0 or strips[at - 1].text.strip()
        ]  # fmt: skip


def _with_text(entry: TimelineMessage, text: str) -> TimelineMessage:
    return TimelineMessage(
        id=entry.id, turn_id=entry.turn_id, role=entry.role, text=text,
        created_at=entry.created_at, trimmed=entry.trimmed, trim_point_id=entry.trim_point_id,
    )  # fmt: skip


def _without_glyph(line: Strip) -> Strip:
    segments = list(line)
    if segments and segments[0].text.strip() in {"●", "❯"}:
        segments[0] = Segment(" " * segments[0].cell_length)
    return Strip(segments)


def _without_tail(row: list[Segment]) -> list[Segment]:
    """Removes spaces at the end of a line, so that they are not copied."""
    kept = [segment for segment in row if segment.text != "\n"]
    while kept and not kept[-1].text.strip() and not (kept[-1].style and kept[-1].style.bgcolor):
        kept.pop()
    return kept


def _parts(place: Place) -> list[RenderableType]:
    entry, before, marks = place.entry, place.before, _marks(place)
    parts = list(rows_between(before, entry, marks))
    is_first = begins_turn(before, entry)
    match entry:
        case ContextSummaryBanner():
            parts.append(_banner(entry, is_open=place.is_open))
        case TimelineMessage(role="user"):
            shown = shown_prompt(entry.text, is_open=place.is_open)
            entry = entry if shown == entry.text else _with_text(entry, shown)
            parts.append(timeline_row(entry, marks, is_first=is_first))
        case ContextTrimPointDivider() | TimelineMessage():
            parts.append(timeline_row(entry, marks, is_first=is_first))
        case TimelineActivity():
            parts.append(timeline_row(entry, marks, is_first=is_first))
            if lines := details(entry) if place.is_open else output_begun(entry):
                parts.append(_detail_lines(lines, is_wrapped=place.is_open))
    if place.is_last and place.mark and place.mark.status != "running":
        parts += turn_end(entry, marks)
    return parts


def _marks(place: Place) -> Marks:
    turns: dict[str, TurnMark] = {}
    if isinstance(place.before, TimelineMessage | TimelineActivity) and place.mark_before:
        turns[place.before.turn_id] = place.mark_before
    if isinstance(place.entry, TimelineMessage | TimelineActivity) and place.mark:
        when = clock_time(place.entry.created_at)
        turns[place.entry.turn_id] = place.mark._replace(when=when)
    return Marks(turns=turns, rich_text=True)


def _banner(entry: ContextSummaryBanner, *, is_open: bool) -> RenderableType:
    short, left_out = short_summary(entry.summary)
    if is_open or not left_out:
        return summary_panel(f"{'▾ ' if left_out else ''}{entry.header}", entry.summary or _SEALED)
    return summary_panel(f"▸ {entry.header} · {counted(left_out, 'more line')}", short)


def _detail_lines(found: list[Detail], *, is_wrapped: bool) -> RenderableType:
    lines = Text(no_wrap=not is_wrapped, overflow=None if is_wrapped else "ellipsis")
    for number, detail in enumerate(found):
        style = Style.parse(_LOOKS[detail.look])
        if detail.spot is not None:
            style += opening(detail.spot)
        lines.append("\n" if number else "").append(detail.text, style)
    return Padding(lines, (0, 0, 0, 4))
