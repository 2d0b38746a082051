"""Makes logs fit to be kept: no paths of the machine, no long texts that are not ours."""

import json
from pathlib import Path
from typing import Any

from trimpoint_protocol.lenient import as_dict, as_list

LONG = 160
SUMMARIES = ("This session is being continued", "Another language model", "<state_snapshot>")
KEPT_WHOLE = ("message", "arguments", "encrypted_content")


def clean_lines(data: bytes, replaced: dict[str, str]) -> bytes:
    """Returns the lines with each text of `replaced` exchanged, and with long texts cut."""
    return b"".join(_clean_line(line + b"\n", replaced) for line in data.split(b"\n") if line)


def _clean_line(line: bytes, replaced: dict[str, str]) -> bytes:
    text = line.decode()
    for old, new in replaced.items():
        text = text.replace(old, new)
    try:
        found = json.loads(text)
    except ValueError:  # a torn line is kept as it is
        return text.encode()
    cleaned = json.dumps(
        _shortened(_lightened(found), ""), ensure_ascii=False, separators=(",", ":")
    )
    return cleaned.encode() + b"\n"


def _lightened(row: Any) -> Any:
    """Returns a row without the parts of it that are large, not ours, and read by nothing here."""
    match row:
        case {"type": str(kind)} if kind.startswith("api-request"):
            return {name: row[name] for name in ("type", "sessionId", "timestamp") if name in row}
        case {"type": "attachment", "attachment": {"type": "queued_command"}}:
            return {name: row[name] for name in row if name != "rendered"}
        case {"type": "attachment", "attachment": {"type": kind}}:
            return row | {"attachment": {"type": kind}}
        case _:
            return row


def _shortened(value: Any, key: str) -> Any:
    if isinstance(value, dict):
        return {name: _shortened(one, name) for name, one in as_dict(value).items()}
    if isinstance(value, list):
        return [_shortened(one, key) for one in as_list(value)]
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
