"""Applies the events of checkpoints and reverts to a thread's state."""

from collections.abc import Container, Mapping, Sequence
from itertools import count
from operator import attrgetter
from typing import TypeVar

import msgspec

from trimpoint.core.context.context_size import overhead_tokens
from trimpoint.core.evolve.compaction_attempts import note_lowest, note_turn_end
from trimpoint.core.evolve.usage_folds import report_before_revert
from trimpoint.core.model import events as ev
from trimpoint.core.model.ledger import Discard, Pin, TrimPoint, Turn
from trimpoint.core.model.state import Checkpoint, Reverting, ThreadState, UndoState

_T = TypeVar("_T")


def roll_back_turns(state: ThreadState, event: ev.TurnsRolledBack, at_ms: int) -> None:
    """Removes a turn and all later turns from the ledger; files are not concerned."""
    first = state.turn_index[event.turn_id]
    ran_in, injected = state.turns[first].generation, state.turns[first].injected_before
    if state.undo_state is not None and first < state.undo_state.kept_turns:
        state.undo_state = None
    _cut_ledger(state, first)
    # What a client had put there before the turn stays in the provider thread (measured: 0.163,
    # 0.171).
    state.injected_before_next = injected
    state.trim_points = [point for point in state.trim_points if point.turn_index <= first]
    state.discards = discards_left(state, ran_in)
    state.redoable = 0
    count_active_messages(state)


def discards_left(state: ThreadState, last: int) -> list[Discard]:
    """Returns the discards up to the generation `last` that concern turns of the thread, without
    turns that it no longer has. A fork may have discards that were made after these turns.
    """
    return [
        _remaining(state, discard)
        for discard in state.discards
        if discard.generation <= last
        and _concerns(state, discard)
        and summarizes_only(discard, state.turn_index)
    ]


def summarizes_only(discard: Discard, turn_ids: Container[str]) -> bool:
    """Returns whether the discard has no summary that also tells of other turns than these."""
    return discard.summary is None or all(one in turn_ids for one in discard.positions)


def _concerns(state: ThreadState, discard: Discard) -> bool:
    return any(turn_id in state.turn_index for turn_id in (*discard.positions, *discard.masks))


def _remaining(state: ThreadState, discard: Discard) -> Discard:
    return msgspec.structs.replace(
        discard,
        positions=_of_ledger(state, discard.positions),
        entries=_of_ledger(state, discard.entries),
        messages=_of_ledger(state, discard.messages),
        masks=_of_ledger(state, discard.masks),
        masked=_of_ledger(state, discard.masked),
        turn_index=min(discard.turn_index, len(state.turns)),
        entry_index=min(discard.entry_index, len(state.entries)),
    )


def _of_ledger(state: ThreadState, by_turn: dict[str, _T]) -> dict[str, _T]:
    return {turn_id: value for turn_id, value in by_turn.items() if turn_id in state.turn_index}


def count_active_messages(state: ThreadState) -> None:
    """Counts the messages of the active turns again, after a trim or a revert: those of the pruned
    turns, where these are fewer.
    """
    first = state.active_from_turn
    are_fewer = 2 * first < len(state.turns)
    counted = state.turns[:first] if are_fewer else state.turns[first:]
    messages = sum(map(attrgetter("message_count"), counted))
    state.active_messages = state.message_count - messages if are_fewer else messages
    state.items_dropped_to = min(state.items_dropped_to, first)


def _cut_ledger(state: ThreadState, first: int) -> None:
    """Removes the turns from position `first` on from the ledger, and restores the usage report of
    the last remaining turn.
    """
    if first == len(state.turns):
        return
    state.running_turn_id = None  # the newest turn: a journal may have it as running
    state.usage.overhead = overhead_tokens(state)
    state.usage.overhead_until = state.generation.number
    state.pins = placed_notes(state.pins, first)
    first_entry = state.turns[first].first_entry_index
    gone = state.turns[first:]
    state.message_count -= sum(map(attrgetter("message_count"), gone))
    if first > len(gone):
        for turn in gone:
            del state.turn_index[turn.id]
    else:  # what stays is less
        state.turn_index = {turn.id: index for index, turn in enumerate(state.turns[:first])}
    reverted = set(map(attrgetter("id"), state.entries[first_entry:]))
    del state.turns[first:], state.entries[first_entry:]
    _forget_entries(state, reverted)
    state.usage.report = report_before_revert(state)
    note_lowest(state)
    note_turn_end(state)


