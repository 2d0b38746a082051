"""Output for programs, always in UTF-8. Separate from `terminal`, so that a daemon can print JSON
without importing rich.
"""

import sys
from typing import Any

import orjson


def print_json(value: Any) -> None:
    """Writes `value` as JSON on one line of standard output."""
    _write(orjson.dumps(value) + b"\n")


def write_text(text: str) -> None:
    """Writes `text` to standard output unchanged, for programs to read."""
    _write(text.encode("utf-8", errors="surrogatepass"))


def _write(data: bytes) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
