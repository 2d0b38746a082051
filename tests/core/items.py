"""Raw items, and turns with them, as Codex records them (measured: 0.163), for tests of
discards.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
from trimpoint.core.model import events as ev

from tests.core.given import Conversation, raw

Item = dict[str, Any]


def message(role: str, text: str, **more: Any) -> Item:
    part = "input_text" if role == "user" else "output_text"
    return {"type": "message", "role": role, "content": [{"type": part, "text": text}], **more}


def call(call_id: str, command: str = "ls", **more: Any) -> Item:
    arguments = msgspec.json.encode({"cmd": command}).decode()
    return {
        "type": "function_call",
        "id": f"fc_{call_id}",
        "call_id": call_id,
        "name": "exec_command",
        "arguments": arguments,
        **more,
    }


def output(call_id: str, text: str = "done") -> Item:
    return {"type": "function_call_output", "call_id": call_id, "output": text}


def thought(item_id: str = "rs_1", sealed: str | None = "SEALED") -> Item:
    return {"type": "reasoning", "id": item_id, "summary": [], "encrypted_content": sealed}


def ran(
    turn_id: str, call_id: str, command: str = "ls", actions: Sequence[str] = ("unknown",)
) -> ev.EntryRecorded:
    detail = {
        "type": "commandExecution",
        "command": f"/bin/bash -lc '{command}'",
        "commandActions": [{"type": kind} for kind in actions],
    }
    return ev.EntryRecorded(
        turn_id,
        call_id,
        "activity",
        "commandExecution",
        detail["command"],
        msgspec.json.encode(detail),
    )


def changed(turn_id: str, call_id: str) -> ev.EntryRecorded:
    return ev.EntryRecorded(
        turn_id, call_id, "activity", "fileChange", "a.py", raw(type="fileChange")
    )


def turn(
    thread: Conversation,
    prompt: str,
    answer: str,
    *work: tuple[Item | ev.EntryRecorded, ...] | Item,
    status: str = "completed",
) -> str:
    """Runs a turn with a prompt, work and a last answer. An item may come with its ledger entry."""
    turn_id = thread.begin_turn(prompt)
    seen: list[Item] = [message("user", prompt, id=f"raw {prompt}")]
    for step in work:
        for part in step if isinstance(step, tuple) else (step,):
            if isinstance(part, ev.EntryRecorded):
                thread.report(msgspec.structs.replace(part, turn_id=turn_id))
            else:
                seen.append(part)
    answer_id = f"msg_{turn_id}"
    thread.report(ev.EntryRecorded(turn_id, answer_id, "message", "assistant", answer))
    seen.append(message("assistant", answer, id=answer_id))
    thread.report(
        ev.ContextItemsRecorded(turn_id, tuple(raw(**item) for item in seen)),
        ev.TurnCompleted(turn_id, status),
    )
    return turn_id


def decoded(items: Sequence[bytes]) -> list[Item]:
    return [msgspec.json.decode(item) for item in items]
