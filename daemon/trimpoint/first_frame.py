"""Paints the chat's first screen before anything else of trimpoint is imported, and keeps what is
typed until the chat can take it.

Always true: the bytes that were typed are handed over whole and in order. The line that is shown
meanwhile is only their picture; what a key does, the chat decides. Imports only what Python has
imported anyway or takes no time, because all that is imported here delays the screen.
"""

import codecs
import io
import os
import re
import select
import signal
import sys
import termios
import threading
from collections.abc import Sequence
from typing import Any

_CHAT = "chat"
_PRINTS = frozenset({"-h", "--help", "-V", "--version", "-j", "--json"})
_MIN_ROWS, _MIN_COLUMNS = 8, 20
_PLACEHOLDER = "Ask, / for commands, @ for files"
_LOOK_AT_SIZE_S = 0.1
# What has begun is read to its end, unless nothing more of it comes.
_REST_OF_KEY_S, _REST_OF_PASTE_S = 0.1, 2.0
_DRAWN_WITHIN_S = 1.0
_READ = 65_536
_BEGIN = "\x1b[?1049h\x1b[?2004h"
_END = "\x1b[?2004l\x1b[?1049l\x1b[?25h"
_PASTE_BEGINS, _PASTE_ENDS = "\x1b[200~", "\x1b[201~"
_INTERRUPT, _END_OF_INPUT, _KILL_LINE, _ESCAPE = "\x03", "\x04", "\x15", "\x1b"
# What arrives for one key: an escape sequence, Escape, Alt and a character, or a character.
_KEY = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|O.|(?=\x1b)|[^\[O\x1b])|[^\x1b]", re.DOTALL)


class Line:
    """The picture of what was typed: the line as it stands, and what Enter has sent. What a read
    costs does not depend on what was read before.
    """

    def __init__(self) -> None:
        self.sent: list[str] = []
        self._parts: list[str] = []
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""
        self._pasted: list[str] = []
        self.is_in_paste = False
        """Whether a paste has begun and not ended."""

    @property
    def text(self) -> str:
        """Returns the line as it stands."""
        return "".join(self._parts)

    def end(self, count: int) -> str:
        """Returns the last characters of the line as it stands."""
        found: list[str] = []
        for part in reversed(self._parts):
            if count <= 0:
                break
            found.append(part[-count:])
            count -= len(part)
        return "".join(reversed(found))

    @property
    def is_whole(self) -> bool:
        """Returns whether every key and every paste that has begun has ended."""
        return not (self.is_in_paste or self._rest or self._decoder.getstate()[0])

    def settle(self) -> bool:
        """Returns whether an Escape has come that nothing followed at once: it was the key."""
        is_escape = self._rest == _ESCAPE and not self.is_in_paste
        if is_escape:
            self._rest = ""
        return is_escape

    def feed(self, typed: bytes) -> bool:
        """Takes what was typed. Returns whether a key asks to leave: Ctrl+C or Ctrl+D in an empty
        line, before anything was sent. What was sent waits for the chat, and so does the key.
        """
        came, at, leaves = self._rest + self._decoder.decode(typed), 0, False
        while at < len(came) and not leaves:
            if self.is_in_paste:
                at = self._paste(came, at)
                if self.is_in_paste:
                    break
            elif came.startswith(_PASTE_BEGINS, at):
                self.is_in_paste, at = True, at + len(_PASTE_BEGINS)
            elif (key := _KEY.match(came, at)) is not None:
                leaves, at = self._press(key[0]), key.end()
            else:
                break
        self._rest = came[at:]
        return leaves

    def _paste(self, came: str, at: int) -> int:
        """Takes what was pasted, but for what may be the beginning of the end of the paste; returns
        where the rest begins.
        """
        end = came.find(_PASTE_ENDS, at)
        if end == -1:
            kept = came[max(at, len(came) - len(_PASTE_ENDS) + 1) :]
            begun = next(
                (n for n in range(len(kept)) if _PASTE_ENDS.startswith(kept[n:])), len(kept)
            )
            rest = len(came) - len(kept) + begun
            self._pasted.append(came[at:rest])
            return rest
        self._parts += [*self._pasted, came[at:end]]
        self._pasted, self.is_in_paste = [], False
        return end + len(_PASTE_ENDS)

    def _press(self, key: str) -> bool:
        if key in {_INTERRUPT, _END_OF_INPUT} and not self.end(1) and not self.sent:
            return True
        if key == "\r":
            self.sent += filter(None, [self.text.strip()])
            self._parts = []
        elif key in {"\x7f", "\b"}:
            self._erase()
        elif key in {_INTERRUPT, _KILL_LINE}:
            self._parts = []
        elif key == "\n" or key.isprintable():
            self._parts.append(key)
        return False

    def _erase(self) -> None:
        while self._parts and not self._parts[-1]:
            self._parts.pop()
        if self._parts:
            self._parts[-1] = self._parts[-1][:-1]


