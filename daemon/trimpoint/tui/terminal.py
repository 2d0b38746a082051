"""Tells whether there is a terminal to draw on."""

import os


def is_there() -> bool:
    """Returns whether the program reads from and writes to a terminal whose window is open."""
    return os.isatty(0) and os.isatty(1)
