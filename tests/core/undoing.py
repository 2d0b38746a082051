"""Undoes trims in a conversation, and reads what its model is shown."""

from trimpoint.core.context.active_context import turn_items
from trimpoint.core.context.generations import bootstrap_items
from trimpoint.core.model.decision import DiscardPolicy, Policy
from trimpoint.core.model.state import ThreadState
from trimpoint.core.views.timeline import Timeline
from trimpoint_protocol import commands as wire
from trimpoint_protocol.errors import Reason
from trimpoint_protocol.readmodel import ContextTrimPointDivider

from tests.core.given import (
    Conversation,
    client,
    texts,
)

FREE = Policy(discard=DiscardPolicy(floor_tokens=0))


def undo(thread: Conversation, **arguments: object) -> None:
    """Runs `/undo` until its session is ready."""
    thread.do(client(wire.UndoTrim, **arguments))
    thread.settle()


def refusal(thread: Conversation, reason: Reason, **arguments: object) -> str:
    return thread.when(client(wire.UndoTrim, **arguments)).rejected(reason).message


def shown(state: ThreadState) -> list[str]:
    """Returns the texts of the model's input before the next prompt."""
    generation = state.generation
    given = texts(bootstrap_items(state, generation))
    own = [
        turn
        for turn in state.active_turns
        if turn.generation == generation.number and turn.id not in generation.turn_ids
    ]
    return given + [text for turn in own for text in texts(turn_items(state, turn))]


def said(*numbers: int) -> list[str]:
    return [text for n in numbers for text in (f"prompt of turn-{n}", f"answer of turn-{n}")]


def dividers(state: ThreadState) -> list[str]:
    entries = Timeline(state, frozenset())
    return [one.trim_point_id for one in entries if isinstance(one, ContextTrimPointDivider)]
