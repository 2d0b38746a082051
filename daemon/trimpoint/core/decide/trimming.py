"""The rules of `/clear` and `/compact`: what a trim excludes, and the generation that it opens."""

import msgspec
from trimpoint_protocol import commands as wire
from trimpoint_protocol.errors import Reason

from trimpoint.core.context.active_context import (
    Summary,
    TrimPlan,
    active_message_count,
    message_count,
    plan_trim,
)
from trimpoint.core.context.generations import next_generation
from trimpoint.core.context.provider_compactions import larger_again
from trimpoint.core.evolve.compaction_attempts import AUTO
from trimpoint.core.model import commands as internal
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import (
    Accepted,
    Decision,
    Policy,
    Rejected,
    Stamp,
    counted,
    operation_under_way,
)
from trimpoint.core.model.operations import Phase
from trimpoint.core.model.state import ThreadState


def trim(state: ThreadState, command: wire.TrimContext, stamp: Stamp) -> Decision:
    """`/clear [N]`: the trim, or why there is nothing to trim."""
    keep = command.keep_last_n_turns or 0
    plan = plan_trim(state, keep)
    if plan is None:
        return Rejected(Reason.NOTHING_TO_TRIM, _nothing_to_trim(state, keep))
    if not command.force and (refusal := larger_again(state, keep, f"/clear {keep}")) is not None:
        return refusal
    trigger, summary = command.trigger or "clear", _said(command.summary)
    trimmed = open_trimmed_generation(state, plan, stamp, "clear", trigger, summary, 0)
    return Accepted((ev.OperationStarted(stamp.id, "clear"), *trimmed), stamp.id)


def _nothing_to_trim(state: ThreadState, keep: int) -> str:
    count = state.active_turn_count
    if count == 0:
        return "Nothing to trim: the agent's context holds no turns."
    return (
        f"Nothing to trim: the agent's context holds {counted(count, 'turn')} and {keep} would be "
        "kept."
    )


def _said(text: str | None) -> str | None:
    """`text`, unless there is nothing in it."""
    return text if text and not text.isspace() else None


def open_trimmed_generation(
    state: ThreadState,
    plan: TrimPlan,
    stamp: Stamp,
    reason: str,
    trigger: str,
    summary: str | None,
    duration_ms: int,
) -> tuple[ev.AnyEvent, ...]:
    """The trim point and generation n+1 in one record; with it, generation n is retired
    (docs/spec/model.md).
    """
    number = state.generation.number + 1
    kept_ids = tuple(turn.id for turn in plan.kept)
    summarized = (
        0 if summary is None else active_message_count(state) - message_count(state, plan.kept)
    )
    trim_point = ev.TrimPointCreated(
        state.id, stamp.id, stamp.now_ms, plan.before_entry_id, plan.pruned_message_count,
        (), kept_ids[0] if kept_ids else None, number, trigger,
        summary_unavailable=reason == "compact" and summary is None,
        pruned_turn_count=plan.pruned_turn_count, last_pruned_turn_id=plan.last_pruned_turn_id,
    )  # fmt: skip
    summarized_event = (
        () if summary is None else (ev.ContextSummarized(state.id, stamp.id, summary, duration_ms),)
    )
    given = None if summary is None else Summary(summary, summarized)
    opened = next_generation(state, reason, plan.kept, given)
    return (
        trim_point,
        *summarized_event,
        opened,
        ev.SessionStopRequested(number - 1),
        ev.SessionStartRequested(number),
    )


def compact(
    state: ThreadState, command: wire.CompactContext, stamp: Stamp, policy: Policy
) -> Decision:
    """`/compact`: the request for a summary; nothing of the context changes yet."""
    keep = command.keep_last_n_turns or 0
    count = active_message_count(state)
    holds = f"the agent's context holds {counted(count, 'message')}"
    if count == 0:
        return Rejected(Reason.NOT_ENOUGH_MESSAGES, f"Nothing to compact: {holds}.")
    if count < policy.min_messages and not command.force:
        few = f"Not enough to compact: {holds}, fewer than {policy.min_messages}."
        return Rejected(Reason.NOT_ENOUGH_MESSAGES, few)
    if keep and plan_trim(state, keep) is None:
        return Rejected(Reason.NOTHING_TO_TRIM, _nothing_to_trim(state, keep))
    if (
        not command.force
        and (refusal := larger_again(state, keep, f"/compact --keep {keep}")) is not None
    ):
        return refusal
    requested = ev.CompactionRequested(stamp.id, keep, _said(command.guidance))
    return Accepted((ev.OperationStarted(stamp.id, "compact"), requested), stamp.id)


def complete_compaction(
    state: ThreadState, command: internal.CompleteCompaction, stamp: Stamp
) -> Decision:
    """The summary has come: trim to it."""
    operation = operation_under_way(state, command.operation_id)
    if operation is None or operation.phase is not Phase.COMPACTING:
        return Rejected(Reason.INTERNAL, "The compaction is no longer under way.")
    summary, plan = _said(command.summary), plan_trim(state, operation.compaction_keep)
    if plan is None or (summary is None and command.provider_thread_id is None):
        # To go on would be a clear that nobody asked for (docs/spec/traps.md).
        return Rejected(
            Reason.COMPACTION_FAILED, "The compaction came to nothing, so nothing was changed."
        )
    trigger = AUTO if operation.compaction_trigger == AUTO else "compact"
    events = open_trimmed_generation(
        state, plan, stamp, "compact", trigger, summary, command.compact_duration_ms
    )
    if command.provider_thread_id is not None:
        events = _carried_by_provider(events, command)
    advanced = ev.OperationAdvanced(
        operation.id, Phase.STOPPING, "Restarting the session with the summary."
    )
    return Accepted((*events, advanced), operation.id)


def _carried_by_provider(
    events: tuple[ev.AnyEvent, ...], command: internal.CompleteCompaction
) -> tuple[ev.AnyEvent, ...]:
    """Only the provider can read its summary: the compacted thread itself becomes the next
    generation.

    Its context is in place already, kept turns included, and it must be said so, or it would be
    thrown away.
    """
    opened = next(event for event in events if isinstance(event, ev.GenerationOpened))
    bound = ev.ProviderThreadBound(
        opened.generation, str(command.provider_thread_id), command.rollout_path
    )
    carried = msgspec.structs.replace(opened, bootstrap="provider")
    in_place = (carried, bound, ev.SessionReady(opened.generation))
    return tuple(event for one in events for event in (in_place if one is opened else (one,)))
