"""The help screen with the table of keys."""

from typing import ClassVar

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from trimpoint.tui.model.keys import KEYS


class HelpScreen(ModalScreen[None]):
    """The help screen. Any key closes it, except those that scroll."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter,question_mark,f1", "close", show=False, priority=True),
    ]

    def compose(self) -> ComposeResult:
        """Yields the table of keys."""
        with VerticalScroll(classes="picker"):
            yield Static(_table())

    def action_close(self) -> None:
        """Closes the screen."""
        self.dismiss(None)


def _table() -> Group:
    parts: list[RenderableType] = []
    width = max(len(keys) for _, rows in KEYS for keys, _ in rows)
    for heading, rows in KEYS:
        table = Table.grid()
        table.add_column(width=width + 3)
        table.add_column(ratio=1)
        for keys, what in rows:
            table.add_row(Text(f"  {keys}", "cyan"), Text(what))
        parts += [Text(heading, "bold"), table, Text()]
    return Group(*parts, Text("Esc closes", "bright_black"))
