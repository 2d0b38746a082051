"""A screen with a list to choose from, filtered by typed text."""

from typing import ClassVar, Generic, TypeVar

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from trimpoint.tui.model.choosing import Choosing, Option, rows_around
from trimpoint.tui.model.clicks import keyed
from trimpoint.tui.widgets.key_line import KeyLine

T = TypeVar("T")
R = TypeVar("R")
_PAGE = 10
_WHEEL = 3


class Picker(ModalScreen[R], Generic[T, R]):
    """The base of lists to choose from. Subclasses define how a value is drawn and what Enter
    does.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", show=False, priority=True),
        Binding("up", "move(-1)", show=False, priority=True),
        Binding("down", "move(1)", show=False, priority=True),
        Binding("pageup", f"move(-{_PAGE})", show=False, priority=True),
        Binding("pagedown", f"move({_PAGE})", show=False, priority=True),
        Binding("enter", "take", show=False, priority=True),
    ]

    def __init__(self, title: str, placeholder: str) -> None:
        super().__init__()
        self.choosing: Choosing[T] = Choosing()
        self._title = title
        self._empty = "loading …"
        self._input = Input(placeholder=placeholder, compact=True, classes="picker-input")
        self._heading = Static(classes="picker-heading")
        self._rows = Static(classes="picker-rows")
        self._keys = KeyLine(classes="picker-keys")

    def compose(self) -> ComposeResult:
        """Yields the heading, the filter, the rows and the line of keys."""
        with Vertical(classes="picker"):
            yield self._heading
            yield self._input
            yield self._rows
            yield self._keys

    def on_mount(self) -> None:
        self._input.focus()
        self.draw()

    def on_resize(self) -> None:
        self.call_after_refresh(self.draw)

    def offer(self, options: list[Option[T]], empty: str) -> None:
        """Replaces the options; `empty` is the text for an empty list."""
        self._empty = empty
        self.choosing.offer(options)
        self.draw()

    def heading(self) -> Text:
        """Returns the line above the filter."""
        return Text(self._title, "bold")

    def row(self, value: T, width: int) -> Text:
        """Returns a value as one line."""
        raise NotImplementedError

    def keys(self) -> str:
        """Returns the line that explains the keys."""
        raise NotImplementedError

    def take(self, value: T) -> None:
        """Handles Enter on a value."""
        raise NotImplementedError

    def draw(self) -> None:
        """Draws the rows around the chosen one."""
        self._heading.update(self.heading())
        keys = keyed(self.keys(), "dim")
        keys.no_wrap, keys.overflow = True, "ellipsis"
        self._keys.update(keys)
        height, width = max(1, self._rows.size.height), max(10, self._rows.size.width)
        shown, chosen = self.choosing.shown, self.choosing.chosen
        lines = [
            self._line(option.value, width, is_chosen=at == chosen)
            for at, option in rows_around(shown, chosen, height)
        ]
        empty = "Nothing matches." if self._input.value and self.choosing.count else self._empty
        self._rows.update(Text("\n").join(lines) if lines else Text(empty, "dim"))

    def _line(self, value: T, width: int, *, is_chosen: bool) -> Text:
        line = Text(no_wrap=True).append("❯ " if is_chosen else "  ", "bold cyan")
        line.append_text(self.row(value, width - 2))
        line.truncate(width, overflow="ellipsis", pad=True)
        if is_chosen:
            line.stylize("bold")
        return line

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.choosing.type(event.value)
        self.draw()

    def on_click(self, event: events.Click) -> None:
        """Chooses the row under the mouse, and takes it where it is chosen already."""
        at = event.get_content_offset(self._rows)
        if at is None or not self._input.display:
            return
        choosing, height = self.choosing, max(1, self._rows.size.height)
        rows = rows_around(choosing.shown, choosing.chosen, height)
        if at.y < len(rows) and rows[at.y][0] == choosing.chosen:
            self.action_take()
        elif at.y < len(rows):
            self.action_move(rows[at.y][0] - choosing.chosen)

    def on_mouse_scroll_up(self) -> None:
        self.action_move(-_WHEEL)

    def on_mouse_scroll_down(self) -> None:
        self.action_move(_WHEEL)

    def action_move(self, step: int) -> None:
        """Moves the choice by `step` rows."""
        self.choosing.move(step)
        self.draw()

    def action_take(self) -> None:
        """Handles Enter on the chosen value."""
        if (choice := self.choosing.choice) is not None:
            self.take(choice)

    def action_close(self) -> None:
        """Closes the list without a choice."""
        self.dismiss(None)


def columns(left: Text, right: Text, width: int) -> Text:
    """Returns two texts on one line, the second one aligned to the right; the first one is
    shortened to fit.
    """
    room = max(4, width - right.cell_len - 2)
    left.truncate(room, overflow="ellipsis", pad=True)
    return left.append("  ").append_text(right)
