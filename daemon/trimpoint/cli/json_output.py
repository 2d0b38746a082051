"""Output for programs, always in UTF-8. Separate from `terminal`, so that a daemon can print JSON
without importing rich.
"""

import sys
from typing import Any

import orjson
from trimpoint_protocol.lenient import as_dict, as_list


def print_json(value: Any) -> None:
    """Writes `value` as JSON on one line of standard output."""
    _write(orjson.dumps(value) + b"\n")


def as_shown(value: Any) -> Any:
    """Returns a document of the daemon with its percentages as the views show them: whole, halves
    up. What is left is the rest, and not what Codex shows, which counts its instructions apart.
    """
    if isinstance(value, list):
        return [as_shown(one) for one in as_list(value)]
    if not isinstance(value, dict):
        return value
    shown = {name: as_shown(one) for name, one in as_dict(value).items()}
    for name, one in shown.items():
        if isinstance(one, float) and name.lower().endswith("percent"):
            shown[name] = int(one + 0.5)
    if shown.get("percent") is not None and "leftPercent" in shown:
        shown["leftPercent"] = max(0, 100 - shown["percent"])
    return shown


def write_text(text: str) -> None:
    """Writes `text` to standard output unchanged, for programs to read."""
    _write(text.encode("utf-8", errors="surrogatepass"))


def _write(data: bytes) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
