"""A long answer on a terminal goes through a pager, as with git: `PAGER`, else less, which ends at
once where all fits.

Nothing is paged where stdout is no terminal, where `NO_PAGER` is set, where `PAGER` is empty or
`cat`, and on a terminal that cannot move its cursor.
"""

import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress

from rich.console import Console

from trimpoint.cli.terminal import console_for, stdout_console

# As git sets it: quit if it fits, pass colours on, leave the screen as it is. A person's own LESS
# wins.
_LESS = "FRX"


def pager_command(environ: Mapping[str, str]) -> list[str]:
    """Returns the program that shows a long answer; empty where there is to be none."""
    if environ.get("NO_PAGER") or environ.get("TERM", "dumb") == "dumb":
        return []
    named = environ.get("PAGER")
    try:
        words = shlex.split("less" if named is None else named)
    except ValueError:
        return []
    return [] if not words or words == ["cat"] or shutil.which(words[0]) is None else words


@contextmanager
def paged(*, from_end: bool = False) -> Generator[Console]:
    """Yields the console for an answer that may be longer than the screen.

    :param from_end: a person wants to see the end first, as of a conversation
    """
    command = pager_command(os.environ) if sys.stdout.isatty() else []
    if not command:
        yield stdout_console()
        return
    width = stdout_console().width
    if from_end and command == ["less"]:
        command.append("+G")
    environment = {"LESS": _LESS, "LV": "-c", **os.environ}
    pager = subprocess.Popen(command, stdin=subprocess.PIPE, env=environment, encoding="utf-8")
    assert pager.stdin is not None
    # Ctrl-C is the pager's; without us it would be left behind.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with suppress(BrokenPipeError):  # the person has read enough
            yield console_for(pager.stdin, width)
    finally:
        with suppress(BrokenPipeError):
            pager.stdin.close()
        pager.wait()
        signal.signal(signal.SIGINT, before)
