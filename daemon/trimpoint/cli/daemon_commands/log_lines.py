"""Prints the lines of a log as another program finds them."""

import subprocess
import sys
from collections.abc import Sequence

from trimpoint.cli.terminal import printable


def print_log_of(command: Sequence[str]) -> int:
    """Prints what a program prints, each line as soon as it is there, with what would control the
    terminal made visible. Returns the program's exit code.
    """
    with subprocess.Popen(command, stdout=subprocess.PIPE) as program:
        assert program.stdout is not None
        try:
            for line in program.stdout:
                sys.stdout.write(printable(line.decode(errors="replace")))
                sys.stdout.flush()
        except BaseException:  # Ctrl-C, or a reader of ours that has had enough
            program.terminate()
            raise
    return program.returncode
