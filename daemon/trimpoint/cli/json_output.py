"""Output for programs, in UTF-8 whatever the locale says. Apart from `terminal`, so that a daemon
can write JSON without rich.
"""

import sys
from typing import Any

import orjson


def print_json(value: Any) -> None:
    """Writes one JSON document on one line of stdout."""
    _write(orjson.dumps(value) + b"\n")


def write_text(text: str) -> None:
    """Writes text that a program may read, as it is."""
    _write(text.encode("utf-8", errors="surrogatepass"))


def _write(data: bytes) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
