"""The history, drawn line by line: only visible rows are laid out."""

from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region
from textual.message import Message
from textual.selection import Selection
from textual.strip import Strip
from trimpoint_protocol.readmodel import (
    ContextSummaryBanner,
    ContextTrimPointDivider,
    TimelineActivity,
    TimelineEntry,
    TimelineMessage,
)

from trimpoint.cli.views.timeline_view import TurnMark
from trimpoint.tui.model.details import can_open, text_of
from trimpoint.tui.model.spots import Spot, first_spot, spot_clicked
from trimpoint.tui.model.state import ChatState
from trimpoint.tui.model.transcript import key_of
from trimpoint.tui.model.viewport import Line
from trimpoint.tui.widgets.row_drawing import Place, RowDrawing
from trimpoint.tui.widgets.transcript_scrolling import SCROLLBAR, TranscriptScrolling

_GUTTER = 1
_LEFT, _RIGHT = 1, 3
_CHOSEN = Style(color="cyan", bold=True)
_WELCOME = (
    Segment(""),
    Segment("trimpoint", Style(color="cyan", bold=True)),
    Segment(""),
    Segment("Ask below; @ names a file."),
    Segment("Make room: /clear, /compact; /undo."),
    Segment("Go back: Alt+Z, with a preview."),
    Segment(""),
    Segment("All stays readable. ? shows the keys.", Style(dim=True)),
)


