"""JSON for scripts. Apart from `terminal`, so that a daemon can write it without rich."""

import sys
from typing import Any

import orjson


def print_json(value: Any) -> None:
    """Writes one JSON document on one line of stdout."""
    sys.stdout.write(orjson.dumps(value).decode() + "\n")
    sys.stdout.flush()
