"""What every driven operation does: write down where it stands, and have the raw items of turns at hand."""

from collections.abc import Iterable

import anyio

from trimpoint.codex.history.rollout import items_by_turn, rollout_lines
from trimpoint.core.context.active_context import without_prompt
from trimpoint.core.evolve.retry_folds import later_prompts
from trimpoint.core.model import commands as internal
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Rejected
from trimpoint.core.model.operations import Phase
from trimpoint.core.model.state import Operation, ThreadState, Turn
from trimpoint.threads.errors import CommandRefused
from trimpoint.threads.writer import ThreadWriter

ItemsByTurn = dict[str, list[bytes]]


async def journal_phase(
    writer: ThreadWriter, operation: Operation, phase: Phase, message: str, reason: str = "", *facts: ev.AnyEvent
) -> None:
    """Journal a step that has to survive before anything builds on it.

    :raises CommandRefused: the operation is not in a phase that this can follow.
    :raises JournalRefuses: it could not be written down.
    """
    await writer.execute(internal.AdvanceOperation(operation.id, phase, message, reason, facts))


def journal_phase_deferred(writer: ThreadWriter, operation: Operation, phase: Phase, message: str, *facts: ev.AnyEvent) -> None:
    """Journal a step that may be taken again: it is appended now and durable with the next one that has to be.

    :raises CommandRefused: see `journal_phase`.
    :raises JournalRefuses: see `journal_phase`.
    """
    outcome = writer.submit(internal.AdvanceOperation(operation.id, phase, message, "", facts))
    if isinstance(outcome, Rejected):
        raise CommandRefused(outcome.reason, outcome.message)


async def complete_items(writer: ThreadWriter, turns: Iterable[Turn]) -> None:
    """Have the raw items of `turns`, from the rollout where events did not bring them all."""
    rollouts: dict[str, ItemsByTurn] = {}
    complete = [
        ev.ContextItemsRecorded(turn.id, tuple(items), "rollout")
        for turn in turns
        if not turn.items_complete and (items := await _items_in_rollouts(writer.state, turn, rollouts))
    ]
    writer.record_facts(*complete)


async def _items_in_rollouts(state: ThreadState, turn: Turn, rollouts: dict[str, ItemsByTurn]) -> list[bytes]:
    items = (await _rollout_of(state, turn.generation, rollouts)).get(turn.provider_turn_id or turn.id, [])
    if turn.provider_turn_id is None or turn.earlier_items or not items:
        return items
    # It was tried again, and what it had done before is no longer at hand.
    before = (await _rollout_of(state, turn.first_generation, rollouts)).get(turn.id, [])
    return [*without_prompt(before, later_prompts(state, turn.id)), *items]


async def _rollout_of(state: ThreadState, generation: int, rollouts: dict[str, ItemsByTurn]) -> ItemsByTurn:
    path = state.generations[generation - 1].rollout_path
    if path is None:
        return {}
    if path not in rollouts:
        rollouts[path] = items_by_turn(await anyio.to_thread.run_sync(rollout_lines, path))
    return rollouts[path]
