"""Shows the terminal's own cursor where text is typed: it is visible on every ground, and it is
where input methods open their windows.
"""

from collections.abc import Callable

from textual.geometry import Offset
from textual.widget import Widget
from textual.widgets import Input, TextArea


class TerminalCursor:
    """Keeps the cursor at the place of typing.

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
