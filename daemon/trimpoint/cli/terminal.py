"""Writes the output of commands: for people through rich, in colour on a terminal and plain
elsewhere; for scripts as JSON.

Always true: text of a conversation is shown, never obeyed. It goes through `printable`, so that no
escape sequence in an answer of the model reaches the terminal, and it is never read as rich's
markup.
"""

import os
import re
import sys
from functools import cache
from typing import IO, Any, TextIO, cast

from rich.console import Console
from rich.text import Text

from trimpoint.cli.characters import write_plainly
from trimpoint.cli.exits import CliError
from trimpoint.cli.json_output import print_json as print_json

# Wide enough for a path or an id when no window sets a limit.
_WIDTH_WHEN_PIPED = 110
_HIDDEN = {
    **{code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\n\t"},
    **dict.fromkeys([*range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)], "�"),
}


# Codex's own commands take whole ids only.
_UUID = re.compile(
    r"(?<!codex unarchive )\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{4}([0-9a-f]{8})\b"
)


def printable(text: str) -> str:
    """Returns `text` with control characters and direction overrides made visible; lines and tabs
    stay.
    """
    return text.replace("\r\n", "\n").translate(_HIDDEN)


def one_line(text: str, limit: int = 200) -> str:
    """Returns `text` as one printable line, cut after `limit` characters."""
    line = " ".join(printable(text).split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def for_shells(text: str) -> str:
    """Returns a sentence of the daemon's with the commands as they are typed in a shell, not in a
    chat.
    """
    said = text.replace(" Nothing was sent to the agent.", "")
    said = re.sub(r"thread/unarchive [0-9a-f-]{28}([0-9a-f]{8})\b", r"trimpoint unarchive \1", said)
    said = re.sub(r" \((in a terminal|checkpoint/list)\)(?=\.?$)", "", said)
    said = _UUID.sub(r"\1", said)
    return re.sub(
        r"(?<![\w/.~-])(?<!undo )(?<!Undone: )"
        r"/(clear|compact|compress|revert|undo|context|timeline|pins|pin|unpin|search|new)\b(?!/)",
        r"trimpoint \1",
        said,
    )


def stdout_console() -> Console:
    """Returns the answer, on stdout."""
    return _console(sys.stdout)


def stderr_console() -> Console:
    """Returns the console for everything but the answer: which thread, progress, errors. It is
    stderr.
    """
    return _console(sys.stderr)


def plain_console() -> Console:
    """Stdout without colour and without animation, even on a terminal."""
    return _console(sys.stdout, force_terminal=False)


def console_for(stream: IO[str], width: int) -> Console:
    """Returns a console for something that shows it at the terminal, such as a pager."""
    return _Console(
        file=stream, width=width, force_terminal=True, highlight=False, markup=False, emoji=False
    )


@cache
def _console(stream: TextIO, force_terminal: bool | None = None) -> Console:
    # A locale that lacks a character must not end the command.
    write_plainly(stream)
    width = None if stream.isatty() or "COLUMNS" in os.environ else _WIDTH_WHEN_PIPED
    file = stream if stream.isatty() else cast("TextIO", _Unpadded(stream))
    return _Console(
        file=file,
        width=width,
        force_terminal=force_terminal,
        highlight=False,
        markup=False,
        emoji=False,
    )


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Rich would end the process here; what it means is for the command to say."""
        raise BrokenPipeError


class _Unpadded:
    """A stream without the blanks that rich fills its lines up with; in a file they are only a
    nuisance.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return self._stream.write(re.sub(r" +\n", "\n", text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def show_error(error: CliError) -> None:
    """Say what went wrong and what to do."""
    print_line(Text.assemble(("trimpoint: ", "bold red"), printable(for_shells(error.message))))
    if error.hint:
        print_line(Text(printable(for_shells(error.hint)), "dim"))


def print_plain_line(text: str) -> None:
    """Say a sentence beside the answer."""
    print_line(Text(printable(text)))


def print_line(text: Text) -> None:
    """Say something beside the answer; folded for a terminal only."""
    stderr_console().print(text, soft_wrap=not stderr_console().is_terminal)
