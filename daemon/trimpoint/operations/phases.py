"""Functions for all operations: journaling a phase, and completing the raw items of turns."""

from collections.abc import Iterable

import anyio
import msgspec
from anyio.lowlevel import checkpoint

from trimpoint.codex.history.rollout import NO_ITEMS, TurnItems, items_of_turns
from trimpoint.codex.history.rollout_files import conversation_lines
from trimpoint.core.context.active_context import (
    INTERRUPTION,
    has_unanswered_call,
    message_text,
    without_prompt,
)
from trimpoint.core.context.pins import pinned_turns
from trimpoint.core.context.provider_compactions import COMPACTION
from trimpoint.core.evolve.retry_folds import later_prompts
from trimpoint.core.model import commands as internal
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Rejected
from trimpoint.core.model.ledger import Turn
from trimpoint.core.model.operations import Phase
from trimpoint.core.model.state import Operation, ThreadState
from trimpoint.threads.errors import CommandRefused
from trimpoint.threads.off_loop import free, in_slices
from trimpoint.threads.writing.writer import ThreadWriter

ItemsByTurn = dict[str, TurnItems]
# Their raw items are recorded in a few milliseconds.
TURNS_AT_ONCE = 128


async def journal_phase(
    writer: ThreadWriter,
    operation: Operation,
    phase: Phase,
    message: str,
    reason: str = "",
    *facts: ev.AnyEvent,
) -> None:
    """Records that the operation is in a phase, and waits until that is durable.

    :raises CommandRefused: when the operation cannot be in this phase next.
    :raises JournalRefuses: when the journal cannot be written.
    """
    await writer.execute(internal.AdvanceOperation(operation.id, phase, message, reason, facts))


def journal_phase_deferred(
    writer: ThreadWriter, operation: Operation, phase: Phase, message: str, *facts: ev.AnyEvent
) -> None:
    """Records that the operation is in a phase that may be repeated. It becomes durable together
    with the next durable record.

    :raises CommandRefused: as `journal_phase`.
    :raises JournalRefuses: as `journal_phase`.
    """
    outcome = writer.submit(internal.AdvanceOperation(operation.id, phase, message, "", facts))
    if isinstance(outcome, Rejected):
        raise CommandRefused(*outcome)


def is_end_durable(writer: ThreadWriter) -> bool:
    """Returns whether no end of an operation waits for the disk. If the disk refuses one, the
    operation goes on, and deletes the provider thread that it had filled.
    """
    return writer.state.open_operation is not None or not writer.is_unwritten(ev.OperationAdvanced)


async def complete_items(writer: ThreadWriter, turns: Iterable[Turn]) -> list[str]:
    """Records the missing raw items of `turns`: from the rollout, or from the journal where the
    rollout is gone, or from those of the threads that this one was forked from.

    Returns descriptions for a person of what is lost, empty if nothing is.
    """
    complete: list[ev.AnyEvent] = []
    missing: list[Turn] = []
    incomplete = [turn async for turn in in_slices(turns) if _may_lack_items(turn)]
    rollouts = await _in_rollouts(writer.state, incomplete)
    async for turn in in_slices(incomplete):
        found = _items_in(rollouts, writer.state, turn)
        if turn.items_complete:
            if len(found.own) > len(turn.items) - turn.injected:
                complete.append(_recorded(turn, found))
        elif found.own and (found.is_ended or turn.status != "completed"):
            complete.append(_recorded(turn, found))
        else:
            missing.append(turn)
    # The journals are read once for what they lack.
    unknown = {turn.id for turn in missing if (turn.id, turn.generation) not in writer.lost_items}
    in_journals = await _items_in_journals(writer, unknown)
    complete += [
        _recorded(turn, in_journals[turn.id]) for turn in missing if turn.id in in_journals
    ]
    while len(complete) > TURNS_AT_ONCE:
        writer.record_facts(*complete[:TURNS_AT_ONCE])
        del complete[:TURNS_AT_ONCE]
        await checkpoint()
    writer.record_facts(*complete)
    lost = [turn for turn in missing if turn.id not in in_journals]
    writer.lost_items.difference_update((turn.id, turn.generation) for turn in incomplete)
    writer.lost_items.update((turn.id, turn.generation) for turn in lost)
    noted = 0
    async for turn in in_slices(lost):
        noted += turn.injected_apart != [] or _has_activities(writer.state, turn)
    return _lost(noted)


def _may_lack_items(turn: Turn) -> bool:
    """Returns whether the rollout may have more of the turn. Codex reports the result of an
    interrupted call behind the end of its turn, or, when the session ends then, to no one. It does
    not report the notice of the interruption (measured: 0.133).
    """
    was_cut_off = turn.status != "completed" and has_unanswered_call(turn.items)
    return not turn.items_complete or was_cut_off or _lacks_notice(turn)


