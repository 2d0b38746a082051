"""Codex's own terminal UI in a pseudo-terminal: type into it, read its screen."""

import fcntl
import os
import pty
import re
import struct
import termios
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import anyio
import pyte

from tests.deadlines import STEP_S

ROWS, COLUMNS = 40, 110
# Keys that come faster count as a paste, in which Enter is a newline (measured: 0.171).
PAUSE_S = 0.5
# How long a program may take to show what is typed; one that does not show it gets Enter after it.
ECHO_S = 10.0

_CURSOR_QUERY = re.compile(rb"\x1b\[6n")
_DEVICE_QUERY = re.compile(rb"\x1b\[0?c")


class ProgramEnded(AssertionError):
    """The program behind the terminal is gone."""


class _Screen(pyte.Screen):
    """Takes no `CSI > … m` for colours: programs ask for keyboard modes with it."""

    def select_graphic_rendition(self, *attributes: int, private: bool = False) -> None:
        if not private:
            super().select_graphic_rendition(*attributes)


class Terminal:
    """`text` is the screen as it is now, one line a row, trailing blanks cut; `written` is all that
    the program has written.
    """

    def __init__(self, fd: int, size: tuple[int, int] = (ROWS, COLUMNS)) -> None:
        self._fd = fd
        self._screen = _Screen(size[1], size[0])
        self._stream = pyte.ByteStream(self._screen)
        self._changed = anyio.Event()
        self.written = bytearray()

    @property
    def screen(self) -> pyte.Screen:
        """The screen with its colours."""
        return self._screen

    @property
    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self._screen.display)

    async def shows(self, wanted: str | Callable[[str], bool], wait_s: float = STEP_S) -> str:
        """Returns the screen once it shows what is wanted."""
        is_shown = wanted if callable(wanted) else lambda text: wanted in text
        with anyio.move_on_after(wait_s):
            while not is_shown(self.text):
                await self._read()
            return self.text
        raise AssertionError(f"not shown within {wait_s:g} s: {wanted!r}\n{self.text}")

    async def types(self, text: str, *, enter: bool = True) -> None:
        """Types into it, as a person would."""
        await self._pause()
        word = text.split()[-1] if text.split() else ""
        shown = self.text.count(word)
        os.write(self._fd, text.encode())
        if enter and word:
            # A slow program would read Enter together with the text, as one paste.
            with anyio.move_on_after(ECHO_S):
                await self.shows(lambda screen: screen.count(word) > shown)
        await self._pause()
        if enter:
            os.write(self._fd, b"\r")

    def presses(self, keys: bytes) -> None:
        """Press keys at once."""
        os.write(self._fd, keys)

    def resize(self, rows: int, columns: int) -> None:
        """Changes the size of its window."""
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self._screen.resize(rows, columns)

    async def reads(self) -> None:
        """Takes what the program writes next."""
        await self._read()

    async def read_to_end(self) -> None:
        """Keeps the screen up to date, until the program has ended."""
        with suppress(ProgramEnded):
            while True:
                await self._read()

    async def changes(self) -> None:
        """Returns when something has come; another task reads meanwhile."""
        await self._changed.wait()

    async def ends(self) -> None:
        """Returns once the program has ended."""
        with anyio.fail_after(STEP_S), suppress(ProgramEnded):
            while True:
                await self._read()

    async def _pause(self) -> None:
        with anyio.move_on_after(PAUSE_S):
            while True:
                await self._read()

    async def _read(self) -> None:
        await anyio.wait_readable(self._fd)
        try:
            data = os.read(self._fd, 65_536)
        except OSError:  # Linux's word for the end of the program behind a pseudo-terminal
            raise ProgramEnded(f"the program has ended\n{self.text}") from None
        self.written += data
        self._stream.feed(data)
        self._changed.set()
        self._changed = anyio.Event()
        if _CURSOR_QUERY.search(data):
            cursor = self._screen.cursor
            os.write(self._fd, f"\x1b[{cursor.y + 1};{cursor.x + 1}R".encode())
        if _DEVICE_QUERY.search(data):
            os.write(self._fd, b"\x1b[?62;c")


@asynccontextmanager
async def program_in_terminal(
    command: list[str],
    environment: dict[str, str],
    folder: str,
    size: tuple[int, int] = (ROWS, COLUMNS),
) -> AsyncIterator[Terminal]:
    """Runs a program in a pseudo-terminal of so many rows and columns while the block lasts."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
    os.set_blocking(ours, False)
    env = {**environment, "TERM": "xterm-256color"}
    process = await anyio.open_process(
        command,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=env,
        cwd=folder,
        start_new_session=True,
    )
    os.close(theirs)
    try:
        yield Terminal(ours, size)
    finally:
        with anyio.CancelScope(shield=True):
            with suppress(ProcessLookupError):  # it has ended
                process.kill()
            await process.wait()
            os.close(ours)
