"""Pins and unpins turns, and says what the model would be shown."""

from typing import Any

from trimpoint.core.context.generations import conversation_items
from trimpoint.core.model.state import ThreadState
from trimpoint_protocol import commands as wire

from tests.core.given import Conversation, client, texts


def pin(thread: Conversation, *turns: int | str, **arguments: Any) -> None:
    act(thread, client(wire.PinContext, turns=list(turns) or None, **arguments))


def unpin(thread: Conversation, *pins: int | str) -> None:
    act(thread, client(wire.UnpinContext, pins=list(pins) or None))


def act(thread: Conversation, command: Any) -> None:
    thread.do(command)
    if thread.state.open_operation is not None:
        thread.settle()


def shown(state: ThreadState) -> list[str]:
    return texts(conversation_items(state))


def said(*numbers: int) -> list[str]:
    return [text for n in numbers for text in (f"prompt of turn-{n}", f"answer of turn-{n}")]
