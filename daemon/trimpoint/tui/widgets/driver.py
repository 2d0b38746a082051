"""Takes the terminal over from the first screen, which was there before Textual was imported."""

import asyncio
import os
from collections.abc import Callable, Sequence
from threading import Event

from textual import events
from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message
from textual.message_pump import MessagePump

from trimpoint import first_frame

_ALTERNATE_SCREEN = "\x1b[?1049h"
_LOOK_AGAIN_S = 0.05
_LOOKS_FOR_KEY = 20


class ChatDriver(LinuxDriver):
    """Textual's driver. It begins to read the terminal once the chat can take keys, with those that
    were typed before.

    Always true: a key is done before the next one begins. Textual alone runs what a key is bound to
    some time after it has inserted the letters that follow, if they come at once (measured: 8.2).
    """

    _can_type: Event | None = None
    _first: first_frame.FirstFrame | None = None
    """The first screen, while it is there."""
    _is_starting = False
    _on_typed: Callable[[], None] = staticmethod(lambda: None)
    _key_is_done: Event | None = None

    def start_application_mode(self) -> None:
        """Takes over the terminal: as the first screen has set it, or as the shell has."""
        if self._can_type is None:
            self._can_type, self._first = Event(), first_frame.shown()
        first = self._first
        if first is not None:
            first.begin_chat()
        self._is_starting = True
        super().start_application_mode()  # type: ignore[no-untyped-call]
        self._is_starting = False
        if first is not None:
            self.attrs_before = first.attributes

    def write(self, data: str) -> None:
        """Writes to the terminal."""
        first = self._first  # the thread that reads the terminal forgets it
        if first is not None:
            if data == _ALTERNATE_SCREEN:
                return  # it is shown, and some terminals would clear it
            if not self._is_starting:
                first.yield_screen()
        super().write(data)

    def _get_terminal_size(self) -> tuple[int, int]:
        """Returns the terminal's own columns and rows. Textual prefers COLUMNS and LINES, which
        some shells and readline put into the environment, and which do not follow the window.
        """
        try:
            columns, rows = os.get_terminal_size(self.fileno)
        except OSError:
            columns = rows = 0
        return (columns, rows) if columns and rows else super()._get_terminal_size()

    @property
    def has_first_screen(self) -> bool:
        """Returns whether the first screen is there, and may have been typed into."""
        return self._first is not None

    def take_keys(self, on_typed: Callable[[], None]) -> None:
        """Begins to pass keys on: the prompt has the focus. Calls `on_typed` when those that were
        typed before are done.
        """
        if self._can_type is not None:
            self._on_typed = on_typed
            self._can_type.set()

    def run_input_thread(self) -> None:
        """Passes on what was typed before, then reads the terminal."""
        if self._first is not None and self._can_type is not None:
            while not self._can_type.wait(_LOOK_AGAIN_S) and not self.exit_event.is_set():
                pass
            self._first.yield_screen()
            typed, self._first = self._first.take_typed(), None
            for part in typed:
                self._pass_on_text(part.decode(errors="replace"))
            if self._key_is_done is not None:
                self._wait_for(self._key_is_done)
            self._app.call_later(self._on_typed)
        super().run_input_thread()

    def _pass_on_text(self, text: str) -> None:
        parser = XTermParser()
        for part in (text, ""):  # nothing ends the text, and an Escape at its end
            for message in parser.feed(part):
                self.process_message(message)

    def process_message(self, message: Message) -> None:
        """Passes on what was read, keys one by one."""
        if not isinstance(message, events.Key | events.Paste):
            super().process_message(message)
            return
        if self._key_is_done is not None:
            self._wait_for(self._key_is_done)
        super().process_message(message)
        self._key_is_done = Event()
        asyncio.run_coroutine_threadsafe(self._follow(self._key_is_done), self._loop)

    def _wait_for(self, is_done: Event) -> None:
        """Waits for a key, unless Textual stops reading: its loop then waits for this thread."""
        for _ in range(_LOOKS_FOR_KEY):
            if self.exit_event.is_set() or is_done.wait(_LOOK_AGAIN_S):
                return

    async def _follow(self, is_done: Event) -> None:
        """Sends a call on the way that a key takes: to the application, to what has the focus, and
        from there up again.
        """

        def from_focused() -> None:
            _pass_on(list((self._app.focused or self._app.screen).ancestors_with_self), is_done)

        if not self._app.call_later(from_focused):
            is_done.set()


def _pass_on(way: Sequence[MessagePump], is_done: Event) -> None:
    if not way or not way[0].call_later(_pass_on, way[1:], is_done):
        is_done.set()
