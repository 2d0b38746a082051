"""Items of turns that did not fit."""

from collections.abc import Sequence

import msgspec
from trimpoint.core.model import events as ev

from tests.core.given import (
    Conversation,
    raw,
    raw_message,
)

LONG = "word " * 200


def call(call_id: str) -> bytes:
    return raw(type="function_call", call_id=call_id, name="exec_command", arguments="{}")


def output(call_id: str) -> bytes:
    return raw(type="function_call_output", call_id=call_id, output="done")


def ask(text: str) -> bytes:
    return raw_message("user", text)


def answer(text: str) -> bytes:
    return raw_message("assistant", text)


def worked(thread: Conversation, *items: bytes, prompt: str = "") -> str:
    """Runs a turn with these items after its prompt, and lets it not fit. Returns its id."""
    turn_id = thread.begin_turn(prompt)
    thread.report(ev.ContextItemsRecorded(turn_id, (ask(thread.prompts[turn_id]), *items)))
    thread.fail_to_fit(turn_id)
    return turn_id


def said(items: Sequence[bytes]) -> list[str]:
    """Returns the text of each message, and the type of each other item."""
    decoded = [msgspec.json.decode(item) for item in items]
    return [
        item["content"][0]["text"] if item["type"] == "message" else item["type"]
        for item in decoded
    ]


def of_turns(*numbers: int) -> list[str]:
    return [f"{part} of turn-{number}" for number in numbers for part in ("prompt", "answer")]


def summary(text: str, messages: int) -> str:
    return f"<conversation-summary messages={messages}>{text}</conversation-summary>"