def _lacks_notice(turn: Turn) -> bool:
    at = len(turn.items) - turn.injected - 1
    if turn.status != "interrupted" or turn.error or at < 0:
        return False
    return not message_text(msgspec.json.decode(turn.items[at])).startswith(INTERRUPTION)


async def _items_in_journals(writer: ThreadWriter, missing: set[str]) -> ItemsByTurn:
    """Returns the raw items of the turns `missing` that are in the thread's journal, or in the
    journal or a rollout of the thread that it was forked from, or of the one before that.
    """
    found: ItemsByTurn = {}
    thread_id: str | None = writer.thread_id
    while missing and thread_id is not None:
        turns, state = await writer.turns_in_journal(frozenset(missing), thread_id)
        found |= {turn.id: _as_recorded(turn) for turn in turns.values() if turn.items_complete}
        if thread_id != writer.thread_id:
            found |= await _items_of_parent(state, missing - found.keys())
        missing = missing - found.keys()
        thread_id = state.parent_thread_id
        await anyio.to_thread.run_sync(free, state)
    return found


async def _items_of_parent(parent: ThreadState, missing: set[str]) -> ItemsByTurn:
    known = [parent.turns[parent.turn_index[one]] for one in missing if one in parent.turn_index]
    rollouts = await _in_rollouts(parent, known)
    found = {turn.id: _items_in(rollouts, parent, turn) for turn in known}
    return {turn_id: items for turn_id, items in found.items() if items.own}


async def complete_context(writer: ThreadWriter, turns: Iterable[Turn]) -> list[str]:
    """Records the missing raw items of a context's `turns` and of the pinned turns, except for a
    running turn; see `complete_items`.
    """
    wanted = {turn.id: turn for turn in (*pinned_turns(writer.state), *turns)}
    return await complete_items(
        writer, [turn for turn in wanted.values() if turn.status != "running"]
    )


def _has_activities(state: ThreadState, turn: Turn) -> bool:
    """Returns whether the turn has activities that are items of the model; a compaction is none."""
    activities = (entry for entry in state.entries_of(turn) if entry.kind == "activity")
    return any(entry.role != COMPACTION for entry in activities)


def _as_recorded(turn: Turn) -> TurnItems:
    return TurnItems(turn.without_injected.items, turn.injected_items)


def _lost(count: int) -> list[str]:
    if not count:
        return []
    turns = "1 turn" if count == 1 else f"{count} turns"
    return [f"tool calls and reasoning of {turns} (in no journal and no file of Codex)"]


def _recorded(turn: Turn, found: TurnItems) -> ev.ContextItemsRecorded:
    """Returns the fact with the turn's raw items.

    Items injected behind the turn are in the ledger already, and may be in a later rollout. Of an
    adopted turn only the rollout has them, unless a revert removed them.
    """
    at_hand = turn.injected_items
    injected = at_hand if turn.is_cut or at_hand else found.injected
    return ev.ContextItemsRecorded(turn.id, (*found.own, *injected), "rollout", len(injected))


def _items_in(rollouts: dict[int, ItemsByTurn], state: ThreadState, turn: Turn) -> TurnItems:
    found = rollouts[turn.generation].get(turn.provider_turn_id or turn.id, NO_ITEMS)
    if turn.provider_turn_id is None or turn.earlier_items or not found.own:
        return found
    # The turn was repeated after an overflow, and its earlier items are missing.
    before = rollouts[turn.first_generation].get(turn.id, NO_ITEMS).own
    return TurnItems(
        [*without_prompt(before, later_prompts(state, turn.id)), *found.own], found.injected
    )


async def _in_rollouts(state: ThreadState, turns: Iterable[Turn]) -> dict[int, ItemsByTurn]:
    """Returns what the rollouts of each generation of the turns have of them. They are read in a
    thread, because a rollout may be as long as the conversation.
    """
    wanted: dict[int, set[str]] = {}
    async for turn in in_slices(turns):
        wanted.setdefault(turn.generation, set()).add(turn.provider_turn_id or turn.id)
        wanted.setdefault(turn.first_generation, set()).add(turn.id)
    paths = {number: state.generations[number - 1].rollout_path for number in wanted}
    return {
        number: {}
        if (path := paths[number]) is None
        else await anyio.to_thread.run_sync(_read_items, path, turn_ids)
        for number, turn_ids in wanted.items()
    }


def _read_items(path: str, turn_ids: set[str]) -> ItemsByTurn:
    return items_of_turns(conversation_lines(path), turn_ids)
