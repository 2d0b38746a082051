"""Sessions for tests: those of the fixtures, and logs that a test writes itself."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from trimpoint.sessionlogs.catalogue import found_sessions
from trimpoint.sessionlogs.export import document, ndjson
from trimpoint.sessionlogs.homes import Homes
from trimpoint.sessionlogs.live import Summary, live_window
from trimpoint.sessionlogs.sessions import FoundSession, Reading
from trimpoint_protocol import unified as u
from trimpoint_protocol.lenient import as_dict, as_list

FIXTURES = Path(__file__).parent / "fixtures"
THREAD = "01a00000-0000-7000-8000-00000000000"


def homes(folder: Path) -> Homes:
    """All agents' homes are one folder: each looks only for what it knows."""
    return Homes(folder, folder, folder)


def sessions_in(folder: Path) -> list[FoundSession]:
    """The sessions below a folder, by id."""
    return sorted(found_sessions(homes(folder)), key=lambda one: one.id)


def only_session(folder: Path) -> FoundSession:
    """The one session below a folder."""
    [found] = sessions_in(folder)
    return found


def document_of(session: FoundSession) -> u.Document:
    """The session as one document, which must have the declared shape."""
    return msgspec.json.decode(
        b"".join(document(session, include_compacted=True)), type=u.Document, strict=True
    )


def lines_of(session: FoundSession) -> list[dict[str, Any]]:
    """The records as JSON, line by line."""
    return [json.loads(line) for line in ndjson(session, include_compacted=True)]


def texts(document: u.Document, indices: list[int]) -> list[str]:
    """What the messages say."""
    return [text_of(document.messages[index]) for index in indices]


def text_of(message: u.Message) -> str:
    """What a message says: its text, a call as its arguments, a result as its output."""
    if message.tool_calls:
        return json.dumps(message.tool_calls[0].arguments)
    if message.tool_results:
        return message.tool_results[0].output
    return message.text


def live_texts(session: FoundSession) -> list[str]:
    """What the model would see next, without what every session begins with."""
    shown: list[str] = []
    for item in live_window(Reading(session)).items:
        if isinstance(item, Summary):
            shown.append(f"SUMMARY:{item.text}")
        elif item.kind == "summary" and item.synthetic:
            shown.append(f"SUMMARY:{item.text.partition(chr(10))[2]}")
        elif item.kind not in ("preamble", "notice") or item.text.startswith("<subagent_"):
            shown.append(text_of(item))
    return shown


def write_rollout(home: Path, number: int, rows: list[Any], *, tail: bytes = b"") -> Path:
    """Writes a rollout of thread `number`; a row is a payload with its type, or bytes as they are."""
    thread = f"{THREAD}{number}"
    path = home / "sessions" / "2026" / "01" / "02" / f"rollout-2026-01-02T03-04-05-{thread}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(map(_line, rows)) + tail)
    return path


def _line(row: Any) -> bytes:
    return row if isinstance(row, bytes) else json.dumps(row).encode() + b"\n"


def row(kind: str, payload: dict[str, Any], at: int = 0, **more: Any) -> dict[str, Any]:
    """A row of a rollout."""
    return {
        "timestamp": f"2026-01-02T03:04:{at:02d}.000Z",
        "type": kind,
        "payload": payload,
        **more,
    }


def said(role: str, text: str, item_id: str | None = None, at: int = 0) -> dict[str, Any]:
    """A message of a rollout."""
    part = "output_text" if role == "assistant" else "input_text"
    payload = {"type": "message", "role": role, "content": [{"type": part, "text": text}]}
    return row("response_item", payload | ({"id": item_id} if item_id else {}), at)


def meta(number: int, **more: Any) -> dict[str, Any]:
    """The first row of a rollout."""
    return row("session_meta", {"id": f"{THREAD}{number}", "cwd": "/p", **more})


def members(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a value at which another value can stand."""
    if isinstance(value, dict):
        items: list[tuple[Any, Any]] = list(as_dict(value).items())
    else:
        items = list(enumerate(as_list(value)))
    for key, one in items:
        yield value, key
        if isinstance(one, dict | list):
            yield from members(one)
