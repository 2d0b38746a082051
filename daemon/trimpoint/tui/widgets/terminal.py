"""What terminals do that Textual does not know of."""

import os
import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager
from enum import Enum
from types import FrameType
from typing import Any, cast

from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual.app import App
from textual.geometry import Offset
from textual.widget import Widget
from textual.widgets import Input, TextArea


class _Keys(Enum):
    ALT_ENTER = "alt+enter"


def learn_keys() -> None:
    """Teaches Textual Alt+Enter, which it takes for Enter where a terminal sends it as Escape and
    Enter (measured: 8.2).
    """
    sequences = cast("dict[str, Any]", ANSI_SEQUENCES_KEYS)
    sequences["\x1b\r"] = (_Keys.ALT_ENTER,)


@contextmanager
def ended_by_sigterm(app: App[None]) -> Generator[None]:
    """Has SIGTERM end the application as its own key does, until the block ends: Textual would
    leave the terminal as it is while it runs.
    """
    before = signal.getsignal(signal.SIGTERM)

    def end(number: int, _frame: FrameType | None) -> None:
        if app.is_running:
            app.call_later(app.exit, return_code=128 + number)
        else:
            signal.signal(number, before)
            os.kill(os.getpid(), number)

    if before is not signal.SIG_IGN:
        signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class TerminalCursor:
    """Keeps the terminal's own cursor at the place of typing: it is visible on every ground, and it
    is where input methods open their windows.

    :param write: writes to the terminal.
    """

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._is_shown: bool | None = None
        self._at = Offset(-1, -1)

    def follow(self, focused: Widget | None) -> Offset | None:
        """Shows the cursor in the widget that has the keys, and returns its place; hides it where
        nothing is typed, and returns None.
        """
        is_typing = isinstance(focused, Input | TextArea)
        if is_typing is not self._is_shown:
            self._is_shown = is_typing
            self._write("\x1b[?25h" if is_typing else "\x1b[?25l")
        if not isinstance(focused, Input | TextArea):
            return None
        at = focused.cursor_screen_offset
        if at != self._at:
            self._at = at
            self._write(f"\x1b[{at.y + 1};{at.x + 1}H")
        return at

    def forget(self) -> None:
        """Forgets what the terminal shows, as after another program has had it."""
        self._is_shown = None
