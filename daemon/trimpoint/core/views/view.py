"""Renders state and events for clients as read model and envelopes, without Codex's internal ids
and data.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
from trimpoint_protocol import readmodel as rm
from trimpoint_protocol.errors import Blocker
from trimpoint_protocol.lenient import words_of_error

from trimpoint.core.context.active_context import (
    active_message_count,
    pruned_by,
    pruned_turn_ids,
)
from trimpoint.core.context.gone_entries import turns_before
from trimpoint.core.model.clock import rfc3339
from trimpoint.core.model.decision import BusyReason, Policy
from trimpoint.core.model.events import (
    AnyEvent,
    Record,
    StretchSummarized,
    TrimPointCreated,
    TurnCompleted,
)
from trimpoint.core.model.ledger import Discard, TrimPoint, Turn
from trimpoint.core.model.operations import Phase
from trimpoint.core.model.queue import Hold, QueuedPrompt
from trimpoint.core.model.state import Checkpoint, Operation, Pending, ThreadState
from trimpoint.core.views.meter import context_status
from trimpoint.core.views.pins_view import context_pins


class TurnWindow(NamedTuple):
    """A range of a thread's turns: the last `size` turns before position `before`, or before the
    end if that is None.
    """

    size: int
    before: int | None = None

    def within(self, turns: int) -> range:
        """Returns the positions of the turns in a thread that has `turns` turns."""
        end = turns if self.before is None else min(self.before, turns)
        return range(max(0, end - self.size), end)


def read_model(
    state: ThreadState,
    policy: Policy,
    read_only: str | None = None,
    window: TurnWindow | None = None,
    context: rm.ContextStatus | None = None,
) -> rm.OrchestrationThread:
    """Returns the read model of one thread. `read_only` is the reason why the thread accepts no
    commands, or None if it does.

    :param window: the turns to include, with their checkpoints; None for all
    :param context: the thread's meter, if the caller has it already
    """
    active_from = state.active_from_turn
    shown = range(len(state.turns)) if window is None else window.within(len(state.turns))
    return rm.OrchestrationThread(
        id=state.id,
        name=state.name,
        cwd=state.cwd,
        project_id=state.project_id,
        worktree_id=state.worktree_id,
        branch_name=state.branch_name,
        archived=state.archived,
        created_at=rfc3339(state.created_at_ms),
        sequence=state.sequence,
        thread_sequence=state.thread_sequence,
        context_trim_points=_trim_points(state, lists_turns=window is None),
        turns=[_turn(state.turns[index], index < active_from) for index in shown],
        turn_count=len(state.turns),
        active_turn_count=len(state.turns) - active_from,
        message_count=state.message_count,
        active_message_count=active_message_count(state),
        session=_session(state),
        operation=_operation(state.operation) if state.operation is not None else None,
        pending_requests=[_pending(pending) for pending in state.pending_requests.values()],
        checkpoints=_checkpoints(state, None if window is None else shown),
        compaction_count=state.compaction_count,
        context=context or context_status(state, policy),
        read_only=read_only,
        pins=context_pins(state),
        new_thread_id=state.new_thread_id,
        first_turn=shown.start,
        queue=[_queued(prompt) for prompt in state.queue],
        queue_hold=_hold(state.hold),
        handoffs=[
            rm.ThreadHandoff(
                thread_id=one.thread_id, goal=one.goal, created_at=rfc3339(one.created_at_ms)
            )
            for one in state.handoffs
        ],
        parent_thread_id=state.parent_thread_id,
    )


def envelopes(state: ThreadState, record: Record) -> Iterator[rm.EventEnvelope]:
    """Yields the events of a record in the form that clients receive, in order."""
    for offset, event in enumerate(record.events):
        thread_sequence = record.thread_sequence + offset
        yield rm.EventEnvelope(
            sequence=record.sequence + offset,
            thread_sequence=thread_sequence,
            event_id=f"{state.id}/{thread_sequence}",
            occurred_at=rfc3339(record.occurred_at_ms),
            command_id=record.command_id,
            operation_id=record.operation_id,
            type=str(event.__struct_config__.tag),
            payload=_payload(state, event),
            asked_by=record.asked_by or None,
        )


def blocker(block: BusyReason) -> Blocker:
    """Returns the reason why a thread is busy in the form of an error's `data.blocker`."""
    return Blocker(block.kind, block.id, rfc3339(block.since_ms), block.detail)


def public_fields(event: AnyEvent | type[AnyEvent]) -> list[str]:
    """Returns the names of the event's fields that clients receive."""
    return [name for name in event.__struct_fields__ if name not in event.private]


def is_time(field: str) -> bool:
    """Returns whether a field of an event is a timestamp, which clients receive as text."""
    return field.endswith("_at_ms")


def wire_name(field: str) -> str:
    """Returns the name of an event's field on the wire."""
    head, *rest = (field.removesuffix("_ms") if is_time(field) else field).split("_")
    return head + "".join(word.capitalize() for word in rest)


def _payload(state: ThreadState, event: AnyEvent) -> dict[str, Any]:
    payload = {
        wire_name(field): wire_value(field, getattr(event, field)) for field in public_fields(event)
    }
    if isinstance(event, TrimPointCreated):
        # The journal has a range of turns; the list is computed for each client that reads it.
        listed = pruned_turn_ids(state, event) or []
        payload |= {
            "prunedTurnIds": listed,
            "prunedTurnCount": event.pruned_turn_count or len(listed),
        }
    if isinstance(event, StretchSummarized):
        discard = next((one for one in state.discards if one.id == event.trim_point_id), None)
        payload["turnsBefore"] = None if discard is None else turns_before(state, discard)
    if isinstance(event, TurnCompleted):
        payload["error"] = _in_words(event.error)
    return payload


