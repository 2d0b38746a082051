"""The projector: only `apply` turns events into state.

Replay, live writes and recovery all use it, so they cannot disagree (docs/spec/traps.md). It does
not check events: rules were checked before the events were written.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, cast

import msgspec
from trimpoint_protocol.commands import AutoMode

from trimpoint.core.evolve.compaction_attempts import note_failure, note_trim
from trimpoint.core.evolve.discard_folds import Removal, discard, keep_discard, made_of
from trimpoint.core.evolve.queue_folds import (
    edit_prompt,
    hold_queue,
    queue_prompt,
    release_queue,
    reorder_prompts,
    take_prompt,
    withdraw_prompt,
    without_long_input,
)
from trimpoint.core.evolve.retry_folds import request_recovery, retry_turn
from trimpoint.core.evolve.revert_folds import (
    capture_checkpoint,
    complete_revert,
    count_active_messages,
    miss_checkpoint,
    plan_revert,
    prepare_revert,
    request_revert,
    restore_files,
    roll_back_turns,
)
from trimpoint.core.evolve.stretch_folds import request_stretch, summarize_stretch
from trimpoint.core.evolve.turn_folds import (
    close_request,
    complete_turn,
    end_turn_request,
    inject_items,
    open_request,
    record_entry,
    record_items,
    request_turn,
    start_turn,
)
from trimpoint.core.evolve.undo_folds import COMPACTIONS, redo_trim, undo_trim
from trimpoint.core.evolve.usage_folds import (
    change_settings,
    report_before_trim,
    report_usage,
)
from trimpoint.core.model import events as ev
from trimpoint.core.model.ledger import Handoff, Pin, TrimPoint
from trimpoint.core.model.operations import HANDOFF, Phase
from trimpoint.core.model.state import (
    MAX_RECEIPTS,
    Draft,
    Generation,
    Operation,
    Receipt,
    ThreadState,
)
from trimpoint.core.model.usage import begin_era

DROPPED_AT_ONCE = 512
FORMER_NAMES = 8
Folds = Mapping[type[ev.Event], Callable[[ThreadState, Any, int], None]]


def replay(records: Iterable[ev.Record]) -> ThreadState:
    """Returns the state after all `records`, which must be in order."""
    state = ThreadState()
    for record in records:
        apply(state, record)
    return state


def prepared(state: ThreadState, events: Iterable[ev.AnyEvent]) -> Folds:
    """Returns folds with which `apply` need not look through the whole thread for the events of a
    decision about `state`.
    """
    return {
        type(event): partial(keep_discard, made_of(state, event))
        for event in events
        if isinstance(event, Removal)  # a decision has one
    }


def apply(state: ThreadState, record: ev.Record, folds: Folds | None = None) -> None:
    """Applies one record to `state`. `folds` are those `prepared` for this state, if there are."""
    at_ms = record.occurred_at_ms
    folds = FOLDS if folds is None else {**FOLDS, **folds}
    for event in record.events:
        folds[type(event)](state, event, at_ms)
    if state.items_dropped_to < state.active_from_turn:
        _drop_pruned_items(state)
    state.sequence = record.sequence + len(record.events) - 1
    state.thread_sequence = record.thread_sequence + len(record.events) - 1
    state.updated_at_ms = at_ms
    if record.command_id is not None:
        _keep_receipt(state, record.command_id, record)


def _drop_pruned_items(state: ThreadState) -> None:
    """Drops the raw items of up to `DROPPED_AT_ONCE` pruned turns, so that memory holds only items
    that a bootstrap may need.

    If a revert brings such a turn back, its items are read from the rollout.
    """
    end = min(state.active_from_turn, state.items_dropped_to + DROPPED_AT_ONCE)
    pinned = {pin.turn_id for pin in state.pins}
    for turn in state.turns[state.items_dropped_to : end]:
        if turn.id in pinned:
            continue
        if turn.injected:
            turn.injected_apart = turn.injected_items
        turn.items, turn.items_complete, turn.earlier_items, turn.injected = [], False, 0, 0
    state.items_dropped_to = end


def _keep_receipt(state: ThreadState, command_id: str, record: ev.Record) -> None:
    """Stores the record as a receipt and drops the oldest if there are more than `MAX_RECEIPTS`."""
    state.receipts.pop(command_id, None)
    state.receipts[command_id] = Receipt(
        record.fingerprint,
        record.sequence,
        record.thread_sequence,
        record.occurred_at_ms,
        tuple(map(without_long_input, record.events)),
        record.operation_id,
    )
    if len(state.receipts) > MAX_RECEIPTS:
        del state.receipts[next(iter(state.receipts))]


def _intent_only(state: ThreadState, event: ev.Event, at_ms: int) -> None:
    """Changes nothing: the event is an intent or a note, and the state changes with the event that
    follows it.
    """


def _create(state: ThreadState, event: ev.ThreadCreated, at_ms: int) -> None:
    state.id, state.cwd, state.origin, state.created_at_ms = (
        event.thread_id,
        event.cwd,
        event.origin,
        at_ms,
    )
    state.settings, state.name = event.settings, event.name
    state.project_id, state.worktree_id = event.project_id, event.worktree_id
    state.branch_name, state.parent_thread_id = event.branch_name, event.parent_thread_id
    state.usage.overhead, state.usage.window = event.overhead_tokens, event.window_tokens
    state.launch = event.launch


def _open_generation(state: ThreadState, event: ev.GenerationOpened, at_ms: int) -> None:
    state.generations.append(
        Generation(
            event.generation,
            event.reason,
            event.bootstrap,
            event.turn_ids,
            event.summary,
            event.summarized_messages,
            event.skipped_items,
            pins=event.pins,
        )
    )
    begin_era(state.usage)
    if event.reason == "undo":
        state.usage.report = report_before_trim(state)
    state.session_stopped = False
    if state.draft is not None and state.draft.operation.kind != HANDOFF:
        state.draft = None


def _bind(state: ThreadState, event: ev.ProviderThreadBound, at_ms: int) -> None:
    generation = state.generations[event.generation - 1]
    generation.provider_thread_id = event.provider_thread_id
    generation.rollout_path, generation.raw_events = event.rollout_path, event.raw_events
    generation.ready = False


def _session_ready(state: ThreadState, event: ev.SessionReady, at_ms: int) -> None:
    state.generations[event.generation - 1].ready = True
    state.session_stopped = state.may_have_missed = False


def _session_stopped(state: ThreadState, event: ev.SessionStopped, at_ms: int) -> None:
    if event.generation == state.generation.number:
        state.session_stopped = True


def _start_operation(state: ThreadState, event: ev.OperationStarted, at_ms: int) -> None:
    state.operation = Operation(event.operation_id, event.kind, Phase.REQUESTED, at_ms)


def _advance(state: ThreadState, event: ev.OperationAdvanced, at_ms: int) -> None:
    operation = state.operation
    if operation is not None and operation.id == event.operation_id:
        operation.phase = Phase(event.phase)
        operation.message, operation.reason = event.message or operation.message, event.reason


def _request_compaction(state: ThreadState, event: ev.CompactionRequested, at_ms: int) -> None:
    if state.operation is not None:
        state.operation.compaction_keep = event.keep_last_n_turns
        state.operation.compaction_guidance = event.guidance
        state.operation.compaction_trigger = event.trigger
        state.operation.compaction_model = event.model
        state.operation.compaction_effort = event.effort
        state.operation.compaction_force = event.force


def _write_draft(state: ThreadState, event: ev.DraftWritten, at_ms: int) -> None:
    operation, turns = state.operation, state.turns
    if operation is not None:
        made_of = (turns[-1].id if turns else None, len(state.active_injected))
        copy = msgspec.structs.replace(operation)
        state.draft = Draft(event.draft_id, event.text, event.duration_ms, copy, *made_of)


def _fork_compaction(state: ThreadState, event: ev.CompactionForked, at_ms: int) -> None:
    if state.operation is not None:
        state.operation.compaction_fork = event.provider_thread_id


def _trim(state: ThreadState, event: ev.TrimPointCreated, at_ms: int) -> None:
    kept = event.first_kept_turn_id
    turn_index = len(state.turns) if kept is None else state.turn_index[kept]
    entry_index = len(state.entries) if kept is None else state.turns[turn_index].first_entry_index
    listed = event.pruned_turn_ids
    state.trim_points.append(
        TrimPoint(
            id=event.trim_point_id,
            created_at_ms=event.created_at_ms,
            before_entry_id=event.before_entry_id,
            pruned_message_count=event.pruned_message_count,
            pruned_turn_ids=listed,
            first_kept_turn_id=kept,
            trigger=event.trigger,
            generation=event.generation,
            turn_index=turn_index,
            entry_index=entry_index,
            summary_unavailable=event.summary_unavailable,
            pruned_turn_count=event.pruned_turn_count or len(listed),
            pruned_injected=event.pruned_injected,
        )
    )
    count_active_messages(state)
    note_trim(state)
    state.redoable = 0
    if event.trigger in COMPACTIONS:
        state.compaction_count += 1


def _summarize(state: ThreadState, event: ev.ContextSummarized, at_ms: int) -> None:
    for point in reversed(state.trim_points):
        if point.id == event.trim_point_id:
            point.summary, point.summary_unavailable = event.summary, False
            return


def _pin(state: ThreadState, event: ev.ContextPinned, at_ms: int) -> None:
    place = len(state.turns) if event.turn_id is None else state.turn_index[event.turn_id]
    pin = Pin(event.pin_id, event.turn_id, event.note, at_ms, place)
    state.pins = [*state.pins, pin]


def _unpin(state: ThreadState, event: ev.ContextUnpinned, at_ms: int) -> None:
    state.pins = [pin for pin in state.pins if pin.id != event.pin_id]


def _choose_auto(state: ThreadState, event: ev.AutoChosen, at_ms: int) -> None:
    state.auto = cast("AutoMode | None", event.mode)


def _hand_off(state: ThreadState, event: ev.HandedOff, at_ms: int) -> None:
    made = Handoff(event.new_thread_id, event.brief, event.goal, at_ms)
    state.handoffs, state.draft = [*state.handoffs, made], None


def _archive(state: ThreadState, event: ev.ThreadArchived, at_ms: int) -> None:
    state.archived = True


def _archive_for_new(state: ThreadState, event: ev.ArchivedAndNewCreated, at_ms: int) -> None:
    state.archived, state.new_thread_id = True, event.new_thread_id
    state.new_with_pins = event.with_pins


def _unarchive(state: ThreadState, event: ev.ThreadUnarchived, at_ms: int) -> None:
    state.archived = False


def _rename(state: ThreadState, event: ev.ThreadRenamed, at_ms: int) -> None:
    before = state.former_names if state.name is None else (*state.former_names, state.name)
    former = tuple(name for name in before if name != event.name)
    state.former_names = former[-FORMER_NAMES:]
    state.name, state.name_unconfirmed = event.name, event.unconfirmed


def _confirm_name(state: ThreadState, event: ev.NameConfirmed, at_ms: int) -> None:
    state.name_unconfirmed &= event.name != state.name


# A table instead of a match: replay looks a fold up some 300,000 times a second
# (docs/spec/running.md), and a match of thirty cases is a chain of thirty tests.
# `tests/core/test_projector.py` checks that the table has every event of `AnyEvent`.
FOLDS: Folds = {
    ev.ThreadCreated: _create,
    ev.GenerationOpened: _open_generation,
    ev.ProviderThreadBound: _bind,
    ev.SessionReady: _session_ready,
    ev.SessionStopRequested: _intent_only,
    ev.SessionStopped: _session_stopped,
    ev.SessionStartRequested: _intent_only,
    ev.OperationStarted: _start_operation,
    ev.OperationAdvanced: _advance,
    ev.TrimPointCreated: _trim,
    ev.ContextSummarized: _summarize,
    ev.ContextDiscarded: discard,
    ev.ContextMasked: discard,
    ev.StretchSummarized: summarize_stretch,
    ev.TrimUndone: undo_trim,
    ev.TrimRedone: redo_trim,
    ev.ContextPinned: _pin,
    ev.ContextUnpinned: _unpin,
    ev.AutoChosen: _choose_auto,
    ev.CompactionRequested: _request_compaction,
    ev.StretchCompactionRequested: request_stretch,
    ev.DraftWritten: _write_draft,
    ev.CompactionForked: _fork_compaction,
    ev.CompactionFailed: note_failure,
    ev.OverflowRecoveryRequested: request_recovery,
    ev.TurnRetried: retry_turn,
    ev.ArchivedAndNewCreated: _archive_for_new,
    ev.HandedOff: _hand_off,
    ev.ThreadArchived: _archive,
    ev.ThreadUnarchived: _unarchive,
    ev.ThreadRenamed: _rename,
    ev.NameConfirmed: _confirm_name,
    ev.SettingsChanged: change_settings,
    ev.TurnRequested: request_turn,
    ev.TurnRequestEnded: end_turn_request,
    ev.TurnStarted: start_turn,
    ev.EntryRecorded: record_entry,
    ev.ContextItemsRecorded: record_items,
    ev.ItemsInjected: inject_items,
    ev.UsageReported: report_usage,
    ev.TurnInterruptRequested: _intent_only,
    ev.TurnCompleted: complete_turn,
    ev.TurnsRolledBack: roll_back_turns,
    ev.CheckpointCaptured: capture_checkpoint,
    ev.CheckpointFailed: miss_checkpoint,
    ev.RevertRequested: request_revert,
    ev.RevertPrepared: prepare_revert,
    ev.RevertPlanned: plan_revert,
    ev.FilesRestored: restore_files,
    ev.CheckpointRestored: complete_revert,
    ev.RequestOpened: open_request,
    ev.RequestClosed: close_request,
    ev.PromptQueued: queue_prompt,
    ev.PromptEdited: edit_prompt,
    ev.PromptsReordered: reorder_prompts,
    ev.PromptWithdrawn: withdraw_prompt,
    ev.PromptSent: take_prompt,
    ev.QueueHeld: hold_queue,
    ev.QueueReleased: release_queue,
    ev.ContextLost: _intent_only,
    ev.CommandRejected: _intent_only,
}
