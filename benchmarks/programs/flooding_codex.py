"""A stand-in for Codex that sends deltas at a high rate. Uses only the standard library, and runs
as the daemon's child.

`python flooding_codex.py` speaks the app-server protocol over stdio. Each `turn/start` is answered
with the number of deltas that its text names; if the text has a second word, their message is
announced first.
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
    """Returns one delta notification of typical size (261 bytes)."""
    params = {"threadId": thread_id, "turnId": turn_id, "itemId": "msg_2", "delta": "x" * 60}
    return _line(
        {"method": "item/agentMessage/delta", "params": params, "emittedAtMs": 1795828351389}
    )


def launcher(folder: Path) -> Path:
    """Creates an executable that runs this module, to be used as the Codex binary."""
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
        case "thread/turns/list":  # an empty list would tell that all turns were taken back
            error = {"code": -32601, "message": "thread/turns/list is not supported yet"}
            _say({"id": request["id"], "error": error})
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
