"""Where in the history one is: scrolling by keys, by the wheel and by the scroll bar, over what is
loaded and what is not.
"""

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.message import Message
from textual.widget import Widget
from trimpoint_protocol.readmodel import TimelineEntry

from trimpoint.tui.model.scroll_bar import ScrollBar
from trimpoint.tui.model.state import ChatState
from trimpoint.tui.model.viewport import Line, Viewport

SCROLLBAR = 1
_NEAR_TOP = 20
_WHEEL_LINES = 3
_THUMB, _TRACK = Style(dim=True), Style.null()


class TranscriptScrolling(Widget):
    """The base of the history. It shows `_shown` of `_rows`, the first of which are recorded, and
    asks for pages by messages.
    """

    class Older(Message):
        """Posted when the page before the loaded entries is needed."""

    class Newer(Message):
        """Posted when the page behind the loaded entries is needed."""

    class Around(Message):
        """Posted when the entries around a place of the thread are needed."""

        def __init__(self, place: int) -> None:
            super().__init__()
            self.place = place

    class Newest(Message):
        """Posted when the newest page is needed again after it was dropped."""

    def __init__(self, state: ChatState) -> None:
        super().__init__(id="transcript")
        self._state = state
        self._viewport = Viewport()
        self._rows: list[TimelineEntry] = []
        self._live_from = 0
        self._shown: list[Line] = []
        self._goal: int | None = None
        """The place to go to as soon as it is loaded."""
        self._is_dragged = False
        self._was_at_end = self._wants_end = False

    def __len__(self) -> int:
        return len(self._rows)

    def __bool__(self) -> bool:
        return True

    def height(self, row: int) -> int:
        """Returns the number of lines of a row."""
        raise NotImplementedError

    def scroll_lines(self, lines: int) -> None:
        """Scrolls by lines; requests older pages near the beginning of the loaded entries."""
        if not self._rows:
            return
        self.screen.clear_selection()
        self._goal, self._wants_end = None, False
        self._viewport.scroll(self, self.size.height, lines)
        self._want_pages()
        self.refresh()

    def scroll_page(self, pages: int) -> None:
        """Scrolls by screens; two lines stay visible."""
        self.scroll_lines(pages * max(1, self.size.height - 2))

    def go_to(self, place: int) -> None:
        """Scrolls to a place of the thread, which is loaded if need be."""
        self._goal, self._wants_end = place, False
        if not self._show_place(place):
            self.post_message(self.Around(place))

    def _show_place(self, place: int) -> bool:
        row = place - self._state.transcript.first
        if not 0 <= row < len(self._rows):
            return False
        self._goal = None
        self._viewport.top, self._viewport.follows = Line(row, 0), False
        self._want_pages()
        self.refresh()
        return True

    def to_end(self) -> None:
        """Scrolls to the end and follows it."""
        self._goal, self._wants_end = None, not self._state.transcript.is_at_end
        if self._wants_end:
            self.post_message(self.Newest())
        self._viewport.to_end()
        self.refresh()

    @property
    def _follows(self) -> bool:
        """Returns whether what is added is to come into sight: not what is added to a piece of the
        thread that is not its end.
        """
        is_end = self._was_at_end and self._state.transcript.is_at_end
        return self._viewport.follows and (is_end or self._wants_end)

    def _want_pages(self) -> None:
        transcript, top = self._state.transcript, self._viewport.top.row
        if top < _NEAR_TOP and transcript.has_older:
            self.post_message(self.Older())
        if not transcript.is_at_end:
            self._viewport.follows = False  # this is not the end
            if top + self.size.height + _NEAR_TOP > len(self._rows):
                self.post_message(self.Newer())

    def on_mouse_down(self, event: events.MouseDown) -> None:
        if event.button == 1 and event.x == self.size.width - SCROLLBAR and self._has_bar:
            event.stop()
            self._is_dragged = True
            self.capture_mouse()
            # Textual takes any place without text for the beginning of a selection.
            self.screen._selecting = False  # pyright: ignore[reportPrivateUsage]
            self._drag(event.y)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self._is_dragged:
            self._drag(event.y)

    def on_mouse_up(self) -> None:
        if self._is_dragged:
            self._is_dragged = False
            self.release_mouse()
            if self._goal is not None:
                self.go_to(self._goal)

    def _drag(self, y: int) -> None:
        """Goes to where the scroll bar says; what is not loaded is loaded when it is let go."""
        place = self._bar.row_at(y)
        if place is None:
            self.to_end()
        elif not self._show_place(place):
            self._goal = place
            self.refresh()

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.scroll_lines(-_WHEEL_LINES)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.scroll_lines(_WHEEL_LINES)

    def scroll_bar(self, y: int) -> Segment:
        """Returns a line of the scroll bar."""
        if not self._has_bar:
            return Segment(" ", _TRACK)
        first, last = self._at(self._shown[0]), self._at(self._shown[-1], is_end=True)
        if self._goal is not None:
            first, last = self._goal, self._goal + last - first
        return Segment("▐", _THUMB) if y in self._bar.thumb(first, last) else Segment(" ", _TRACK)

    @property
    def _has_bar(self) -> bool:
        return 0 < self.size.height <= len(self._shown)

    @property
    def _bar(self) -> ScrollBar:
        transcript = self._state.transcript
        live = len(self._rows) - self._live_from
        return ScrollBar(self.size.height, max(transcript.count, transcript.end) + live)

    def _at(self, line: Line, *, is_end: bool = False) -> float:
        """Returns the place of a line in the thread, as a row and a part of it."""
        part = (line.line + is_end) / self.height(line.row)
        return self._state.transcript.first + line.row + part
