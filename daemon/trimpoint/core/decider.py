"""The decider: `(state, command, stamp, policy) -> events or a rejection`.

Pure, and the only place where rules live. A rejection is a value. `decide` never changes the state; the
projector does, from the events returned.
"""

from typing import NamedTuple, assert_never

import msgspec
from trimpoint_protocol import commands as wire
from trimpoint_protocol.errors import Reason

from trimpoint.core import commands as internal
from trimpoint.core import events as ev
from trimpoint.core.context import TrimPlan, active_message_count, plan_trim
from trimpoint.core.news import news
from trimpoint.core.operations import Phase, may_follow
from trimpoint.core.state import Operation, Pending, ThreadState

AnyCommand = wire.AnyClientCommand | internal.InternalCommand


class Stamp(NamedTuple):
    """Time and identity for one decision: milliseconds since the epoch, and an id unique in the world."""

    now_ms: int
    id: str


class Policy(msgspec.Struct, frozen=True):
    """Configured rules. `min_messages`: fewer than this and `/compact` has too little to summarize."""

    min_messages: int = 6


class Block(NamedTuple):
    """What keeps a thread busy; `kind`: turn | operation | request."""

    kind: str
    id: str
    since_ms: int
    detail: str


class Rejected(NamedTuple):
    """A rule says no. `message` is a sentence for a person."""

    reason: Reason
    message: str
    block: Block | None = None


class Accepted(NamedTuple):
    """What happens instead of nothing; `operation_id` when it opened or belongs to an operation."""

    events: tuple[ev.AnyEvent, ...]
    operation_id: str | None = None


Decision = Accepted | Rejected

_BUSY_REASONS = {
    "turn": Reason.TURN_IN_PROGRESS,
    "operation": Reason.ALREADY_IN_PROGRESS,
    "request": Reason.REQUEST_PENDING,
}


def busy(state: ThreadState) -> Block | None:
    """The one predicate of a busy thread.

    A turn requested, starting or running, an open operation, an unanswered question of the agent.
    """
    if (operation := state.open_operation) is not None:
        return Block("operation", operation.id, operation.started_at_ms, operation.kind)
    if state.running_turn_id is not None:
        turn = state.turns[state.turn_index[state.running_turn_id]]
        return Block("turn", turn.id, turn.started_at_ms, "running")
    if state.turn_requests:
        first = _first(state.turn_requests)
        return Block("turn", first.id, first.since_ms, "starting")
    if state.pending_requests:
        first = _first(state.pending_requests)
        return Block("request", first.id, first.since_ms, first.what)
    return None


def _first(pending: dict[str, Pending]) -> Pending:
    return next(iter(pending.values()))


def decide(state: ThreadState, command: AnyCommand, stamp: Stamp, policy: Policy) -> Decision:
    """What `command` does to `state`: events to write, or why not."""
    if not state.exists and not isinstance(command, internal.CreateThread):
        return Rejected(Reason.THREAD_NOT_FOUND, "There is no such thread.")
    if isinstance(command, wire.ClientCommand):
        return _decide_client(state, command, stamp, policy)
    return _decide_internal(state, command, stamp)


def _decide_client(state: ThreadState, command: wire.AnyClientCommand, stamp: Stamp, policy: Policy) -> Decision:
    match command:
        case wire.TrimContext():
            return _when_idle(state, "clear") or _trim(state, command, stamp)
        case wire.CompactContext():
            return _when_idle(state, "compact") or _compact(state, command, stamp, policy)
        case wire.ArchiveAndNew():
            return _when_idle(state, "replace") or _archive_and_new(state, command, stamp)
        case wire.StopSession():
            return _when_idle(state, "stop") or _stop(state)
        case wire.StartSession():
            return _when_idle(state, "start") or _start(state, stamp)
        case wire.ArchiveThread():
            return _when_idle(state, "archive") or _archive(state)
        case wire.UnarchiveThread():
            return Accepted((ev.ThreadUnarchived(),) if state.archived else ())
        case wire.RenameThread():
            return Accepted((ev.ThreadRenamed(command.name),))
        case _:
            assert_never(command)


