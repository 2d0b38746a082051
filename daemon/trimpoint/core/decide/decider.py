"""The decider: a pure function from a state, a command, a stamp and the policy to events or a
rejection.

It passes each command to its rule, which is in this module or in a sibling; there are no rules
elsewhere. A rejection is a return value. `decide` never changes the state; the projector changes it
by applying the returned events.
"""

from typing import assert_never

import msgspec
from trimpoint_protocol import commands as wire
from trimpoint_protocol.errors import Reason

from trimpoint.core.context.pins import standing_pins
from trimpoint.core.decide.autopilot import trim_when_due
from trimpoint.core.decide.discarding import discard, mask
from trimpoint.core.decide.drafts import accept, draft_brief, verb_of
from trimpoint.core.decide.new_facts import new_facts
from trimpoint.core.decide.overflow import complete_recovery, recover_from_overflow
from trimpoint.core.decide.pinning import pin, unpin
from trimpoint.core.decide.queueing import (
    edit_prompt,
    held_by,
    queue_prompt,
    read_in,
    release_queue,
    reorder_queue,
    taken_back,
    withdraw_prompt,
)
from trimpoint.core.decide.reverting import complete_revert, revert_to_checkpoint, roll_back_turns
from trimpoint.core.decide.stretch_summaries import compact_stretch, complete_stretch
from trimpoint.core.decide.stretches import clear_stretch, mask_stretch, names_stretch
from trimpoint.core.decide.summaries import edit_summary
from trimpoint.core.decide.trimming import compact, complete_compaction, trim
from trimpoint.core.decide.undoing import undo_trim
from trimpoint.core.model import commands as internal
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import (
    Accepted,
    Decision,
    Policy,
    Rejected,
    Stamp,
    operation_under_way,
    when_idle,
)
from trimpoint.core.model.operations import DELETE, FILL, Phase, may_follow
from trimpoint.core.model.queue import text_input
from trimpoint.core.model.state import ThreadState

AnyCommand = wire.AnyClientCommand | internal.InternalCommand


def decide(state: ThreadState, command: AnyCommand, stamp: Stamp, policy: Policy) -> Decision:
    """Returns the events that `command` causes in `state`, or the rejection."""
    if not state.exists and not isinstance(command, internal.CreateThread):
        return Rejected(Reason.THREAD_NOT_FOUND, "There is no such thread.")
    if isinstance(command, wire.ClientCommand):
        return _decide_client(state, command, stamp, policy)
    return _decide_internal(state, command, stamp, policy)


def _decide_client(
    state: ThreadState, command: wire.AnyClientCommand, stamp: Stamp, policy: Policy
) -> Decision:
    match command:
        case wire.TrimContext():
            clears = clear_stretch if names_stretch(command) else trim
            return when_idle(state, "clear") or clears(state, command, stamp)
        case wire.CompactContext():
            compacts = compact_stretch if names_stretch(command) else compact
            return when_idle(state, "compact") or compacts(state, command, stamp, policy)
        case wire.AcceptDraft():
            return when_idle(state, verb_of(state)) or accept(state, command, stamp)
        case wire.DraftHandoff():
            return when_idle(state, "hand off") or draft_brief(state, command, stamp, policy)
        case wire.EditSummary():
            return when_idle(state, "edit the summary of") or edit_summary(state, command, stamp)
        case wire.DiscardContext():
            return when_idle(state, "discard from") or discard(
                state, command, stamp, policy.discard
            )
        case wire.MaskContext():
            return when_idle(state, "mask parts of") or (
                mask_stretch(state, command, stamp)
                if names_stretch(command)
                else mask(state, command, stamp, policy.discard)
            )
        case wire.UndoTrim():
            return when_idle(state, "undo a trim of") or undo_trim(state, command, stamp, policy)
        case wire.PinContext():
            return pin(state, command, stamp, policy)
        case wire.UnpinContext():
            return unpin(state, command, stamp)
        case wire.SetAuto():
            return _set_auto(state, command)
        case wire.ArchiveAndNew():
            return when_idle(state, "replace") or _archive_and_new(state, command, stamp)
        case wire.RevertToCheckpoint():
            return when_idle(state, "revert") or revert_to_checkpoint(state, command, stamp)
        case wire.StopSession():
            return when_idle(state, "stop") or _stop(state)
        case wire.StartSession():
            return when_idle(state, "start") or _start(state, stamp)
        case wire.ArchiveThread():
            return when_idle(state, "archive") or _archive(state)
        case wire.UnarchiveThread():
            return Accepted((ev.ThreadUnarchived(),) if state.archived else ())
        case wire.RenameThread():
            return Accepted((ev.ThreadRenamed(command.name, unconfirmed=True),))
        case wire.QueuePrompt():
            return queue_prompt(state, command, stamp)
        case wire.EditQueuedPrompt():
            return edit_prompt(state, command)
        case wire.WithdrawQueuedPrompt():
            return withdraw_prompt(state, command)
        case wire.ReorderQueue():
            return reorder_queue(state, command)
        case wire.ReleaseQueue():
            return release_queue(state, command)
        case _:
            assert_never(command)


