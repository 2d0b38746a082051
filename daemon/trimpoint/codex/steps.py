"""What every driven operation does: write down where it stands, and have the raw items of turns at hand."""

from collections.abc import Iterable

import anyio

from trimpoint.codex.rollout import items_by_turn, rollout_lines
from trimpoint.core import commands as internal
from trimpoint.core import events as ev
from trimpoint.core.decision import Rejected
from trimpoint.core.operations import Phase
from trimpoint.core.state import Operation, Turn
from trimpoint.engine.errors import CommandRefused
from trimpoint.engine.writer import ThreadWriter


async def advance(
    writer: ThreadWriter, operation: Operation, phase: Phase, message: str, reason: str = "", *facts: ev.AnyEvent
) -> None:
    """Journal a step that has to survive before anything builds on it.

    :raises CommandRefused: the operation is not in a phase that this can follow.
    :raises JournalRefuses: it could not be written down.
    """
    await writer.execute(internal.AdvanceOperation(operation.id, phase, message, reason, facts))


def note(writer: ThreadWriter, operation: Operation, phase: Phase, message: str, *facts: ev.AnyEvent) -> None:
    """Journal a step that may be taken again: it is appended now and durable with the next one that has to be.

    :raises CommandRefused: see `advance`.
    :raises JournalRefuses: see `advance`.
    """
    outcome = writer.submit(internal.AdvanceOperation(operation.id, phase, message, "", facts))
    if isinstance(outcome, Rejected):
        raise CommandRefused(outcome.reason, outcome.message)


async def complete_items(writer: ThreadWriter, turns: Iterable[Turn]) -> None:
    """Have the raw items of `turns`, from the rollout where events did not bring them all."""
    by_file: dict[str, list[Turn]] = {}
    for turn in turns:
        path = writer.state.generations[turn.generation - 1].rollout_path
        if not turn.items_complete and path is not None:
            by_file.setdefault(path, []).append(turn)
    for path, of_file in by_file.items():
        found = items_by_turn(await anyio.to_thread.run_sync(rollout_lines, path))
        complete = [ev.ContextItemsRecorded(turn.id, tuple(found[turn.id]), "rollout") for turn in of_file if found.get(turn.id)]
        writer.record_facts(*complete)
