"""The keys, on a screen of their own."""

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from trimpoint.tui.model.keys import KEYS


class HelpScreen(ModalScreen[None]):
    """Any key closes it, but for those that scroll."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter,question_mark,f1", "close", show=False, priority=True),
    ]

    def compose(self) -> ComposeResult:
        """Yields the table of keys."""
        with VerticalScroll(classes="picker"):
            yield Static(_table())

    def action_close(self) -> None:
        """Closes it."""
        self.dismiss(None)


def _table() -> Text:
    width = max(len(keys) for _, rows in KEYS for keys, _ in rows)
    text = Text()
    for heading, rows in KEYS:
        text.append(f"{heading}\n", "bold")
        for keys, what in rows:
            text.append(f"  {keys:<{width}}  ", "cyan").append(f"{what}\n")
    text.append("Esc closes", "bright_black")
    return text
