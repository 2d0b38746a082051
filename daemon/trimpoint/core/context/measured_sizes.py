"""Finds the size that a context was measured to have, after the trims since then were undone."""

from collections.abc import Iterator
from itertools import islice

from trimpoint.core.model.ledger import Turn
from trimpoint.core.model.state import ThreadState
from trimpoint.core.model.usage import SampleSource

MAX_LOOKED_AT = 200
"""The most turns that may have run since the measurement."""


def measured_turn(state: ThreadState, number: int) -> Turn | None:
    """Returns the newest turn whose last report measured what the generation `number`, which undoes
    a trim, begins with, but for what has come since; None if there is none.

    :param state: the state with the trims of that generation in force.
    """
    generations = set(_with_the_same_trims(state, number))
    compacted = {*state.compacted_in, *state.compacted_behind}
    for turn in islice(reversed(state.turns), MAX_LOOKED_AT):
        if turn.id in compacted:
            return None  # Codex showed less of the turns before than an undo brings back
        measured = turn.report is not None and turn.report.basis is SampleSource.MEASURED
        if measured and turn.generation in generations:
            return turn
    return None


def is_as_measured(state: ThreadState, turn: Turn) -> bool:
    """Returns whether nothing has come into the context since the turn's last report."""
    return turn is state.turns[-1] and not turn.injected and not state.injected_before_next


def _with_the_same_trims(state: ThreadState, number: int) -> Iterator[int]:
    """Yields the numbers of the generations since which only trims were made that are undone now,
    without those in which one of them was in force, newest first.
    """
    made = {one.boundary.generation for one in state.undone}
    before = number - 1
    while True:  # no trim opens the first generation
        if not any(one.boundary.generation <= before < one.undone_in for one in state.undone):
            yield before
        if before not in made and state.generations[before - 1].reason not in ("undo", "redo"):
            return
        before -= 1
