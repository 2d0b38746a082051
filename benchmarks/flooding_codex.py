"""A stand-in for Codex that says one delta very often. Standard library only: it runs as a child of
the daemon.

`python flooding_codex.py` speaks app-server over stdio; each `turn/start` is answered with as many
deltas as its text says; with a second word there, the message that they are of is announced.
"""

import json
import os
import sys
from itertools import count
from pathlib import Path
from typing import Any

THREAD_PREFIX = "01a21fb5-fb33-7590-b35e-"
THREAD_ID = THREAD_PREFIX + "000000000001"
"""The first thread's; those of later ones end in 2, 3 …"""
TURN_PREFIX = "01a21fb5-fbb1-77d1-a22a-"
DELTAS_A_WRITE = 1000
_WELCOME = {
    "userAgent": "trimpoint/0.163.0 (scripted)",
    "codexHome": "/tmp",
    "platformFamily": "unix",
    "platformOs": "linux",
}
_numbers = count(1)


def delta_line(thread_id: str = THREAD_ID, turn_id: str = TURN_PREFIX + "000000000001") -> bytes:
    """Returns what Codex sends for a few words of an answer, as long as it is there (261 bytes)."""
    params = {"threadId": thread_id, "turnId": turn_id, "itemId": "msg_2", "delta": "x" * 60}
    return _line(
        {"method": "item/agentMessage/delta", "params": params, "emittedAtMs": 1795828351389}
    )


def launcher(folder: Path) -> Path:
    """An executable that runs this, to be named as the Codex binary."""
    script = folder / "codex"
    script.write_text(f"#!/bin/sh\nexec {sys.executable} -I -S {Path(__file__).resolve()}\n")
    script.chmod(0o755)
    return script


def _line(message: dict[str, Any]) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def _say(message: dict[str, Any]) -> None:
    _write(_line(message))


def _write(data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(1, rest) :]


def _answer(request: dict[str, Any]) -> None:
    match request["method"]:
        case "initialize":
            _say({"id": request["id"], "result": _WELCOME})
        case "thread/start":
            _say({"id": request["id"], "result": _thread(f"{THREAD_PREFIX}{next(_numbers):012d}")})
        case "thread/resume":
            _say({"id": request["id"], "result": _thread(request["params"]["threadId"])})
        case "turn/start":
            _run_turn(request)
        case _:
            _say({"id": request["id"], "result": {}})


def _thread(thread_id: str) -> dict[str, Any]:
    thread: dict[str, Any] = {
        "id": thread_id,
        "cwd": "/tmp",
        "path": None,
        "turns": [],
        "status": {"type": "idle"},
    }
    return {"thread": thread, "model": "m"}


def _run_turn(request: dict[str, Any]) -> None:
    thread_id = request["params"]["threadId"]
    turn_id = f"{TURN_PREFIX}{request['id']:012d}"
    turn: dict[str, Any] = {"id": turn_id, "items": [], "status": "inProgress"}
    _say({"id": request["id"], "result": {"turn": turn}})
    _say({"method": "turn/started", "params": {"threadId": thread_id, "turn": turn}})
    count, *shown = request["params"]["input"][0]["text"].split()
    if shown:  # for a client that shows the answer, and so has to know what it is of
        item = {"type": "agentMessage", "id": "msg_2", "text": ""}
        where = {"threadId": thread_id, "turnId": turn_id, "startedAtMs": 1}
        _say({"method": "item/started", "params": {**where, "item": item}})
    deltas = delta_line(thread_id, turn_id) * DELTAS_A_WRITE
    for _ in range(int(count) // DELTAS_A_WRITE):
        _write(deltas)
    ended = turn | {"status": "completed", "error": None}
    _say({"method": "turn/completed", "params": {"threadId": thread_id, "turn": ended}})


if __name__ == "__main__":
    for received in sys.stdin.buffer:
        if "id" in (decoded := json.loads(received)):
            _answer(decoded)
