"""Tells a person who looks elsewhere: by the title of the terminal's window, its bell, and OSC 9,
of which terminals make a notification.
"""

from collections.abc import Callable

from trimpoint.cli.terminal import one_line
from trimpoint.tui.model.attention import is_shown, window_title
from trimpoint.tui.model.state import ChatState

_KEEP_TITLE, _GIVE_BACK_TITLE = "\x1b[22;2t", "\x1b[23;2t"


class Alerts:
    """Writes to the terminal what is new.

    :param write: writes to the terminal.
    :param is_loud: whether it rings and notifies; the title is set in any case.
    """

    def __init__(self, write: Callable[[str], None], *, is_loud: bool) -> None:
        self._write = write
        self._is_loud = is_loud
        self._title = ""

    def notify(self, state: ChatState, *, is_away: bool) -> None:
        """Notifies the person of what is new since the last call."""
        title = window_title(state)
        if title != self._title:
            self._write(f"{'' if self._title else _KEEP_TITLE}\x1b]2;{title}\x07")
            self._title = title
        told, state.told = state.told, []
        for notice in told:
            if self._is_loud and is_shown(notice, state, is_away=is_away):
                self._write(f"\x07\x1b]9;{one_line(f'{notice.title}: {notice.said}')}\x07")

    def end(self) -> None:
        """Gives the window the title that it had."""
        if self._title:
            self._write(_GIVE_BACK_TITLE)