def _decide_internal(
    state: ThreadState, command: internal.InternalCommand, stamp: Stamp, policy: Policy
) -> Decision:
    match command:
        case internal.CreateThread():
            return _create(state, command, stamp)
        case internal.RecordFacts():
            facts = new_facts(state, command.events)
            return Accepted((*facts, *read_in(state, facts), *held_by(state, facts)))
        case internal.AdvanceOperation():
            return _advance(state, command)
        case internal.CompleteCompaction():
            is_stretch = state.operation is not None and state.operation.compaction_turns
            completes = complete_stretch if is_stretch else complete_compaction
            return completes(state, command, stamp)
        case internal.RecoverFromOverflow():
            return recover_from_overflow(state, command, stamp, policy)
        case internal.CompleteRecovery():
            return complete_recovery(state, command, stamp)
        case internal.TrimWhenDue():
            return trim_when_due(state, stamp, policy)
        case internal.OpenSession():
            if state.open_operation is not None:
                return Accepted(())
            # A prompt may have waited while the thread was deleted: Codex gets nothing of it again.
            refusal = when_idle(state, "open") if state.archived else None
            return refusal or _start(state, stamp, force=command.force)
        case internal.RollBackTurns():
            return roll_back_turns(state, command, stamp)
        case internal.CompleteRevert():
            return complete_revert(state, command)
        case internal.AbandonOpenWork():
            return Accepted(_abandon(state, command.reason))
        case internal.DeleteThread():
            return when_idle(state, DELETE) or _delete(stamp)
        case _:
            assert_never(command)


def _create(state: ThreadState, command: internal.CreateThread, stamp: Stamp) -> Decision:
    if state.exists:
        return Rejected(Reason.INTERNAL, "The thread exists already.")
    created = ev.ThreadCreated(
        command.thread_id, command.cwd, command.origin, command.settings, command.project_id,
        command.worktree_id, command.branch_name, command.parent_thread_id, command.name,
        command.overhead_tokens, command.window_tokens,
        command.launch,
    )  # fmt: skip
    prompt = () if not command.first_prompt else (_first_prompt(command),)
    reason = "resume" if command.origin == "adopted" else "start"
    if command.provider_thread_id is None:
        empty = ev.GenerationOpened(1, reason, "none")
        given = (
            (*command.pinned, _generation_with_pins(command.pinned, reason))
            if command.pinned
            else ()
        )
        number = 2 if given else 1
        started = (ev.OperationStarted(stamp.id, "start"), ev.SessionStartRequested(number))
        return Accepted((created, empty, *given, *prompt, *started), stamp.id)
    bootstrap = "none" if command.origin == "started" else "provider"
    opened = ev.GenerationOpened(1, reason, bootstrap, command.inherited_turn_ids)
    bound = ev.ProviderThreadBound(
        1, command.provider_thread_id, command.rollout_path, command.raw_events
    )
    made = (created, opened, bound, ev.SessionReady(1))
    if command.to_be_filled:
        return Accepted((*made, ev.OperationStarted(stamp.id, FILL)), stamp.id)
    return Accepted(made)


def _first_prompt(command: internal.CreateThread) -> ev.PromptQueued:
    parts = msgspec.json.encode([text_input(command.first_prompt)])
    return ev.PromptQueued(command.thread_id, parts, command.thread_id)


