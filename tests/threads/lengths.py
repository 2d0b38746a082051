"""Threads of thousands of turns, made in a moment."""

from typing import Any

import msgspec
from trimpoint.core.model.ledger import Entry, Turn
from trimpoint.core.model.state import Checkpoint, ThreadState


def item(**members: Any) -> bytes:
    return msgspec.json.encode(members)


ITEMS = [
    item(type="message", role="user", content=[{"type": "input_text", "text": "go on"}]),
    item(type="function_call", name="shell", arguments="{}", call_id="c"),
    item(type="function_call_output", call_id="c", output="a long output"),
    item(type="message", role="assistant", content=[{"type": "output_text", "text": "done"}]),
]
COMMAND = item(type="commandExecution", id="c", command="ls", status="completed")


def lengthen(state: ThreadState, turns: int) -> None:
    """Gives a thread so many turns, all of them in its context."""
    entries, checkpoints = list[Entry](), list[Checkpoint]()
    for number in range(turns):
        name = f"T{number}"
        state.turn_index[name] = number
        turn = Turn(name, 1, 0, len(entries), "completed", 1, message_count=2)
        # What a context holds is looked at in threads, which need not take long here.
        turn.items = [*ITEMS] if number % 10 == 0 else ITEMS[:1]
        turn.items_complete = True
        state.turns.append(turn)
        for end, kind, role, text in (
            ("u", "message", "user", "go on"),
            ("c", "activity", "commandExecution", "ls"),
            ("a", "message", "assistant", "done"),
        ):
            detail = b"" if kind == "message" else COMMAND
            entry = Entry(f"{end}{number}", name, kind, role, text, 0, detail)
            state.entry_turns[entry.id] = number
            entries.append(entry)
        checkpoints += [
            Checkpoint(name, moment, 0, "/r", "r", "c") for moment in ("before", "after")
        ]
    state.entries, state.checkpoints = entries, checkpoints
    state.message_count = state.active_messages = 2 * turns