def _decide_internal(state: ThreadState, command: internal.InternalCommand, stamp: Stamp) -> Decision:
    match command:
        case internal.CreateThread():
            return _create(state, command, stamp)
        case internal.RecordFacts():
            return Accepted(news(state, command.events))
        case internal.AdvanceOperation():
            return _advance(state, command)
        case internal.CompleteCompaction():
            return _complete_compaction(state, command, stamp)
        case internal.OpenSession():
            return _start(state, stamp, force=command.force) if state.open_operation is None else Accepted(())
        case internal.RevertTurns():
            return _revert_turns(state, command, stamp)
        case internal.AbandonOpenWork():
            return Accepted(_abandon(state, command.reason))
        case _:
            assert_never(command)


def _when_idle(state: ThreadState, verb: str) -> Rejected | None:
    if state.archived and verb != "archive":
        return Rejected(Reason.THREAD_ARCHIVED, f"The thread is archived; unarchive it to {verb} it.")
    if (block := busy(state)) is None:
        return None
    what = {
        "turn": "a turn is running",
        "operation": f"its {block.detail} operation is still under way",
        "request": f"the agent waits for an answer ({block.detail})",
    }[block.kind]
    return Rejected(_BUSY_REASONS[block.kind], f"Cannot {verb} the thread now: {what}.", block)


def _create(state: ThreadState, command: internal.CreateThread, stamp: Stamp) -> Decision:
    if state.exists:
        return Rejected(Reason.INTERNAL, "The thread exists already.")
    created = ev.ThreadCreated(
        command.thread_id, command.cwd, command.origin, command.settings, command.project_id,
        command.worktree_id, command.branch_name, command.parent_thread_id, command.name,
    )  # fmt: skip
    reason = "resume" if command.origin == "adopted" else "start"
    if command.provider_thread_id is None:
        opened = ev.GenerationOpened(1, reason, "none")
        return Accepted((created, opened, ev.OperationStarted(stamp.id, "start"), ev.SessionStartRequested(1)), stamp.id)
    opened = ev.GenerationOpened(1, reason, "none" if command.origin == "started" else "provider")
    bound = ev.ProviderThreadBound(1, command.provider_thread_id, command.rollout_path, command.raw_events)
    return Accepted((created, opened, bound, ev.SessionReady(1)))


def _trim(state: ThreadState, command: wire.TrimContext, stamp: Stamp) -> Decision:
    keep = command.keep_last_n_turns or 0
    plan = plan_trim(state, keep)
    if plan is None:
        return Rejected(Reason.NOTHING_TO_TRIM, _nothing_to_trim(state, keep))
    trigger, summary = command.trigger or "clear", _said(command.summary)
    trimmed = _open_trimmed_generation(state, plan, stamp, "clear", trigger, summary, 0)
    return Accepted((ev.OperationStarted(stamp.id, "clear"), *trimmed), stamp.id)


def _nothing_to_trim(state: ThreadState, keep: int) -> str:
    count = len(state.active_turns)
    if count == 0:
        return "Nothing to trim: the agent's context holds no turns."
    return f"Nothing to trim: the agent's context holds {_counted(count, 'turn')} and {keep} would be kept."


def _counted(count: int, noun: str) -> str:
    return f"1 {noun}" if count == 1 else f"{count} {noun}s"


def _said(text: str | None) -> str | None:
    """`text`, unless there is nothing in it."""
    return text if text and not text.isspace() else None