def placed_notes(
    pins: Sequence[Pin], kept: int, places: Mapping[str, int] | None = None
) -> list[Pin]:
    """Returns the pins with each note where it stands after a revert to the first `kept` turns, or
    where `places` says, by pin id.
    """
    return [
        msgspec.structs.replace(pin, place=(places or {}).get(pin.id, min(pin.place, kept)))
        if pin.turn_id is None
        else pin
        for pin in pins
    ]


def _forget_entries(state: ThreadState, reverted: set[str]) -> None:
    """Removes entries from the index. An id is unique only within its turn, so an earlier turn may
    have an entry with the same id, which then takes its place in the index.
    """
    at = state.turn_index
    if len(reverted) > len(state.entries):  # what stays is less
        state.entry_turns = {entry.id: at[entry.turn_id] for entry in state.entries}
        return
    for entry_id in reverted:
        state.entry_turns.pop(entry_id, None)
    again = reverted & state.repeated_ids
    for entry in state.entries if again else ():
        if entry.id in again:
            state.entry_turns[entry.id] = at[entry.turn_id]


def _know_again(state: ThreadState, past: UndoState) -> None:
    """Puts the entries of restored turns into the index again."""
    known = {entry.id: state.turn_index[entry.turn_id] for entry in past.entries}
    state.repeated_ids |= {one for one in known if one in state.entry_turns}
    state.entry_turns.update(known)


def capture_checkpoint(state: ThreadState, event: ev.CheckpointCaptured, at_ms: int) -> None:
    """Records a checkpoint. A safety checkpoint becomes that of the open revert; any other holds
    the thread's last known files.
    """
    _keep(
        state,
        Checkpoint(
            event.turn_id,
            event.moment,
            at_ms,
            event.repository,
            event.ref,
            event.commit,
            event.notes,
        ),
    )
    if event.moment != "safety":
        state.known_files = event.commit
        return
    assert state.operation is not None
    assert state.operation.reverting is not None
    state.operation.reverting.safety = event.commit


def restore_files(state: ThreadState, event: ev.FilesRestored, at_ms: int) -> None:
    """Records the restored files as the thread's last known files."""
    state.known_files = event.commit
    assert state.operation is not None
    assert state.operation.reverting is not None
    reverting = state.operation.reverting
    ref = reverting.planned_ref
    _keep(state, Checkpoint(None, "reverted", at_ms, reverting.repository, ref, event.commit))


def miss_checkpoint(state: ThreadState, event: ev.CheckpointFailed, at_ms: int) -> None:
    """Records that a checkpoint could not be taken, and why."""
    _keep(state, Checkpoint(event.turn_id, event.moment, at_ms, problem=event.reason))


def _keep(state: ThreadState, checkpoint: Checkpoint) -> None:
    turn_id, places = checkpoint.turn_id or "", state.checkpoint_places
    places[turn_id] = (*places.get(turn_id, ()), len(state.checkpoints))
    state.checkpoints.append(checkpoint)


def request_revert(state: ThreadState, event: ev.RevertRequested, at_ms: int) -> None:
    """Records the target of the revert in the open operation."""
    assert state.operation is not None
    state.operation.reverting = Reverting(
        event.turn_id, event.scope, event.undo, event.force, event.repository, event.commit
    )


def plan_revert(state: ThreadState, event: ev.RevertPlanned, at_ms: int) -> None:
    """Records the files that the open operation will restore."""
    assert state.operation is not None
    assert state.operation.reverting is not None
    reverting = state.operation.reverting
    reverting.planned, reverting.planned_ref = event.commit, event.ref
    reverting.written, reverting.removed, reverting.kept = event.written, event.removed, event.kept


def prepare_revert(state: ThreadState, event: ev.RevertPrepared, at_ms: int) -> None:
    """Records the provider thread that will serve the thread after the revert."""
    assert state.operation is not None
    assert state.operation.reverting is not None
    state.operation.reverting.prepared = event.provider_thread_id


