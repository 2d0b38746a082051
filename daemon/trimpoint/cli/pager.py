"""Shows a long answer on a terminal in a pager, as git does: `PAGER`, or else less.

Nothing is paged if standard output is not a terminal, if `NO_PAGER` is set, if `PAGER` is empty or
`cat`, if the terminal cannot move its cursor, or if the answer fits on the screen.
"""

import io
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress

from rich.cells import cell_len
from rich.console import Console

from trimpoint.cli.terminal import console_for, stdout_console

# As git sets it: quit if it fits, pass colours on, leave the screen as it is. A person's own LESS
# wins.
_LESS = "FRX"
_SEQUENCE = re.compile(r"\x1b\[[0-9;]*m")


def pager_command(environ: Mapping[str, str]) -> list[str]:
    """Returns the pager's command line; empty if answers are not paged."""
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
    """Yields a console for an answer that may be longer than the screen; the answer is shown when
    the block ends.

    :param from_end: whether the pager begins at the end of the answer, as for a conversation.
    """
    command = pager_command(os.environ) if sys.stdout.isatty() else []
    if not command:
        yield stdout_console()
        return
    answer = io.StringIO()
    width = stdout_console().width
    yield console_for(answer, width)
    text = answer.getvalue()
    if _rows(text, width) < stdout_console().height:
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    if from_end and command == ["less"]:
        command.append("+G")
    _show(command, text)


def _rows(text: str, width: int) -> int:
    """Returns how many rows of a screen of `width` columns the text occupies."""
    lines = _SEQUENCE.sub("", text).splitlines()
    return sum(1 + max(0, cell_len(line) - 1) // width for line in lines)


def _show(command: list[str], text: str) -> None:
    environment = {"LESS": _LESS, "LV": "-c", **os.environ}
    with subprocess.Popen(command, stdin=subprocess.PIPE, env=environment) as pager:
        assert pager.stdin is not None
        # Ctrl-C is the pager's; without us it would be left behind.
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            with suppress(BrokenPipeError):  # the person has read enough
                pager.communicate(text.encode("utf-8", errors="replace"))
        finally:
            signal.signal(signal.SIGINT, before)