def _open_trimmed_generation(
    state: ThreadState,
    plan: TrimPlan,
    stamp: Stamp,
    reason: str,
    trigger: str,
    summary: str | None,
    duration_ms: int,
) -> tuple[ev.AnyEvent, ...]:
    """The trim point and generation n+1 in one record; with it, generation n is retired (spec §2)."""
    number = state.generation.number + 1
    kept_ids = tuple(turn.id for turn in plan.kept)
    summarized = active_message_count(state) - sum(turn.message_count for turn in plan.kept)
    trim_point = ev.TrimPointCreated(
        state.id, stamp.id, stamp.now_ms, plan.before_entry_id, plan.pruned_message_count,
        tuple(turn.id for turn in plan.pruned), kept_ids[0] if kept_ids else None, number, trigger,
        summary_unavailable=reason == "compact" and summary is None,
    )  # fmt: skip
    summarized_event = () if summary is None else (ev.ContextSummarized(state.id, stamp.id, summary, duration_ms),)
    bootstrap = "summary" if summary is not None else "turns" if kept_ids else "none"
    opened = ev.GenerationOpened(number, reason, bootstrap, kept_ids, summary, summarized if summary is not None else 0)
    return (
        trim_point,
        *summarized_event,
        opened,
        ev.SessionStopRequested(number - 1),
        ev.SessionStartRequested(number),
    )


def _compact(state: ThreadState, command: wire.CompactContext, stamp: Stamp, policy: Policy) -> Decision:
    keep = command.keep_last_n_turns or 0
    count = active_message_count(state)
    holds = f"the agent's context holds {_counted(count, 'message')}"
    if count == 0:
        return Rejected(Reason.NOT_ENOUGH_MESSAGES, f"Nothing to compact: {holds}.")
    if count < policy.min_messages and not command.force:
        few = f"Not enough to compact: {holds}, fewer than {policy.min_messages}."
        return Rejected(Reason.NOT_ENOUGH_MESSAGES, few)
    if keep and plan_trim(state, keep) is None:
        return Rejected(Reason.NOTHING_TO_TRIM, _nothing_to_trim(state, keep))
    requested = ev.CompactionRequested(stamp.id, keep, _said(command.guidance))
    return Accepted((ev.OperationStarted(stamp.id, "compact"), requested), stamp.id)


def _complete_compaction(state: ThreadState, command: internal.CompleteCompaction, stamp: Stamp) -> Decision:
    operation = _current(state, command.operation_id)
    if operation is None or operation.phase is not Phase.COMPACTING:
        return Rejected(Reason.INTERNAL, "The compaction is no longer under way.")
    summary, plan = _said(command.summary), plan_trim(state, operation.compaction_keep)
    if plan is None or (summary is None and command.provider_thread_id is None):
        # To go on would be a clear that nobody asked for (spec §10.5).
        return Rejected(Reason.COMPACTION_FAILED, "The compaction came to nothing, so nothing was changed.")
    events = _open_trimmed_generation(state, plan, stamp, "compact", "compact", summary, command.compact_duration_ms)
    if command.provider_thread_id is not None:
        events = _carried_by_provider(events, command)
    advanced = ev.OperationAdvanced(operation.id, Phase.STOPPING, "Restarting the session with the summary.")
    return Accepted((*events, advanced), operation.id)


def _carried_by_provider(events: tuple[ev.AnyEvent, ...], command: internal.CompleteCompaction) -> tuple[ev.AnyEvent, ...]:
    """Only the provider can read its summary: the compacted thread itself becomes the next generation.

    Its context is in place already, kept turns included, and it must be said so, or it would be thrown away.
    """
    opened = next(event for event in events if isinstance(event, ev.GenerationOpened))
    bound = ev.ProviderThreadBound(opened.generation, str(command.provider_thread_id), command.rollout_path)
    carried = msgspec.structs.replace(opened, bootstrap="provider")
    in_place = (carried, bound, ev.SessionReady(opened.generation))
    return tuple(event for one in events for event in (in_place if one is opened else (one,)))


def _archive_and_new(state: ThreadState, command: wire.ArchiveAndNew, stamp: Stamp) -> Decision:
    created = ev.ArchivedAndNewCreated(
        state.id, command.new_thread_id or stamp.id, state.worktree_id, state.branch_name, state.project_id,
        state.cwd, state.settings,
    )  # fmt: skip
    return Accepted((created, ev.SessionStopRequested(state.generation.number)))


