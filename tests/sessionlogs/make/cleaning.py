"""Makes logs fit to be kept: no paths of the machine, no long texts that are not ours."""

import json
from pathlib import Path
from typing import Any

LONG = 160
SUMMARIES = ("This session is being continued", "Another language model", "<state_snapshot>")
KEPT_WHOLE = ("message", "arguments", "encrypted_content")


def clean_lines(data: bytes, replaced: dict[str, str]) -> bytes:
    """Returns the lines with each text of `replaced` exchanged, and with long texts cut."""
    return b"".join(_clean_line(line, replaced) for line in data.splitlines(keepends=True))


def _clean_line(line: bytes, replaced: dict[str, str]) -> bytes:
    text = line.decode()
    for old, new in replaced.items():
        text = text.replace(old, new)
    cleaned = json.dumps(
        _shortened(json.loads(text), ""), ensure_ascii=False, separators=(",", ":")
    )
    return cleaned.encode() + b"\n"


def _shortened(value: Any, key: str) -> Any:
    if isinstance(value, dict):
        return {name: _shortened(one, name) for name, one in value.items()}
    if isinstance(value, list):
        return [_shortened(one, key) for one in value]
    if isinstance(value, str) and len(value) > LONG and not _is_kept(value, key):
        return value[:80] + " …"
    return value


def _is_kept(value: str, key: str) -> bool:
    return key in KEPT_WHOLE or value.startswith(SUMMARIES)


def write(folder: Path, name: str, data: bytes) -> None:
    """Writes a file below a folder."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
