"""Applies the events of a turn that is repeated, so that it stays one turn."""

from trimpoint.core.context.active_context import without_prompt
from trimpoint.core.model import events as ev
from trimpoint.core.model.state import ThreadState


def request_recovery(state: ThreadState, event: ev.OverflowRecoveryRequested, at_ms: int) -> None:
    """Records the failed turn in the open operation."""
    assert state.operation is not None
    state.operation.failed_turn_id = event.turn_id


def retry_turn(state: ThreadState, event: ev.TurnRetried, at_ms: int) -> None:
    """Restarts the turn in its new generation. Its prompt is removed from its items, because Codex
    will report it again, after the items of the first attempt.
    """
    turn = state.turns[state.turn_index[event.turn_id]]
    turn.items = without_prompt(turn.items, later_prompts(state, event.turn_id))
    turn.earlier_items, turn.items_complete = len(turn.items), False
    turn.first_generation, turn.generation = turn.generation, event.generation
    turn.provider_turn_id = event.provider_turn_id
    turn.status, turn.completed_at_ms, turn.error, turn.error_kind = "running", None, None, ""
    turn.report, turn.injected = None, 0
    state.turn_aliases[event.provider_turn_id] = event.turn_id
    state.running_turn_id, state.hold = event.turn_id, None
    state.generations[event.generation - 1].turn_count += 1


def later_prompts(state: ThreadState, turn_id: str) -> list[str]:
    """Returns the texts of the prompts that were added while the turn ran."""
    entries = state.entries_of(state.turns[state.turn_index[turn_id]])
    return [entry.text for entry in entries if entry.role == "user"][1:]
