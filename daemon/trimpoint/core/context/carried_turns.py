"""Records turns and pins of one thread in another thread that begins with them."""

from collections.abc import Iterator, Sequence

from trimpoint.core.context.active_context import placed_items
from trimpoint.core.context.pins import standing_pins
from trimpoint.core.model import events as ev
from trimpoint.core.model.ledger import Entry, Turn
from trimpoint.core.model.state import ThreadState


def carried_turn(
    state: ThreadState, turn: Turn, items: Sequence[bytes], injected: int
) -> Iterator[ev.AnyEvent]:
    """Yields the events that record a turn of `state` in the first generation of another thread.

    `items` are the turn's raw items in the other thread; the last `injected` of them were injected
    after the turn's end.
    """
    index = state.turn_index[turn.id]
    yield ev.TurnStarted(turn.id, 1)
    for entry in state.entries[turn.first_entry_index : state.entries_end(index)]:
        yield carried_entry(entry)
    if items:
        yield ev.ContextItemsRecorded(turn.id, tuple(items), "rollout", injected)
    elif turn.injected_apart:  # its own items are read when they are needed
        apart = tuple(turn.injected_apart)
        yield ev.ContextItemsRecorded(turn.id, apart, injected=len(apart))
    yield ev.TurnCompleted(turn.id, turn.status, turn.error, False, turn.error_kind)


def carried_entry(entry: Entry) -> ev.EntryRecorded:
    """Returns the event that records an entry in another thread."""
    extent = ev.PART if entry.is_part else ""
    return ev.EntryRecorded(
        entry.turn_id, entry.id, entry.kind, entry.role, entry.text, entry.detail, extent
    )


def carried_pins_of(state: ThreadState, thread_id: str) -> tuple[ev.AnyEvent, ...]:
    """Returns the events that record the pins of `state` in a new thread: each pinned turn with its
    raw items in the context, and each pin: first the notes, then the turns, in the order of the
    ledger.
    """
    events: list[ev.AnyEvent] = []
    for pin in sorted(standing_pins(state), key=lambda pin: pin.turn_id is not None):
        if pin.turn_id is not None:
            turn = state.turns[state.turn_index[pin.turn_id]]
            items = [item for _, item in placed_items(state, turn)]
            events.extend(carried_turn(state, turn, items, 0))
        events.append(ev.ContextPinned(thread_id, pin.id, pin.turn_id, pin.note))
    return tuple(events)
