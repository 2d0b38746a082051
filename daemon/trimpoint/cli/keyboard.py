"""Reads lines from the terminal without blocking the event loop; a read can be cancelled."""

import os
import sys

import anyio

from trimpoint.cli.terminal import stderr_console


def is_there() -> bool:
    """Returns whether a person at a terminal can answer questions: standard input and standard
    error are terminals.
    """
    return sys.stdin is not None and sys.stdin.isatty() and stderr_console().is_terminal


async def typed_line() -> str | None:
    """Reads the next line from the terminal; None at the end of input. Ends the line of the
    question where the person has not: at the end of input, and on Ctrl-C.
    """
    line = b""
    while not line.endswith(b"\n"):
        try:
            await anyio.wait_readable(0)
        except anyio.get_cancelled_exc_class():
            stderr_console().print()
            raise
        piece = os.read(0, 4096)
        if not piece:
            stderr_console().print()
            return None
        line += piece
    return line.decode(errors="replace").strip()