def complete_revert(state: ThreadState, event: ev.CheckpointRestored, at_ms: int) -> None:
    """Removes the reverted turns and keeps them for an undo, or restores the turns that the last
    revert removed. The event that opens the new generation follows later, so the state still has
    the generation from before the revert.
    """
    before, undone = state.undo_state, event.undone
    kept = (
        before.kept_turns if undone and before is not None else _turns_through(state, event.turn_id)
    )
    injected, was_cut = _cut_injected(state, kept) if changes_context(state, kept) else ([], False)
    reverting = state.operation.reverting if state.operation is not None else None
    state.undo_state = UndoState(
        generation=state.generation.number,
        kept_turns=kept,
        kept_entries=state.turns[kept].first_entry_index
        if kept < len(state.turns)
        else len(state.entries),
        turns=list(state.turns[kept:]),
        entries=list(state.entries[state.entries_end(kept - 1) if kept else 0 :]),
        trim_points=state.trim_points,
        discards=state.discards,
        scope=event.scope,
        repository=reverting.repository if reverting is not None else "",
        commit=reverting.safety if reverting is not None else "",
        injected=injected,
        was_cut=was_cut,
        undone=state.undone,
        injected_before_next=state.injected_before_next,
        note_places={pin.id: pin.place for pin in state.pins if pin.turn_id is None},
        compacted_behind=state.compacted_behind,
    )
    state.redoable = 0
    left = injected_at(state, kept)
    _cut_ledger(state, kept)
    state.injected_before_next = left
    if undone and before is not None:
        _restore_undone(state, before)
    else:
        state.trim_points = points_at(state.trim_points, state.turns)
        last = state.turns[-1].generation if state.turns else 0
        state.discards = discards_left(state, last)
        state.compacted_behind = {
            turn_id: made_in
            for turn_id, made_in in state.compacted_behind.items()
            if made_in <= last
        }
    count_active_messages(state)


def injected_at(state: ThreadState, kept: int) -> list[bytes]:
    """Returns the items injected before the next turn, as they were directly after the first `kept`
    turns. With 0, these are the items injected before the first turn.
    """
    if kept:
        return []
    return state.turns[0].injected_before if state.turns else state.injected_before_next


def points_at(points: Sequence[TrimPoint], turns: Sequence[Turn]) -> list[TrimPoint]:
    """Returns the trim points that were in force when the last of `turns` ended. Without turns,
    these are the trim points before the first turn of the thread.

    In a fork, inherited turns and trim points are of one generation. There, a trim that pruned the
    last of `turns` came after it.
    """
    if not turns:
        return [point for point in points if point.turn_index == 0]
    last = turns[-1].generation
    return [point for point in points if point.generation <= last and point.turn_index < len(turns)]


def changes_context(state: ThreadState, kept: int) -> bool:
    """Returns whether the present context differs from the context directly after the first `kept`
    turns.
    """
    last = state.turns[kept - 1] if kept else None
    injected_since = (last is not None and last.injected) or state.injected_before_next
    if kept < len(state.turns) or injected_since:
        return True
    number = last.generation if last is not None else 0
    is_pruned = kept > 0 and any(point.turn_index >= kept for point in state.trim_points)
    return is_pruned or any(point.generation > number for point in state.boundaries)


def _cut_injected(state: ThreadState, kept: int) -> tuple[list[bytes], bool]:
    """Removes the items that were injected after the last kept turn. Returns them, and the former
    value of the turn's `is_cut`.
    """
    if not kept:
        return [], False
    turn = state.turns[kept - 1]
    injected, was_cut = turn.injected_items, turn.is_cut
    turn.items = turn.items[: len(turn.items) - turn.injected]
    turn.injected, turn.injected_apart, turn.is_cut = 0, [], True
    return injected, was_cut


def _turns_through(state: ThreadState, turn_id: str | None) -> int:
    return 0 if turn_id is None else state.turn_index[turn_id] + 1


def _restore_undone(state: ThreadState, past: UndoState) -> None:
    """Restores the turns that the last revert removed. Their positions are computed again, because
    entries may have been added to the kept turns since.
    """
    if past.kept_turns:
        last = state.turns[past.kept_turns - 1]
        last.is_cut = past.was_cut
        if last.items:
            last.items, last.injected = [*last.items, *past.injected], len(past.injected)
        else:
            last.injected_apart = past.injected
    state.injected_before_next = past.injected_before_next
    state.pins = placed_notes(state.pins, past.kept_turns, past.note_places)
    shift = len(state.entries) - past.kept_entries
    for turn in past.turns if shift else ():
        turn.first_entry_index += shift
    state.message_count += sum(map(attrgetter("message_count"), past.turns))
    state.turn_index.update(zip(map(attrgetter("id"), past.turns), count(len(state.turns))))
    state.turns.extend(past.turns)
    _know_again(state, past)
    state.entries.extend(past.entries)
    stayed = {point.id: point for point in state.trim_points}
    state.trim_points = [stayed.get(point.id, point) for point in past.trim_points]
    state.discards = past.discards
    state.compacted_behind = past.compacted_behind
    state.undone = past.undone
    place_boundaries(state)


def place_boundaries(state: ThreadState) -> None:
    """Computes the positions of the trim points among the entries again, from their positions among
    the turns.
    """
    for point in state.boundaries:
        within = point.turn_index < len(state.turns)
        point.entry_index = (
            state.turns[point.turn_index].first_entry_index if within else len(state.entries)
        )
    for point in state.trim_points:
        point.before_entry_id = (
            state.entries[point.entry_index - 1].id if point.entry_index else None
        )
