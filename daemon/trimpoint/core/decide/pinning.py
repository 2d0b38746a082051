"""The rules of `/pin` and `/unpin`: what may be pinned, and when a pin needs a new generation
(docs/spec/context.md).

A pinned turn that is in the active context stays in its place. A turn that was trimmed before, or a
note, enters the context at once with a new generation; if part of the context is sealed, it enters
with the next trim.
"""

import re

import msgspec
from trimpoint_protocol import commands as wire
from trimpoint_protocol.errors import Reason
from trimpoint_protocol.hints import CommandHint

from trimpoint.core.context.active_context import has_sealed_summary
from trimpoint.core.context.context_size import window_of
from trimpoint.core.context.generations import reopened_generation
from trimpoint.core.context.pins import pin_tokens, standing_pins
from trimpoint.core.context.removals import discarded_positions
from trimpoint.core.decide.overflow import compacted_by_codex
from trimpoint.core.decide.revisions import turn_named
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import (
    LISTED,
    Accepted,
    Decision,
    Policy,
    Rejected,
    Stamp,
    when_idle,
)
from trimpoint.core.model.ledger import Pin
from trimpoint.core.model.state import ThreadState
from trimpoint.core.model.usage import model_in

MAX_NOTE_CHARS = 2_000
# An entry of the history or of the context, with or without its thread.
_ENTRY_ID = re.compile(r"([0-9a-f-]{4,36}:)?[hm][0-9]+\.[0-9]+")
_LISTED = (CommandHint("/pins", "lists them"),)
_TO_PIN = (CommandHint("/pin N", "pins turn N"), CommandHint("/pin sentence", "pins a sentence"))
_BACK = (CommandHint("/undo", "takes back the last trim"),)
_ROOM = (CommandHint("/unpin", "makes room"),)


def pin(state: ThreadState, command: wire.PinContext, stamp: Stamp, policy: Policy) -> Decision:
    """Decides `/pin`: returns the pins, with a new generation if a pin adds something to the
    context, or the rejection.
    """
    if state.archived:
        return when_idle(state, "pin in") or Accepted(())
    new = _new_pins(state, command, stamp)
    if isinstance(new, Rejected):
        return new
    after = msgspec.structs.replace(state, pins=[*state.pins, *new])
    if (refusal := _exceeds_pins_share(after, policy)) is not None and not command.force:
        return refusal
    events = tuple(ev.ContextPinned(state.id, one.id, one.turn_id, one.note) for one in new)
    comes_in = any(one.turn_id is None or one.place < state.active_from_turn for one in new)
    return _reopened(state, after, events, stamp, "pin") if comes_in else Accepted(events)


def unpin(state: ThreadState, command: wire.UnpinContext, stamp: Stamp) -> Decision:
    """Decides `/unpin`: returns the removed pins, with a new generation if the context holds
    something only because it was pinned, or the rejection.
    """
    standing = standing_pins(state)
    if not standing:
        return Rejected(
            Reason.NOTHING_TO_UNDO, "Nothing to unpin: nothing is pinned.", hints=_TO_PIN
        )
    gone: list[Pin] = []
    for name in command.pins or [max(standing, key=lambda one: one.created_at_ms).id]:
        found = _named(standing, name)
        if found is None:
            return Rejected(Reason.ENTRY_NOT_FOUND, f"There is no pin {name}.", hints=_LISTED)
        gone.append(found)
    events = tuple(ev.ContextUnpinned(state.id, one.id) for one in dict.fromkeys(gone))
    after = msgspec.structs.replace(state, pins=[one for one in state.pins if one not in gone])
    carried = any(one.id in state.generation.pins for one in gone)
    return _reopened(state, after, events, stamp, "unpin") if carried else Accepted(events)


def _named(pins: list[Pin], name: str | int) -> Pin | None:
    if isinstance(name, int):
        return pins[name - 1] if 0 < name <= len(pins) else None
    return next((one for one in pins if one.id == name), None)


def _new_pins(state: ThreadState, command: wire.PinContext, stamp: Stamp) -> list[Pin] | Rejected:
    note = (command.note or "").strip()
    if len(note) > MAX_NOTE_CHARS:
        return Rejected(Reason.USAGE, f"A note has at most {MAX_NOTE_CHARS:,} characters.")
    if _ENTRY_ID.fullmatch(note):
        said = f"“{note}” is the id of an entry. A pin is of a whole turn, or of a sentence."
        return Rejected(Reason.USAGE, said, hints=(CommandHint("/timeline", "numbers the turns"),))
    if note and not command.turns:
        return [Pin(stamp.id, None, note, stamp.now_ms, len(state.turns))]
    places = _places(state, command.turns)
    if isinstance(places, Rejected):
        return places
    pinned = {one.turn_id for one in state.pins}
    wanted = [place for place in places if state.turns[place].id not in pinned]
    if cleared := [place for place in wanted if _was_cleared(state, place)]:
        said = f"Turn {cleared[0] + 1} was cleared out of the middle of the context."
        return Rejected(Reason.ALREADY_DISCARDED, said, hints=_BACK)
    return [
        Pin(f"{stamp.id}.{place + 1}", state.turns[place].id, note, stamp.now_ms, place)
        for place in wanted
    ]


def _was_cleared(state: ThreadState, place: int) -> bool:
    """Returns whether the turn is among those of the context, but nothing of it is left there."""
    turn = state.turns[place]
    if place < state.active_from_turn or not turn.items:
        return False
    return len(discarded_positions(turn.id, state.discards)) == len(turn.items)


def _places(state: ThreadState, turns: list[str | int] | None) -> list[int] | Rejected:
    """Returns the positions of the named turns in the ledger, sorted; the last turn if none is
    named.
    """
    if not state.turns:
        return Rejected(
            Reason.TURN_NOT_FOUND, "The thread has no turn that could be pinned.", hints=_TO_PIN
        )
    places: list[int] = []
    for named in turns or [len(state.turns)]:
        number = named if isinstance(named, int) else turn_named(state, named)
        if isinstance(number, Rejected):
            return number
        if not 0 < number <= len(state.turns):
            return Rejected(Reason.TURN_NOT_FOUND, f"The thread has no turn {named}.", hints=LISTED)
        places.append(number - 1)
    return sorted(set(places))


def _exceeds_pins_share(after: ThreadState, policy: Policy) -> Rejected | None:
    window = window_of(after.usage, model_in(after.settings), policy)
    if window is None:
        return None
    weight = sum(pin_tokens(after, one) for one in standing_pins(after))
    room = int(policy.pins_share * window)
    if weight <= room:
        return None
    what = f"All pins would weigh about {weight:,} tokens"
    limit = f"and pins may hold {policy.pins_share:.0%} of the window, {room:,}"
    return Rejected(Reason.DOES_NOT_FIT, f"Not pinned: {what}, {limit}.", hints=_ROOM)


def _reopened(
    state: ThreadState, after: ThreadState, events: tuple[ev.AnyEvent, ...], stamp: Stamp, kind: str
) -> Decision:
    if has_sealed_summary(state) or compacted_by_codex(state):
        return Accepted(events)
    if (refusal := when_idle(state, f"{kind} in")) is not None:
        return refusal
    opened = reopened_generation(after, kind)
    number = opened.generation
    return Accepted(
        (
            ev.OperationStarted(stamp.id, kind),
            *events,
            opened,
            ev.SessionStopRequested(number - 1),
            ev.SessionStartRequested(number),
        ),
        stamp.id,
    )
