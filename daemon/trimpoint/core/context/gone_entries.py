"""Derives which entries have left the context although their turn is in it: those that a discard
took out, and those that the recovery from an overflow has cut off, where its cut falls within a
turn.

The trim point of such a recovery lies before the turn, which stays whole in the ledger. The summary
covers the turn's first raw items, and no others.
"""

from collections.abc import Iterator

import msgspec

from trimpoint.core.context.groups import grouped
from trimpoint.core.model.ledger import Boundary, Discard
from trimpoint.core.model.state import ThreadState

EntryKey = tuple[str, str]
"""The id of a turn, and that of one of its entries."""


def gone_entries(state: ThreadState) -> dict[EntryKey, Boundary]:
    """Returns the discard or the trim point of each such entry."""
    gone: dict[EntryKey, Boundary] = {}
    for key in _cut_off(state):
        gone[key] = state.trim_points[-1]
    for discard in state.discards:
        for turn_id, entry_ids in discard.entries.items():
            gone.update(dict.fromkeys(((turn_id, entry_id) for entry_id in entry_ids), discard))
    return gone


def masked_entries(state: ThreadState) -> frozenset[EntryKey]:
    """Returns the entries whose output or images are masked."""
    return frozenset(
        (turn_id, entry_id)
        for discard in state.discards
        for turn_id, entry_ids in discard.masked.items()
        for entry_id in entry_ids
    )


def _cut_off(state: ThreadState) -> Iterator[EntryKey]:
    """Yields the entries of the first turn of the context that the summary stands for. An entry
    without an item of its own goes with the ones behind it.
    """
    skipped = state.generation.skipped_items
    if not skipped or not state.trim_points or not state.active_turn_count:
        return
    first = state.active_from_turn
    turn = state.turns[first]
    entries = state.entries[turn.first_entry_index : state.entries_end(first)]
    places = {id(entry): at for at, entry in enumerate(entries)}
    seen, end = set[int](), 0
    for group in grouped([msgspec.json.decode(item) for item in turn.items], entries):
        of_group = [places[id(entry)] for entry in group.entries]
        if group.positions[-1] >= skipped:
            seen.update(of_group)
        else:
            end = max([end, *(at + 1 for at in of_group)])
    yield from ((turn.id, one.id) for at, one in enumerate(entries[:end]) if at not in seen)


def turns_before(state: ThreadState, boundary: Boundary) -> int:
    """Returns how many turns stand before a boundary where a person reads it: a summary of single
    turns stands behind these, everything else where it was made.
    """
    if not isinstance(boundary, Discard) or boundary.summary is None:
        return boundary.turn_index
    return max(state.turn_index[turn_id] for turn_id in boundary.positions) + 1


def entries_before(state: ThreadState, boundary: Boundary) -> int:
    """Returns the same as a number of entries."""
    if not isinstance(boundary, Discard) or boundary.summary is None:
        return boundary.entry_index
    return state.entries_end(turns_before(state, boundary) - 1)
