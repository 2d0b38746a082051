"""Reads files before Codex changes them."""

import os
from pathlib import Path

MAX_BYTES = 512 * 1024
"""A larger file is shown by its changed parts."""


def read_text(path: str) -> str | None:
    """Returns the text of a file; None if it is missing, too large, or not UTF-8."""
    try:
        if os.stat(path).st_size > MAX_BYTES:
            return None
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError, ValueError):
        return None
