"""Lines typed at the terminal, read without holding up anything else; a read can be cancelled."""

import os
import sys

import anyio

from trimpoint.cli.terminal import stderr_console


def is_there() -> bool:
    """Returns whether a person can answer questions at this terminal."""
    return sys.stdin is not None and sys.stdin.isatty() and stderr_console().is_terminal


async def typed_line() -> str | None:
    """Returns the next line; None at the end of input. The terminal edits it until Enter."""
    line = b""
    while not line.endswith(b"\n"):
        await anyio.wait_readable(0)
        piece = os.read(0, 4096)
        if not piece:
            return None
        line += piece
    return line.decode(errors="replace").strip()