def _revert_turns(state: ThreadState, command: internal.RevertTurns, stamp: Stamp) -> Decision:
    reverted = ev.TurnsReverted(command.turn_id)
    if command.provider_did:
        return Accepted((reverted,) if command.turn_id in state.turn_index else ())
    if (refusal := _when_idle(state, "revert")) is not None:
        return refusal
    index = state.turn_index.get(command.turn_id)
    if index is None:
        return Rejected(Reason.NOT_SUPPORTED, "The thread has no such turn.")
    point = next((point for point in reversed(state.trim_points) if point.turn_index <= index), None)
    if point is not None and point.summary_unavailable:
        return Rejected(
            Reason.NOT_SUPPORTED, "Only Codex has the summary that the turn builds on, so it cannot be taken back to."
        )
    # The context that was active at that turn: what the last trim before it had left, and the turns since.
    left = tuple(turn.id for turn in state.turns[point.turn_index if point is not None else 0 : index])
    summary = point.summary if point is not None else None
    bootstrap = "summary" if summary is not None else "turns" if left else "none"
    number = state.generation.number + 1
    summarized = point.pruned_message_count if point is not None and summary is not None else 0
    opened = ev.GenerationOpened(number, "revert", bootstrap, left, summary, summarized)
    requested = ev.SessionStopRequested(number - 1), ev.SessionStartRequested(number)
    return Accepted((ev.OperationStarted(stamp.id, "revert"), reverted, opened, *requested), stamp.id)


def _stop(state: ThreadState) -> Decision:
    return Accepted(() if state.session_stopped else (ev.SessionStopRequested(state.generation.number),))


def _start(state: ThreadState, stamp: Stamp, *, force: bool = False) -> Decision:
    if state.generation.ready and not state.session_stopped and not force:
        return Accepted(())
    requested = ev.SessionStartRequested(state.generation.number)
    return Accepted((ev.OperationStarted(stamp.id, "start"), requested), stamp.id)


def _archive(state: ThreadState) -> Decision:
    if state.archived:
        return Accepted(())
    return Accepted((ev.ThreadArchived(), ev.SessionStopRequested(state.generation.number)))


def _current(state: ThreadState, operation_id: str) -> Operation | None:
    operation = state.open_operation
    return operation if operation is not None and operation.id == operation_id else None


def _advance(state: ThreadState, command: internal.AdvanceOperation) -> Decision:
    operation = _current(state, command.operation_id)
    if operation is None or not may_follow(operation.phase, command.phase):
        return Rejected(Reason.INTERNAL, "The operation is not in a phase that this can follow.")
    if command.phase is Phase.READY and state.generation.provider_thread_id is None and not _binds(command.facts):
        return Rejected(Reason.INTERNAL, "The generation has no provider thread that could be ready.")
    failure: tuple[ev.AnyEvent, ...] = ()
    if command.phase is Phase.FAILED and operation.phase in (Phase.REQUESTED, Phase.COMPACTING) and operation.kind == "compact":
        failure = (ev.CompactionFailed(operation.id, command.message),)
    advanced = ev.OperationAdvanced(operation.id, command.phase, command.message, command.reason)
    return Accepted((*command.facts, *failure, advanced), operation.id)


def _binds(facts: tuple[ev.AnyEvent, ...]) -> bool:
    return any(isinstance(fact, ev.ProviderThreadBound) for fact in facts)


def _abandon(state: ThreadState, reason: str) -> tuple[ev.AnyEvent, ...]:
    ended: list[ev.AnyEvent] = [ev.TurnRequestEnded(request_id, None, reason) for request_id in state.turn_requests]
    if state.running_turn_id is not None:
        ended.append(ev.TurnCompleted(state.running_turn_id, "interrupted", reason, items_heard=False))
    ended.extend(ev.RequestClosed(request_id, "expired") for request_id in state.pending_requests)
    return tuple(ended)
