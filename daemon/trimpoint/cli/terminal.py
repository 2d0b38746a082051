"""Writes the output of commands for people: through rich, in colour on a terminal and plain
elsewhere.

Always true: text of a conversation cannot control the terminal. It goes through `printable`, which
makes escape sequences visible, and it is never interpreted as rich's markup.
"""

import os
import re
import shutil
import sys
from functools import cache
from typing import IO, Any, TextIO, cast

from rich.console import Console
from rich.text import Text
from rich.theme import Theme
from trimpoint_protocol.hidden_characters import MISLEADING

from trimpoint.cli.characters import write_plainly
from trimpoint.cli.exits import CliError
from trimpoint.cli.json_output import print_json as print_json

MARKDOWN = Theme({"markdown.code": "bold cyan"})
"""Code in a line has no ground of its own: rich has black, whatever the terminal has."""
# Wide enough for a path or an id when no window sets a limit.
_WIDTH_WHEN_PIPED = 110
_HIDDEN = {
    **dict.fromkeys(MISLEADING, "�"),
    **{code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\n\t"},
}


def printable(text: str) -> str:
    """Returns `text` with control characters, and others that are not seen or turn their
    neighbours, made visible; line feeds and tabs stay.
    """
    return text.replace("\r\n", "\n").translate(_HIDDEN)


def one_line(text: str, limit: int = 200) -> str:
    """Returns `text` as one printable line of at most `limit` characters."""
    line = " ".join(printable(text).split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def stdout_console() -> Console:
    """Returns the console for a command's answer, on standard output."""
    return _console(sys.stdout)


def stderr_console() -> Console:
    """Returns the console for everything but the answer (the chosen thread, progress, errors), on
    standard error.
    """
    return _console(sys.stderr)


def plain_console() -> Console:
    """Returns a console on standard output without colour and animation, even on a terminal."""
    return _console(sys.stdout, force_terminal=False)


def outputs_are_one() -> bool:
    """Returns whether standard output and standard error go to the same place, as with `2>&1`."""
    try:
        return os.path.sameopenfile(1, 2)
    except OSError:
        return False


def console_for(stream: IO[str], width: int) -> Console:
    """Returns a console of `width` columns whose output another program shows on the terminal, such
    as a pager.
    """
    return _Console(
        file=stream,
        width=width,
        force_terminal=True,
        highlight=False,
        markup=False,
        emoji=False,
        theme=MARKDOWN,
    )


@cache
def _console(stream: TextIO, force_terminal: bool | None = None) -> Console:
    # A locale that lacks a character must not end the command.
    write_plainly(stream)
    file = stream if stream.isatty() else cast("TextIO", _Unpadded(stream))
    return _Console(
        file=file,
        width=_width(stream),
        force_terminal=force_terminal,
        theme=MARKDOWN,
        highlight=False,
        markup=False,
        emoji=False,
    )


def _width(stream: TextIO) -> int | None:
    """Returns the width of the output; None: rich finds it out."""
    columns = os.environ.get("COLUMNS")
    if columns is None:
        return None if stream.isatty() else _WIDTH_WHEN_PIPED
    # Rich writes nothing at all into zero columns.
    return None if columns.strip("0") else shutil.get_terminal_size().columns


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Raises BrokenPipeError where rich would end the process, because the command decides what
        to do.
        """
        raise BrokenPipeError


class _Unpadded:
    """A text stream that removes the spaces with which rich fills lines to the width of the
    terminal.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return self._stream.write(re.sub(r" +\n", "\n", text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def show_error(error: CliError) -> None:
    """Prints an error's message and hint to standard error."""
    print_line(Text.assemble(("trimpoint: ", "bold red"), printable(error.message)))
    if error.hint:
        print_line(Text(printable(error.hint), "dim"))


def print_plain_line(text: str) -> None:
    """Prints a sentence to standard error."""
    print_line(Text(printable(text)))


def print_line(text: Text) -> None:
    """Prints `text` to standard error; wrapped only on a terminal."""
    stderr_console().print(text, soft_wrap=not stderr_console().is_terminal)