class FirstFrame:
    """The screen until the chat has drawn its own. `attributes` is what the terminal was set to."""

    def __init__(self) -> None:
        self.attributes: list[Any] = termios.tcgetattr(0)
        self._line = Line()
        self._typed = [bytearray()]
        self._doing = "connecting …"
        self._draws = threading.RLock()  # a signal may come while the main thread draws
        self._chat_has_begun = self._chat_draws = self._is_taken = self._is_over = False
        self._stderr, self._said = sys.stderr, io.StringIO()
        self._wake_read, self._wake = os.pipe()
        self._reader = threading.Thread(target=self._read, name="first-frame", daemon=True)
        self._size = os.get_terminal_size(1)
        screen = _BEGIN + self._screen()  # if it cannot be drawn, the terminal is as it was
        if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, self._end_at_once)
        self._set_raw()
        _write(screen)
        sys.stderr = self._said  # it is printed at the end: on this screen it would be lost
        # A thread begins with the signals blocked that are blocked here. Ctrl-C is for the main
        # thread.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        self._reader.start()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _set_raw(self) -> None:
        raw = termios.tcgetattr(0)
        raw[0] &= ~(termios.IXON | termios.IXOFF | termios.ICRNL | termios.INLCR | termios.IGNCR)
        raw[3] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN | termios.ISIG)
        raw[6][termios.VMIN], raw[6][termios.VTIME] = 1, 0
        termios.tcsetattr(0, termios.TCSANOW, raw)

    def say(self, doing: str) -> None:
        """Shows what is going on."""
        self._doing = doing
        self._draw()

    def begin_chat(self) -> None:
        """Leaves it to the chat to restore the terminal, and what Ctrl+C does."""
        with self._draws:
            self._chat_has_begun = True

    def yield_screen(self) -> None:
        """Draws no more: the chat draws from now on."""
        with self._draws:
            self._chat_draws = True

    def take_typed(self) -> list[bytes]:
        """Returns all that was typed, cut after each Escape that was a key of its own. From now on
        the chat reads the terminal.
        """
        self._is_taken = True
        os.write(self._wake, b".")
        self._reader.join()
        if self._line.is_in_paste:
            self._typed[-1] += _PASTE_ENDS.encode()
        return [bytes(one) for one in self._typed if one]

    def end(self) -> None:
        """Restores the terminal, unless the chat has begun and done so, and prints what was said
        meanwhile.
        """
        if self._is_over:
            return
        self._is_over = True
        if not self._is_taken:
            self.take_typed()
        if not self._chat_has_begun:
            self.yield_screen()
            self._restore()
        if signal.getsignal(signal.SIGTERM) == self._end_at_once:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
        sys.stderr = self._stderr
        sys.stderr.write(self._said.getvalue())

    def _end_at_once(self, number: int, _frame: object) -> None:
        """Ends the program as the signal does, with the terminal as it was."""
        signal.signal(number, signal.SIG_DFL)
        # Whoever draws may wait for ever for a terminal that takes nothing.
        may_draw = self._draws.acquire(timeout=_DRAWN_WITHIN_S)
        if not self._chat_has_begun:
            termios.tcsetattr(0, termios.TCSANOW, self.attributes)
            if may_draw:
                _write(_END)
        os.kill(os.getpid(), number)

    def _restore(self) -> None:
        _write(_END)
        termios.tcsetattr(0, termios.TCSANOW, self.attributes)

    def _read(self) -> None:
        while not (self._is_taken and self._line.is_whole):
            wait_s = _LOOK_AT_SIZE_S
            if self._is_taken:
                wait_s = _REST_OF_PASTE_S if self._line.is_in_paste else _REST_OF_KEY_S
            ends = [0] if self._is_taken else [0, self._wake_read]
            ready = select.select(ends, [], [], wait_s)[0]
            if not ready and self._line.settle():
                self._typed.append(bytearray())
            if (self._is_taken and not ready) or (0 in ready and not self._take()):
                return
            if ready or os.get_terminal_size(1) != self._size:
                self._draw()

    def _take(self) -> bool:
        """Reads what was typed; returns whether more can come."""
        try:
            typed = os.read(0, _READ)
        except OSError:  # the window was closed
            return False
        self._typed[-1] += typed
        if self._line.feed(typed):
            self._leave()
        return bool(typed)

    def _leave(self) -> None:
        """Ends the program at once: it has done nothing yet that could be left half done."""
        with self._draws:
            if not self._chat_has_begun:
                self._restore()
                os._exit(0)

    def _draw(self) -> None:
        with self._draws:
            if not self._chat_draws:
                self._size = os.get_terminal_size(1)
                _write(self._screen())

    def _screen(self) -> str:
        columns, rows = self._size
        typed = self._line.end(max(1, columns - 5))
        text, style = (typed, "") if typed else (_PLACEHOLDER, "2")
        shown, cells = _tail(text, columns - 5)
        edge = "" if os.environ.get("NO_COLOR") else "36"
        line = "─" * (columns - 2)
        above = [f"not sent yet {one[-columns:]}" for one in self._line.sent[-rows:]] + [
            f"⠋ {self._doing}"
        ]
        above = above[-max(1, rows - 6) :]
        folder, _ = _tail(_folder(), columns - 5)
        return "".join((
            "\x1b[?25l\x1b[H\x1b[J",
            *(
                f"\x1b[{rows - 3 - len(above) + at};2H\x1b[2m{_tail(one, columns - 2)[0]}\x1b[m"
                for at, one in enumerate(above)
            ),
            f"\x1b[{rows - 3};1H\x1b[{edge}m╭{line}╮",
            f"\x1b[{rows - 2};1H│ \x1b[0;{style}m{shown}\x1b[0;{edge}m\x1b[{rows - 2};{columns}H│",
            f"\x1b[{rows - 1};1H╰{line}╯",
            f"\x1b[{rows};2H[{folder}]\x1b[m",
            f"\x1b[{rows - 2};{3 + (cells if typed else 0)}H\x1b[?25h",
        ))  # fmt: skip


