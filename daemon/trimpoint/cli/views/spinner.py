"""A spinner that shows what the command waits for, and for how long."""

import time

from rich.console import Console
from rich.status import Status
from rich.text import Text

from trimpoint.cli.views.age import duration


class Spinner:
    """A spinner on a terminal, shown while nothing else is printed. `doing` is its text and can be
    changed at any time.
    """

    def __init__(self, console: Console, doing: str) -> None:
        self.doing = doing
        self._began = time.monotonic()
        self._status = Status(self, console=console)

    def __rich__(self) -> Text:
        return Text(f"{self.doing} … {duration(time.monotonic() - self._began)}", "dim")

    def show(self) -> None:
        """Shows the spinner if it is hidden."""
        self._status.start()

    def hide(self) -> None:
        """Hides the spinner so that a line can be printed."""
        self._status.stop()
