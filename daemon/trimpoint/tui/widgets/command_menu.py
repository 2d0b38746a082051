"""The menu of slash commands, or of files, above the composer."""

from rich.text import Text
from textual import events
from textual.message import Message
from textual.widgets import Static
from trimpoint_protocol.methods import CommandInfo

from trimpoint.cli.terminal import one_line
from trimpoint.tui.model.popup import FileMenu, Popup

_MENU_ROWS = 8
_WHEEL = 3


class CommandMenu(Static):
    """The menu, in which a click chooses and a second one takes."""

    _popup, _width = Popup(), 0

    class Taken(Message):
        """Posted when the chosen row was clicked."""

    def show(self, popup: Popup, width: int) -> None:
        """Draws the menu, or hides it."""
        self.display = popup.is_open
        self._popup, self._width = popup, width
        if popup.is_open:
            self.update(menu_text(popup, width))

    def on_click(self, event: events.Click) -> None:
        """Chooses the row under the mouse, and takes it where it is chosen already."""
        at = event.get_content_offset(self)
        if at is None:
            return
        row = first_row(self._popup) + at.y
        if row == self._popup.chosen:
            self.post_message(self.Taken())
        else:
            self._move(row - self._popup.chosen)

    def on_mouse_scroll_up(self) -> None:
        self._move(-min(_WHEEL, self._popup.chosen))

    def on_mouse_scroll_down(self) -> None:
        self._move(min(_WHEEL, len(self._popup.commands) - 1 - self._popup.chosen))

    def _move(self, step: int) -> None:
        self._popup.move(step)
        self.show(self._popup, self._width)


def first_row(popup: Popup) -> int:
    """Returns the first row of the menu that is shown."""
    return max(0, min(popup.chosen - _MENU_ROWS // 2, len(popup.commands) - _MENU_ROWS))


def menu_text(popup: Popup, width: int) -> Text:
    """Returns the lines of the menu around the chosen row."""
    commands = popup.commands
    first = first_row(popup)
    shown = list(enumerate(commands))[first : first + _MENU_ROWS]
    widest = max(len(one_line(command.usage)) for _, command in shown)
    column = min(widest, width if isinstance(popup, FileMenu) else width // 3)
    lines = [_menu_line(command, column, is_chosen=at == popup.chosen) for at, command in shown]
    for line in lines:
        line.truncate(width, overflow="ellipsis")
    return Text("\n").join(lines)


def _menu_line(command: CommandInfo, column: int, *, is_chosen: bool) -> Text:
    usage = one_line(command.usage)
    usage = usage if len(usage) <= column else f"{usage[: column - 1]}…"
    return Text.assemble(
        ("❯ " if is_chosen else "  ", "bold cyan"),
        (f"{usage:<{column}}  ", "bold cyan" if is_chosen else "cyan"),
        (one_line(command.summary), "" if is_chosen else "dim"),
    )
