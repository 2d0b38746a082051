"""Checks whether the program runs in a terminal."""

import os


def is_there() -> bool:
    """Returns whether standard input and standard output are a terminal."""
    return os.isatty(0) and os.isatty(1)
