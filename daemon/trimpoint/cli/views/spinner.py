"""A spinner that says what is being waited for, and for how long."""

import time

from rich.console import Console
from rich.status import Status
from rich.text import Text

from trimpoint.cli.views.age import duration


class Spinner:
    """Shown while nothing else is to be seen; on a terminal only. `doing` may be set anew at any
    time.
    """

    def __init__(self, console: Console, doing: str) -> None:
        self.doing = doing
        self._began = time.monotonic()
        self._status = Status(self, console=console)

    def __rich__(self) -> Text:
        return Text(f"{self.doing} … {duration(time.monotonic() - self._began)}", "dim")

    def show(self) -> None:
        """Show it, if it is not there."""
        self._status.start()

    def hide(self) -> None:
        """Make way for a line."""
        self._status.stop()