def _in_words(error: str | None) -> str | None:
    return None if error is None else words_of_error(error)


def wire_value(field: str, value: Any) -> Any:
    """Returns a field's value as clients receive it: a timestamp as RFC 3339, JSON decoded."""
    if is_time(field):
        return rfc3339(value)
    if isinstance(value, bytes):
        return msgspec.json.decode(value) if value else None
    return value


def _trim_points(state: ThreadState, *, lists_turns: bool) -> list[rm.ContextTrimPoint]:
    """Returns the trim points and discards, oldest first."""
    shown = [_trim_point(state, point, lists_turns=lists_turns) for point in state.trim_points] + [
        _discard(state, one) for one in state.discards
    ]
    return sorted(shown, key=lambda point: point.generation)


def _discard(state: ThreadState, discard: Discard) -> rm.ContextTrimPoint:
    return rm.ContextTrimPoint(
        id=discard.id,
        created_at=rfc3339(discard.created_at_ms),
        before_entry_id=state.entries[discard.entry_index - 1].id,
        pruned_message_count=sum(discard.messages.values()),
        pruned_turn_ids=[],
        first_kept_turn_id=None,
        summary=discard.summary,
        summary_unavailable=False,
        trigger=discard.trigger,
        status=_trim_point_status(state, discard.generation),
        generation=discard.generation,
        trim_kind="discard",
        discarded_entry_ids=list(discard.entry_ids),
        est_tokens=discard.est_tokens,
        turns_before=turns_before(state, discard),
        masked_entry_ids=list(discard.masked_entry_ids),
    )


def _trim_point(state: ThreadState, point: TrimPoint, *, lists_turns: bool) -> rm.ContextTrimPoint:
    return rm.ContextTrimPoint(
        id=point.id,
        created_at=rfc3339(point.created_at_ms),
        before_entry_id=point.before_entry_id,
        pruned_message_count=point.pruned_message_count,
        pruned_turn_ids=pruned_by(state, point) if lists_turns else [],
        first_kept_turn_id=point.first_kept_turn_id,
        summary=point.summary,
        summary_unavailable=point.summary_unavailable,
        trigger=point.trigger,
        status=_trim_point_status(state, point.generation),
        generation=point.generation,
        trim_kind="boundary",
        discarded_entry_ids=[],
        est_tokens=None,
        turns_before=point.turn_index,
    )


def _trim_point_status(state: ThreadState, generation: int) -> rm.TrimPointStatus:
    if generation < state.generation.number or state.generation.ready:
        return "applied"
    failed = state.operation is not None and state.operation.phase is Phase.FAILED
    return "deferred" if failed else "pending"


def _turn(turn: Turn, trimmed: bool) -> rm.ThreadTurn:
    completed = None if turn.completed_at_ms is None else rfc3339(turn.completed_at_ms)
    return rm.ThreadTurn(
        id=turn.id,
        status=turn.status,
        started_at=rfc3339(turn.started_at_ms),
        completed_at=completed,
        error=_in_words(turn.error),
        trimmed=trimmed,
    )


def _session(state: ThreadState) -> rm.ThreadSession:
    generation = state.generation
    status: rm.SessionStatus = (
        "stopped" if state.session_stopped else "ready" if generation.ready else "pending"
    )
    return rm.ThreadSession(
        status=status, generation=generation.number, generation_reason=generation.reason
    )


def _operation(operation: Operation) -> rm.ThreadOperation:
    return rm.ThreadOperation(
        id=operation.id,
        kind=operation.kind,
        phase=operation.phase,
        started_at=rfc3339(operation.started_at_ms),
        message=operation.message,
        trigger=operation.compaction_trigger if operation.kind == "compact" else None,
    )


def _checkpoints(state: ThreadState, shown: range | None) -> list[rm.ThreadCheckpoint]:
    """Returns the checkpoints of the shown turns and those that belong to no turn; all checkpoints
    if `shown` is None.
    """
    if shown is None:
        return [*map(_checkpoint, state.checkpoints)]
    of_turns = ("", *(state.turns[index].id for index in shown))
    places = sorted(at for one in of_turns for at in state.checkpoint_places.get(one, ()))
    return [_checkpoint(state.checkpoints[at]) for at in places]


def _checkpoint(checkpoint: Checkpoint) -> rm.ThreadCheckpoint:
    return rm.ThreadCheckpoint(
        turn_id=checkpoint.turn_id,
        moment=checkpoint.moment,
        created_at=rfc3339(checkpoint.created_at_ms),
        repository=checkpoint.repository or None,
        ref=checkpoint.ref or None,
        commit=checkpoint.commit or None,
        notes=list(checkpoint.notes),
        problem=checkpoint.problem or None,
    )


def _queued(prompt: QueuedPrompt) -> rm.QueuedPrompt:
    return rm.QueuedPrompt(
        id=prompt.id,
        client_user_message_id=prompt.client_user_message_id,
        input=prompt.parts,
        queued_at=rfc3339(prompt.queued_at_ms),
    )


def _hold(hold: Hold | None) -> rm.QueueHold | None:
    return None if hold is None else rm.QueueHold(reason=hold.reason, message=hold.message)


def _pending(pending: Pending) -> rm.PendingRequest:
    return rm.PendingRequest(id=pending.id, method=pending.what, since=rfc3339(pending.since_ms))
