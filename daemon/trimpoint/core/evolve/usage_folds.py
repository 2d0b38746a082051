"""Applies usage reports and changes of settings to a thread's token counts."""

from collections.abc import Iterable
from itertools import takewhile

import msgspec

from trimpoint.core.context.measured_sizes import is_as_measured, measured_turn
from trimpoint.core.evolve.compaction_attempts import note_lowest
from trimpoint.core.model import events as ev
from trimpoint.core.model.ledger import Turn
from trimpoint.core.model.state import FirstCall, ThreadState
from trimpoint.core.model.tokens import estimate_total
from trimpoint.core.model.usage import (
    UsageSample,
    add_report,
    model_in,
    overflowed,
)


def report_usage(state: ThreadState, event: ev.UsageReported, at_ms: int) -> None:
    """Applies a usage report and stores it in its turn, for a later revert to this turn."""
    is_live = event.turn_id == state.running_turn_id
    add_report(state.usage, event, at_ms, state.settings, is_live=is_live)
    note_lowest(state)
    index = state.turn_index.get(event.turn_id)
    if index is None:
        return
    _note_report(state, state.turns[index])
    generation = state.generation
    if (
        generation.first_call is None
        and event.input > 0
        and state.turns[index].generation == generation.number
    ):
        generation.first_call = FirstCall(event.turn_id, event.input)


def _note_report(state: ThreadState, turn: Turn) -> None:
    turn.report = state.usage.report
    state.generations[turn.generation - 1].is_reported = True


def weigh_injected(state: ThreadState, items: Iterable[bytes]) -> None:
    """Adds the estimated tokens of items that were injected between turns. The next usage report
    will include them.
    """
    if state.running_turn_id is None:
        state.usage.unreported += estimate_total(items)


def change_settings(state: ThreadState, event: ev.SettingsChanged, at_ms: int) -> None:
    """Replaces the settings. If the model changes, its window is unknown until it is reported."""
    before, state.settings = model_in(state.settings), event.settings
    if before is not None and model_in(event.settings) != before:
        state.usage.window = None
        # A compaction that did not help in a small window may help in a large one.
        state.auto_attempts.clear()


def note_overflow(state: ThreadState, turn: Turn) -> None:
    """Marks the context as full if the overflowed turn is the newest one of the present
    generation.
    """
    if turn is state.turns[-1] and turn.generation == state.generation.number:
        overflowed(state.usage)
        _note_report(state, turn)


def report_before_revert(state: ThreadState) -> UsageSample | None:
    """Returns the last usage report of the remaining turns of the present generation, or None."""
    if not state.generation.is_reported:
        return None
    current = state.generation.number
    left = takewhile(lambda turn: turn.generation == current, reversed(state.turns))
    return next((turn.report for turn in left if turn.report is not None), None)


def report_before_trim(state: ThreadState) -> UsageSample | None:
    """Returns the measured size of the context that the undo of a trim has brought back; None if it
    was not measured, or something has come into the context since.

    The new provider thread counts its running total anew.
    """
    turn = measured_turn(state, state.generation.number)
    if turn is None or turn.report is None or not is_as_measured(state, turn):
        return None
    return msgspec.structs.replace(turn.report, running_total=0)
