"""Screens to read: the keys, or a text that is too long for the lines above the composer."""

from typing import ClassVar

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from trimpoint.tui.model.clicks import keyed
from trimpoint.tui.model.keys import KEYS
from trimpoint.tui.widgets.key_line import KeyLine

_MARGIN = 8


class ReadScreen(ModalScreen[None]):
    """A screen that shows something to read and scrolls it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter,question_mark,f1,ctrl+o", "close", show=False, priority=True),
    ]

    def __init__(self, content: RenderableType) -> None:
        super().__init__()
        self._content = content

    def compose(self) -> ComposeResult:
        """Yields what is read."""
        with Vertical(classes="picker"):
            with VerticalScroll():
                yield Static(self._content)
            yield KeyLine(keyed("Esc closes", "dim"), classes="picker-keys")

    def action_close(self) -> None:
        """Closes the screen."""
        self.dismiss(None)


def table_of_keys(columns: int) -> Group:
    """Returns the keys with what they do; where there are few columns, in a line of its own."""
    parts: list[RenderableType] = []
    width = max(len(keys) for _, rows in KEYS for keys, _ in rows)
    is_narrow = columns < 2 * width + _MARGIN
    for heading, rows in KEYS:
        table = Table.grid()
        table.add_column(width=None if is_narrow else width + 3)
        table.add_column(ratio=1)
        for keys, what in rows:
            head = Text(f"  {keys}", "cyan")
            if is_narrow:
                table.add_row(Group(head, Padding(Text(what), (0, 0, 0, 4))))
            else:
                table.add_row(head, Text(what))
        parts += [Text(heading, "bold"), table, Text()]
    return Group(*parts[:-1])
