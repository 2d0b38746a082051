"""Applies undone and redone trims to a thread's state.

An undone trim is kept, so that it can be made again, and so that a revert knows which provider
threads hold a context that it had trimmed.
"""

from trimpoint.core.evolve.revert_folds import count_active_messages, place_boundaries
from trimpoint.core.model import events as ev
from trimpoint.core.model.ledger import undone_trim
from trimpoint.core.model.state import ThreadState

COMPACTIONS = frozenset({"compact", "auto", "overflow"})
"""The triggers of trims that have a summary."""


def undo_trim(state: ThreadState, event: ev.TrimUndone, at_ms: int) -> None:
    """Removes the trim, so that its turns are active again."""
    boundary = next(one for one in state.boundaries if one.id == event.trim_point_id)
    state.trim_points = [point for point in state.trim_points if point is not boundary]
    state.discards = [discard for discard in state.discards if discard is not boundary]
    state.undone = [*state.undone, undone_trim(boundary, event.generation)]
    state.redoable += 1
    state.compaction_count -= boundary.trigger in COMPACTIONS
    count_active_messages(state)


def redo_trim(state: ThreadState, event: ev.TrimRedone, at_ms: int) -> None:
    """Restores the trim that was undone last."""
    undone = state.undone[-1]
    state.undone, state.redoable = state.undone[:-1], state.redoable - 1
    if undone.point is not None:
        state.trim_points = [*state.trim_points, undone.point]
    if undone.discard is not None:
        state.discards = [*state.discards, undone.discard]
    place_boundaries(state)
    state.compaction_count += undone.boundary.trigger in COMPACTIONS
    count_active_messages(state)