def _generation_with_pins(pinned: tuple[ev.AnyEvent, ...], reason: str) -> ev.GenerationOpened:
    """Returns the event that opens the second generation of a new thread, which receives the pins
    that the thread begins with: notes, and the pinned turns as the first turns of its active
    context.

    The turns are recorded in the first generation, which never gets a provider thread.
    """
    turn_ids = tuple(one.turn_id for one in pinned if isinstance(one, ev.TurnStarted))
    notes = [one for one in pinned if isinstance(one, ev.ContextPinned) and one.turn_id is None]
    return ev.GenerationOpened(
        2, reason, "turns", turn_ids, pins=tuple(one.pin_id for one in notes)
    )


def _set_auto(state: ThreadState, command: wire.SetAuto) -> Decision:
    if state.archived and (refusal := when_idle(state, "change")) is not None:
        return refusal
    if command.mode == state.auto:
        return Accepted(())
    return Accepted((ev.AutoChosen(command.mode, state.auto),))


def _archive_and_new(state: ThreadState, command: wire.ArchiveAndNew, stamp: Stamp) -> Decision:
    if _is_unused(state) and (command.pins or not standing_pins(state)):
        # It would be archived for another one that is the same.
        said = "Nothing to archive: nothing was said in this thread yet."
        return Rejected(Reason.NOTHING_TO_TRIM, said)
    created = ev.ArchivedAndNewCreated(
        state.id,
        command.new_thread_id or stamp.id,
        state.worktree_id,
        state.branch_name,
        state.project_id,
        state.cwd,
        state.settings,
        command.pins and bool(standing_pins(state)),
    )
    return Accepted((created, ev.SessionStopRequested(state.generation.number)))


def _is_unused(state: ThreadState) -> bool:
    """Returns whether nothing was ever in the context of the thread, whatever Codex may know."""
    has_history = state.generations[0].bootstrap != "none"
    was_used = state.turns or state.undo_state or state.boundaries or state.injected_before_next
    return not (has_history or was_used)


def _stop(state: ThreadState) -> Decision:
    return Accepted(
        () if state.session_stopped else (ev.SessionStopRequested(state.generation.number),)
    )


def _start(state: ThreadState, stamp: Stamp, *, force: bool = False) -> Decision:
    if state.generation.ready and not state.session_stopped and not force:
        return Accepted(())
    requested = ev.SessionStartRequested(state.generation.number)
    return Accepted((ev.OperationStarted(stamp.id, "start"), requested), stamp.id)


def _archive(state: ThreadState) -> Decision:
    if state.archived:
        return Accepted(())
    return Accepted((ev.ThreadArchived(), ev.SessionStopRequested(state.generation.number)))


def _delete(stamp: Stamp) -> Decision:
    return Accepted((ev.OperationStarted(stamp.id, DELETE),), stamp.id)


def _advance(state: ThreadState, command: internal.AdvanceOperation) -> Decision:
    operation = operation_under_way(state, command.operation_id)
    if operation is None or not may_follow(operation.phase, command.phase):
        return Rejected(Reason.INTERNAL, "The operation is not in a phase that this can follow.")
    if (
        command.phase is Phase.READY
        and operation.kind != DELETE
        and state.generation.provider_thread_id is None
        and not _binds(command.facts)
    ):
        return Rejected(
            Reason.INTERNAL, "The generation has no provider thread that could be ready."
        )
    failure: tuple[ev.AnyEvent, ...] = ()
    if (
        command.phase is Phase.FAILED
        and operation.phase in (Phase.REQUESTED, Phase.COMPACTING)
        and operation.kind == "compact"
    ):
        failure = (ev.CompactionFailed(operation.id, command.message),)
    advanced = ev.OperationAdvanced(operation.id, command.phase, command.message, command.reason)
    return Accepted((*command.facts, *failure, advanced), operation.id)


def _binds(facts: tuple[ev.AnyEvent, ...]) -> bool:
    return any(isinstance(fact, ev.ProviderThreadBound) for fact in facts)


def _abandon(state: ThreadState, reason: str) -> tuple[ev.AnyEvent, ...]:
    ended: list[ev.AnyEvent] = [
        ev.TurnRequestEnded(request_id, None, reason) for request_id in state.turn_requests
    ]
    if state.running_turn_id is not None:
        ended.extend(taken_back(state))
        ended.append(
            ev.TurnCompleted(state.running_turn_id, "interrupted", reason, items_heard=False)
        )
    ended.extend(ev.RequestClosed(request_id, "expired") for request_id in state.pending_requests)
    return tuple(ended)