def _write(text: str) -> None:
    os.write(1, text.encode(errors="replace"))


def _folder() -> str:
    home, folder = os.path.expanduser("~"), os.environ.get("PWD")
    if not folder:
        try:
            folder = os.getcwd()
        except OSError:  # it is gone, as the daemon will say
            folder = "?"
    is_below = folder == home or folder.startswith(f"{home}{os.sep}")
    return f"~{folder[len(home) :]}" if is_below else folder


def _tail(text: str, room: int) -> tuple[str, int]:
    """Returns as much of the end of a text as fits, as one line, and how many cells it takes."""
    kept: list[str] = []
    used = 0
    for character in reversed(text[-room:]):
        cells = _cells(character)
        if used + cells > room:
            break
        used += cells
        kept.append(character if character.isprintable() else " ")
    return "".join(reversed(kept)), used


def _cells(character: str) -> int:
    if character.isascii():
        return 1
    import unicodedata  # which is a file of its own

    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


_shown: list[FirstFrame] = []


def shown() -> FirstFrame | None:
    """Returns the first screen of this process, or None if none was painted."""
    return _shown[0] if _shown else None


def show(arguments: Sequence[str]) -> None:
    """Paints the first screen if these arguments open the chat, in a terminal that can show it."""
    if [*arguments[:1]] in ([], [_CHAT]) and not _PRINTS.intersection(arguments) and _can_show():
        _shown.append(FirstFrame())


def say(doing: str) -> None:
    """Shows what is going on, if the first screen is there."""
    if _shown:
        _shown[0].say(doing)


def end() -> None:
    """Gives the terminal back as it was, if the first screen is still there."""
    if _shown:
        _shown[0].end()


def _can_show() -> bool:
    if not (os.isatty(0) and os.isatty(1)) or os.environ.get("TERM", "dumb") == "dumb":
        return False
    columns, rows = os.get_terminal_size(1)
    is_large = rows >= _MIN_ROWS and columns >= _MIN_COLUMNS
    return is_large and _is_in_front() and sys.stdout.encoding.lower() == "utf-8"


def _is_in_front() -> bool:
    try:
        return os.tcgetpgrp(0) == os.getpgrp()
    except OSError:  # it is not the terminal of this session, so nobody else has it in front
        return True