class TranscriptView(TranscriptScrolling, can_focus=True):
    """Draws the recorded and the live entries. `chosen` is the key of the selected row."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "choose(-1)", "Row up", show=False),
        Binding("down", "choose(1)", "Row down", show=False),
        Binding("enter", "fold", "Open", show=False),
        Binding("ctrl+y", "copy", "Copy", show=False),
        Binding("home", "start", "Start", show=False),
        Binding("end", "end", "End", show=False),
    ]

    class Toggled(Message):
        """Posted when the pruned entries of a trim point are to be shown or hidden."""

        def __init__(self, trim_point_id: str) -> None:
            super().__init__()
            self.trim_point_id = trim_point_id

    class Typed(Message):
        """Posted when a character was typed here that belongs into the composer."""

        def __init__(self, character: str) -> None:
            super().__init__()
            self.character = character

    class Turn(Message):
        """Posted when the person wants to do something with a turn."""

        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number

    class Opened(Message):
        """Posted when a file is to be opened in the person's editor."""

        def __init__(self, spot: Spot) -> None:
            super().__init__()
            self.spot = spot

    class Copied(Message):
        """Posted when the text of a row is to be copied."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self, state: ChatState) -> None:
        super().__init__(state)
        self._drawing = RowDrawing()
        self._opened: set[str] = set()
        self._chosen: str | None = None
        self._shown_thread: str | None = None
        self._seen: tuple[str | None, int] = (None, 0)

    # --- rows -----------------------------------------------------------------------------------

    def height(self, row: int) -> int:
        """Returns the number of lines of a row."""
        return len(self._lines(row))

    def _lines(self, row: int) -> list[Strip]:
        width = self.size.width - _GUTTER - SCROLLBAR
        return self._drawing.lines(self._place(row), width)

    def _place(self, row: int) -> Place:
        entry = self._rows[row]
        before = self._rows[row - 1] if row > 0 else None
        return Place(
            entry, before, self._mark(entry), self._mark(before), key_of(entry) in self._opened,
            is_last=row == len(self._rows) - 1, is_live=row >= self._live_from,
        )  # fmt: skip

    def _mark(self, entry: TimelineEntry | None) -> TurnMark | None:
        if isinstance(entry, TimelineMessage | TimelineActivity):
            return self._state.marks.get(entry.turn_id)
        return None

    def take_state(self) -> None:
        """Draws the current state and keeps the scroll position."""
        state, anchor = self._state, self._anchor()
        self._drawing.folder = state.folder
        recorded = state.transcript.entries
        self._rows, self._live_from = [*recorded, *state.live_entries], len(recorded)
        if self._shown_thread != state.thread_id:
            self._shown_thread, self._chosen, self._goal = state.thread_id, None, None
            self._viewport.to_end()
        elif anchor is not None and not self._follows:
            self._viewport.follows = False
            self._keep(anchor)
        if self._goal is not None and not self._is_dragged:
            self._show_place(self._goal)
        self._was_at_end = state.transcript.is_at_end
        self._wants_end = self._wants_end and not self._was_at_end
        if self._viewport.follows:
            self._seen = self._newest
        self.refresh()

    @property
    def _newest(self) -> tuple[str | None, int]:
        last = key_of(self._rows[-1]) if self._rows else None
        return last, self._state.transcript.count

    @property
    def is_behind(self) -> bool:
        """Returns whether something new is below what is in sight."""
        (key, count), (seen_key, seen_count) = self._newest, self._seen
        is_new = key != seen_key if self._state.transcript.is_at_end else count > seen_count
        return is_new and not self._viewport.follows

    def _anchor(self) -> tuple[str, int] | None:
        top = self._viewport.top
        if top.row >= len(self._rows):
            return None
        return key_of(self._rows[top.row]), top.line

    def _keep(self, anchor: tuple[str, int]) -> None:
        key, line = anchor
        row = self._row_of(key)
        if row is not None:
            self._viewport.top = Line(row, min(line, self.height(row) - 1))
        elif self._state.transcript.is_at_end:
            self._viewport.to_end()
        else:
            self._viewport.top = Line(0, 0)

    def _row_of(self, key: str | None) -> int | None:
        return next((row for row, entry in enumerate(self._rows) if key_of(entry) == key), None)

    # --- drawing --------------------------------------------------------------------------------

    def render_lines(self, crop: Region) -> list[Strip]:
        """Returns the lines of a region, after computing which lines are visible."""
        self._shown = self._viewport.visible(self, self.size.height)
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        """Returns one line of the screen."""
        width = self.size.width
        if not self._rows and y < len(_WELCOME) and self._state.thread_id is None:
            return Strip([Segment(" "), _WELCOME[y]]).adjust_cell_length(width)
        if y >= len(self._shown):
            return Strip.blank(width)
        row, line = self._shown[y]
        strip = self._lines(row)[line]
        gutter = Segment("▌", _CHOSEN) if self._is_chosen(row) else Segment(" ")
        body = Strip([gutter, *strip]).adjust_cell_length(width - SCROLLBAR)
        selection = self.text_selection
        if selection is not None and (span := selection.get_span(y)) is not None:
            body = self._selected(body, *span)
        return Strip([*body.apply_offsets(0, y), self.scroll_bar(y)])

    def _is_chosen(self, row: int) -> bool:
        return self.has_focus and key_of(self._rows[row]) == self._chosen

    def _selected(self, strip: Strip, start: int, end: int) -> Strip:
        last = strip.cell_length if end == -1 else min(end, strip.cell_length)
        inside = strip.crop(start, last).apply_style(Style(reverse=True))
        return Strip([*strip.crop(0, start), *inside, *strip.crop(last)])

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Returns the text that was selected with the mouse."""
        lines = ["" + self._lines(row)[line].text for row, line in self._shown]
        text = "\n".join(f" {line}".rstrip() for line in lines)
        return selection.extract(text), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        """Redraws after the selection has changed."""
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        if event.x >= self.size.width - SCROLLBAR:
            return
        if event.y >= len(self._shown) or self.screen.get_selected_text():
            return
        is_pressed_once = event.button == _LEFT and event.chain == 1
        if is_pressed_once and (spot := spot_clicked(event.style)) is not None:
            self.post_message(self.Opened(spot))
            return
        entry = self._rows[self._shown[event.y].row]
        is_again = key_of(entry) == self._chosen
        self._choose_row(self._shown[event.y].row)
        mark = self._mark(entry)
        is_prompt = isinstance(entry, TimelineMessage) and entry.role == "user"
        if mark is not None and (event.button == _RIGHT or (is_prompt and is_again)):
            self.post_message(self.Turn(mark.number))
        elif isinstance(entry, ContextTrimPointDivider | ContextSummaryBanner | TimelineActivity):
            self.action_fold()

    @property
    def chosen_turn(self) -> int | None:
        """Returns the number of the turn of the chosen row, while the keys are here."""
        row = self._row_of(self._chosen) if self.has_focus else None
        mark = None if row is None else self._mark(self._rows[row])
        return None if mark is None else mark.number

    @property
    def chosen_spot(self) -> Spot | None:
        """Returns where the change of the chosen row begins, while the keys are here."""
        row = self._row_of(self._chosen) if self.has_focus else None
        return None if row is None else first_spot(self._rows[row])

    def on_focus(self) -> None:
        if self._row_of(self._chosen) is None and self._rows:
            self._choose_row(self._shown[-1].row if self._shown else len(self._rows) - 1)

    def on_key(self, event: events.Key) -> None:
        if event.is_printable and event.character is not None:
            event.stop()
            self.post_message(self.Typed(event.character))

    def show_entry(self, key: str) -> None:
        """Scrolls to an entry and selects it."""
        row = self._row_of(key)
        if row is not None:
            self._choose_row(row)

    def _choose_row(self, row: int) -> None:
        self._chosen = key_of(self._rows[row])
        self._goal, self._wants_end = None, False
        self._viewport.show(self, self.size.height, row)
        self._want_pages()
        self.refresh()

    def to_end(self) -> None:
        """Scrolls to the end and follows it."""
        super().to_end()
        self._chosen = None

    # --- keys -----------------------------------------------------------------------------------

    def action_choose(self, step: int) -> None:
        """Selects the row `step` rows away."""
        at = self._row_of(self._chosen)
        if self._rows:
            last = len(self._rows) - 1
            self._choose_row(last if at is None else max(0, min(last, at + step)))

    def action_fold(self) -> None:
        """Opens or closes the selected row."""
        row = self._row_of(self._chosen)
        if row is not None:
            self.toggle(self._rows[row])

    def toggle(self, entry: TimelineEntry) -> None:
        """Opens or closes a row."""
        if not can_open(entry):
            return
        if isinstance(entry, ContextTrimPointDivider):
            self.post_message(self.Toggled(entry.trim_point_id))
            return
        self._opened.symmetric_difference_update({key_of(entry)})
        self.refresh()

    def toggle_last(self) -> None:
        """Opens or closes the last visible row that can be opened."""
        for row in sorted({line.row for line in self._shown}, reverse=True):
            if can_open(self._rows[row]):
                self.toggle(self._rows[row])
                return

    def action_copy(self) -> None:
        """Copies the text of the selected row."""
        row = self._row_of(self._chosen)
        if row is not None:
            self.post_message(self.Copied(text_of(self._rows[row])))

    def action_start(self) -> None:
        """Selects the first loaded row and requests earlier ones."""
        if self._rows:
            self._choose_row(0)

    def action_end(self) -> None:
        """Selects the last row."""
        self.to_end()
        if self._rows:
            self._choose_row(len(self._rows) - 1)
