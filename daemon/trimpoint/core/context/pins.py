"""Pins: turns and notes that stay in the active context word for word, whatever is trimmed
(docs/spec/context.md).

Each pinned thing is in the context once. A pinned turn of the active turns is in its normal place.
Earlier pinned turns follow the summary in the order of the ledger, and so do notes, each before the
turn that came next when it was made.
"""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from trimpoint.core.context.active_context import message_item, placed_items
from trimpoint.core.model.ledger import Pin, Turn
from trimpoint.core.model.state import ThreadState
from trimpoint.core.model.tokens import estimate_text_tokens, estimate_tokens

NOTE_PREFIX = "<pinned-note>"


def carried_pins(
    state: ThreadState, kept_ids: Iterable[str], ledger: Sequence[Turn] | None = None
) -> list[Pin]:
    """Returns the pins that a context must carry in addition to the kept turns: all notes, and the
    pinned turns before the first kept turn.
    """
    if not state.pins:
        return []
    kept = list(kept_ids)
    places = _places(state, ledger)
    first = min((places[turn_id] for turn_id in kept), default=len(places))
    return [
        pin
        for pin in standing_pins(state, places)
        if pin.turn_id is None or places[pin.turn_id] < first
    ]


def standing_pins(state: ThreadState, places: Mapping[str, int] | None = None) -> list[Pin]:
    """Returns the pins in the order of the ledger, without those of turns that a revert took
    back.
    """
    at = state.turn_index if places is None else places
    standing = [pin for pin in state.pins if pin.turn_id is None or pin.turn_id in at]
    return sorted(standing, key=lambda pin: (pin.place, pin.turn_id is not None))


def pin_items(
    state: ThreadState, pin_ids: Iterable[str], ledger: Sequence[Turn] | None = None
) -> list[bytes]:
    """Returns the raw items of the pins with these ids, in the order of the ids."""
    if not (wanted := list(pin_ids)):
        return []
    pins = {pin.id: pin for pin in state.pins}
    turns = {turn.id: turn for turn in ledger} if ledger is not None else None
    items: list[bytes] = []
    for pin in (pins[pin_id] for pin_id in wanted if pin_id in pins):
        items.extend(_items(state, pin, turns))
    return items


def pinned_turns(state: ThreadState) -> list[Turn]:
    """Returns the pinned turns of the ledger."""
    ids = (pin.turn_id for pin in standing_pins(state))
    return [state.turns[state.turn_index[turn_id]] for turn_id in ids if turn_id is not None]


def pin_tokens(state: ThreadState, pin: Pin) -> int:
    """Returns the estimated tokens of a pin. If the turn's raw items are not loaded, they are
    estimated from its entries.
    """
    if pin.turn_id is None:
        return estimate_tokens(note_item(pin.note))
    index = state.turn_index[pin.turn_id]
    turn = state.turns[index]
    if turn.items:
        return sum(estimate_tokens(item) for _, item in placed_items(state, turn))
    entries = state.entries[turn.first_entry_index : state.entries_end(index)]
    return sum(
        estimate_tokens(message_item(entry))
        if entry.kind == "message"
        else estimate_tokens(entry.detail)
        if entry.detail
        else estimate_text_tokens(entry.text)
        for entry in entries
        if not entry.is_part
    )


def note_item(note: str) -> bytes:
    """Returns a raw item for a pinned note: a user message that is marked as a note."""
    text = f"{NOTE_PREFIX}{note}</pinned-note>"
    content = [{"type": "input_text", "text": text}]
    return msgspec.json.encode({"type": "message", "role": "user", "content": content})


def _items(state: ThreadState, pin: Pin, turns: dict[str, Turn] | None) -> list[bytes]:
    if pin.turn_id is None:
        return [note_item(pin.note)]
    turn = turns[pin.turn_id] if turns is not None else state.turns[state.turn_index[pin.turn_id]]
    return [item for _, item in placed_items(state, turn)]


def _places(state: ThreadState, ledger: Sequence[Turn] | None) -> Mapping[str, int]:
    if ledger is None:
        return state.turn_index
    return {turn.id: place for place, turn in enumerate(ledger)}
