"""Renders pins for clients and as text for a person."""

from collections.abc import Collection, Iterable
from typing import NamedTuple

from trimpoint_protocol.hints import CommandHint
from trimpoint_protocol.readmodel import ContextPin

from trimpoint.core.context.active_context import TrimPlan
from trimpoint.core.context.context_size import share_text, window_of
from trimpoint.core.context.pins import pin_tokens, standing_pins
from trimpoint.core.context.segment_kinds import preview
from trimpoint.core.model import events as ev
from trimpoint.core.model.clock import rfc3339
from trimpoint.core.model.decision import Policy, counted
from trimpoint.core.model.ledger import Pin, TrimPoint, Turn
from trimpoint.core.model.spelling import Said
from trimpoint.core.model.state import ThreadState
from trimpoint.core.model.usage import model_in


def context_pins(state: ThreadState) -> list[ContextPin]:
    """Returns the pins in the order of the ledger."""
    return [_shown(state, pin, number) for number, pin in enumerate(standing_pins(state), 1)]


_HOW_TO_PIN = (
    CommandHint("/pin N", "pins turn N"),
    CommandHint("/pin SENTENCE", "pins that sentence"),
)


def pins_text(state: ThreadState, policy: Policy) -> Said:
    """Returns the pins as text: their total size, then one line for each."""
    pins = context_pins(state)
    if not pins:
        return Said("Nothing is pinned.", _HOW_TO_PIN)
    lines = [f"  {pin.number}. {_name(pin)}, about {pin.est_tokens:,} tokens" for pin in pins]
    return Said("\n".join([pins_weight(state, policy), *lines]))


def pins_weight(state: ThreadState, policy: Policy) -> str:
    """Returns the number and the estimated size of all pins in a sentence."""
    pins = standing_pins(state)
    weight = sum(pin_tokens(state, pin) for pin in pins)
    window = window_of(state.usage, model_in(state.settings), policy)
    share = "" if window is None else f", {_share(weight, window)} of the window"
    return f"{counted(len(pins), 'pin')} of about {weight:,} tokens{share}."


def _share(weight: int, window: int) -> str:
    return share_text(weight, window) if weight * 100 >= window else "less than 1%"


def pin_names(state: ThreadState, pin_ids: Collection[str]) -> str:
    """Returns the pins with these ids as a person calls them: `the note`, `turn 3`."""
    found = [pin for pin in context_pins(state) if pin.id in pin_ids]
    return ", ".join("the note" if pin.turn is None else f"turn {pin.turn}" for pin in found)


def new_pins(events: Iterable[ev.AnyEvent]) -> tuple[str, ...]:
    """Returns the ids of the pins that a record has made."""
    return tuple(one.pin_id for one in events if isinstance(one, ev.ContextPinned))


def unpin_command(state: ThreadState, pin_ids: Collection[str]) -> str:
    """Returns the command that a person must type to remove the pins with these ids."""
    numbers = [str(pin.number) for pin in context_pins(state) if pin.id in pin_ids]
    return " ".join(["/unpin", *numbers])


def pinned_within(state: ThreadState, first_turn: int, end_turn: int) -> list[Turn]:
    """Returns the pinned turns at the positions from `first_turn` up to but not including
    `end_turn`.
    """
    return [
        state.turns[pin.place]
        for pin in standing_pins(state)
        if pin.turn_id is not None and first_turn <= pin.place < end_turn
    ]


class Left(NamedTuple):
    """What a trim took out of the context, without the turns that stayed because they are
    pinned.
    """

    messages: int
    turns: int

    @classmethod
    def of(cls, state: ThreadState, trim: TrimPoint | TrimPlan) -> "Left":
        """Counts what a trim took out, or what a planned one would."""
        turns = trim.pruned_turn_count
        kept = len(trim.kept) if isinstance(trim, TrimPlan) else len(state.turns) - trim.turn_index
        end = len(state.turns) - kept
        pinned = pinned_within(state, end - turns, end)
        messages = trim.pruned_message_count - sum(turn.message_count for turn in pinned)
        return cls(messages, turns - len(pinned))

    def __str__(self) -> str:
        return f"{counted(self.messages, 'message')} in {counted(self.turns, 'turn')}"


def _name(pin: ContextPin) -> str:
    if pin.turn is None:
        return f"note: {pin.note}"
    return f"turn {pin.turn}: {pin.note or pin.preview}"


def _shown(state: ThreadState, pin: Pin, number: int) -> ContextPin:
    index = None if pin.turn_id is None else state.turn_index[pin.turn_id]
    text = pin.note
    if index is not None:
        entries = state.entries_of(state.turns[index])
        text = next((entry.text for entry in entries if entry.role == "user"), "")
    return ContextPin(
        id=pin.id,
        number=number,
        turn_id=pin.turn_id,
        turn=None if index is None else index + 1,
        note=pin.note,
        preview=preview(text),
        est_tokens=pin_tokens(state, pin),
        carried=index is None or index < state.active_from_turn,
        created_at=rfc3339(pin.created_at_ms),
    )
