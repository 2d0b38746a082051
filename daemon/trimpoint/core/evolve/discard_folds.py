"""Applies discards and masks to a thread's state."""

from collections.abc import Iterable, Sequence
from itertools import islice
from operator import attrgetter

from trimpoint.core.model import events as ev
from trimpoint.core.model.ledger import Discard, qualified_entry_id
from trimpoint.core.model.state import ThreadState

Removal = ev.ContextDiscarded | ev.ContextMasked


def discard(state: ThreadState, event: Removal, at_ms: int) -> None:
    """Records a discard."""
    keep_discard(made_of(state, event), state, event, at_ms)


def keep_discard(made: Discard, state: ThreadState, event: Removal, at_ms: int) -> None:
    """Records the discard that was `made_of` the event."""
    state.discards.append(made)
    state.redoable = 0


def made_of(state: ThreadState, event: Removal) -> Discard:
    """Returns the discard of an event. It may name all of a long thread, so that it is made ahead
    where others would wait.
    """
    entries, messages = _entries_named(
        state, [turn_id for turn_id, _ in event.items], event.entry_ids
    )
    made = Discard(
        id=event.trim_point_id,
        created_at_ms=event.created_at_ms,
        entry_ids=event.entry_ids,
        positions=dict(event.items),
        entries=entries,
        messages=messages,
        generation=event.generation,
        trigger=event.trigger,
        est_tokens=event.est_tokens,
        turn_index=len(state.turns),
        entry_index=len(state.entries),
    )
    if isinstance(event, ev.ContextMasked):
        turn_ids = [turn_id for turn_id, _ in event.masks]
        made.masked, _ = _entries_named(state, turn_ids, event.masked_entry_ids)
        made.masked_entry_ids = event.masked_entry_ids
        made.masks = {turn_id: dict(of_turn) for turn_id, of_turn in event.masks}
        made.used_tokens = event.used_tokens
    return made


def _entries_named(
    state: ThreadState, turn_ids: Iterable[str], entry_ids: Sequence[str]
) -> tuple[dict[str, tuple[str, ...]], dict[str, int]]:
    """Returns the ids of those entries of the turns that `entry_ids` name, and the number of
    messages among them, by turn.

    A discard may name all of a long thread, or thousands of entries of one turn, so little is
    called here for each entry.
    """
    ids: dict[str, list[str]] = {turn_id: [] for turn_id in turn_ids}
    if not ids:
        return {}, {}
    messages = dict.fromkeys(ids, 0)
    names = frozenset(entry_ids)
    qualified = {name for name in entry_ids if "#" in name}
    first = state.active_from_turn
    are_active = ids.keys() <= set(map(attrgetter("id"), islice(state.turns, first, None)))
    start = state.turns[first].first_entry_index if are_active else 0
    for entry in islice(state.entries, start, None):
        turn_id = entry.turn_id
        if (
            entry.id in names or (qualified and qualified_entry_id(turn_id, entry.id) in qualified)
        ) and turn_id in ids:
            ids[turn_id].append(entry.id)
            messages[turn_id] += entry.is_message_of_model
    return {turn_id: tuple(found) for turn_id, found in ids.items()}, messages
