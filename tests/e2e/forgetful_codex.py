"""A stand-in for Codex that omits messages, as the prompt of a turn tells it to.

`rest`: it reports that it is idle, but never the end of the turn. `deaf`: it answers no interrupt.
`numb`: it answers the interrupt and does nothing. `late`: it answers no interrupt, and ends the
turn when it is asked about the turn. `odd`: the end of the turn has an unknown form. `word`: as
`rest`, with the status as a mere word. `denying`: it refuses the interrupt, because no turn runs.
`contrary`: so, and says that it is at work. `busy`: so, and reports an item; when it is asked about
the thread, it reports a name. A manner of `ENDS`: the end of the turn does not name it.
"""

import json
import sys
from typing import Any

THREAD = "01900000-0000-7000-8000-00000000aaaa"
ENDS: dict[str, dict[str, Any]] = {
    "no turn": {},
    "null turn": {"turn": None},
    "number": {"turn": {"id": 5, "status": "completed"}},
    "other turn": {"turn": {"id": "another", "items": [], "status": "completed", "error": None}},
}
turns: dict[str, dict[str, Any]] = {}
status = {"type": "idle"}
odd: dict[str, Any] = {}
manner = ""


def say(method: str, **params: Any) -> None:
    print(json.dumps({"method": method, "params": {"threadId": THREAD, **params}}), flush=True)


def thread() -> dict[str, Any]:
    return {
        "id": THREAD,
        "cwd": "/",
        "path": None,
        "turns": [],
        "status": status,
        "preview": "",
        "name": None,
        **odd,
    }


def begin(params: dict[str, Any]) -> dict[str, Any]:
    turn = {"id": f"turn-{len(turns) + 1}", "items": [], "status": "inProgress", "error": None}
    turns[str(turn["id"])] = turn
    status["type"] = "active"
    return turn


def carry_on(turn: dict[str, Any]) -> None:
    say("thread/status/changed", status={"type": "active", "activeFlags": []})
    say("turn/started", turn=turn)
    if manner == "word":
        odd["status"] = "idle"
        say("thread/status/changed", status="idle")
    elif manner in ("rest", "told"):
        status["type"] = "idle"
        if manner == "told":
            turn["status"] = "completed"
            turn["items"] = [{"type": "agentMessage", "id": "a", "text": "answered unheard"}]
        say("thread/status/changed", status=status)
    elif manner in ENDS:
        status["type"] = "idle"
        say("thread/status/changed", status=status)
        say("turn/completed", **ENDS[manner])
    elif manner == "odd":
        status["type"] = "idle"
        say("turn/completed", turn={**turn, "status": ["?"], "error": "boom"})


def answer(method: str, params: dict[str, Any]) -> Any:
    match method:
        case "initialize":
            return {
                "userAgent": "codex/0.163.0 (forgetful)",
                "codexHome": "/",
                "platformFamily": "unix",
                "platformOs": "linux",
            }
        case "thread/start" | "thread/resume":
            return {"thread": thread(), "model": "m", "modelProvider": "p", "cwd": "/"}
        case "thread/read":
            return {"thread": thread()}
        case "turn/start":
            return {"turn": begin(params)}
        case "thread/turns/list":
            return {"data": [*turns.values()][::-1], "nextCursor": None}
        case _:
            return {}


def main() -> None:
    """Answers requests, line by line."""
    global manner
    for line in sys.stdin:
        message = json.loads(line)
        method, params = message.get("method"), message.get("params") or {}
        if "id" not in message:
            continue
        if method == "turn/start":
            manner = params["input"][0]["text"]
        if method == "turn/interrupt" and manner in ("deaf", "late"):
            continue
        if method == "turn/interrupt" and manner in ("denying", "contrary", "busy"):
            status["type"] = "idle" if manner == "denying" else "active"
            if manner == "busy":
                item = {"type": "agentMessage", "id": "a", "text": "at work"}
                say("item/completed", turnId=[*turns][-1], item=item)
            error = {"code": -32600, "message": "no active turn"}
            print(json.dumps({"id": message["id"], "error": error}), flush=True)
            continue
        print(json.dumps({"id": message["id"], "result": answer(method, params)}), flush=True)
        if method == "turn/start":
            carry_on([*turns.values()][-1])
        if method == "thread/read" and manner == "busy":
            say("thread/name/updated", threadName="asked")
        if method == "thread/turns/list" and manner == "late":
            say("turn/completed", turn={**[*turns.values()][-1], "status": "interrupted"})


if __name__ == "__main__":
    main()
