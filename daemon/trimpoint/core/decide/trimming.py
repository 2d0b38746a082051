"""The rules of `/clear` and `/compact`: which turns a trim prunes, and the generation that it
opens.
"""

from collections.abc import Iterator
from itertools import accumulate

import msgspec
from trimpoint_protocol import commands as wire
from trimpoint_protocol.errors import Reason
from trimpoint_protocol.hints import CommandHint

from trimpoint.core.context.active_context import (
    Summary,
    TrimPlan,
    active_message_count,
    begins_with_summary,
    current_summary,
    message_count,
    plan_trim,
)
from trimpoint.core.context.context_size import (
    opened_weights,
    reported_level,
)
from trimpoint.core.context.generations import next_generation
from trimpoint.core.context.provider_compactions import larger_again, newest_own_compaction
from trimpoint.core.context.summary_items import standing_summaries, summary_item
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
from trimpoint.core.model.operations import DRAFT, Phase
from trimpoint.core.model.state import Operation, ThreadState
from trimpoint.core.model.tokens import estimate_tokens
from trimpoint.core.model.usage import model_in

EARLIER_SUMMARY = (
    "The conversation begins with a summary of what came before it. Build on that summary: keep "
    "what still holds, and drop what is superseded."
)
_ALL_THE_SAME = (
    CommandHint("/compact --force", "summarizes it all the same"),
    CommandHint("/clear", "drops it"),
)
_ALL_PINNED = "Nothing to trim: what would be pruned is pinned, and stays."
_PINNED = "Not enough to compact: what would be summarized is pinned, and stays."
CAME_TO_NOTHING = "The compaction came to nothing, so nothing was changed."
UNPINNED = (CommandHint("/unpin", "lets go of the newest pin"), CommandHint("/pins", "lists them"))
_SHOWN = CommandHint("/context", "shows what the context holds")
_UNDONE = CommandHint("/undo", "takes the last trim back")
SMALL_SUMMARY_TOKENS = 200
"""A summary of at most this many tokens is always accepted, because it costs very little."""


def trim(state: ThreadState, command: wire.TrimContext, stamp: Stamp) -> Decision:
    """Decides `/clear [N]`: returns the trim, or the rejection if there is nothing to trim."""
    keep = command.keep_last_n_turns or 0
    plan = plan_trim(state, keep)
    if plan is None:
        return _nothing_to_trim(state, keep, CommandHint("/clear 0", "keeps none"))
    if not command.force and (refusal := larger_again(state, keep, f"/clear {keep}")) is not None:
        return refusal
    trigger, summary = command.trigger or "clear", unless_blank(command.summary)
    if summary is None and _prunes_only_pinned(state, plan):
        return Rejected(Reason.NOTHING_TO_TRIM, _ALL_PINNED, hints=UNPINNED)
    trimmed = open_trimmed_generation(state, plan, stamp, "clear", trigger, summary, 0)
    return Accepted((ev.OperationStarted(stamp.id, "clear"), *trimmed), stamp.id)


def _nothing_to_trim(state: ThreadState, keep: int, keep_none: CommandHint) -> Rejected:
    count, hints = state.active_turn_count, _where_empty(state)
    if count == 0:
        said = "the agent's context holds no turns"
    elif count > keep:
        said = "the model is shown nothing of the turns that would be pruned"
    else:
        said = f"the agent's context holds {counted(count, 'turn')} and {keep} would be kept"
        hints = (keep_none, _SHOWN)
    return Rejected(Reason.NOTHING_TO_TRIM, f"Nothing to trim: {said}.", hints=hints)


def _prunes_only_pinned(state: ThreadState, plan: TrimPlan) -> bool:
    """Returns whether all that the model is shown of what the trim prunes is pinned, so that it
    would stay.
    """
    if not 0 < plan.pruned_turn_count <= len(state.pins) or plan.pruned_injected:
        return False
    if begins_with_summary(state) or newest_own_compaction(state) is not None:
        return False
    pinned = {pin.turn_id for pin in state.pins}
    return all(
        turn.id in pinned and not turn.injected_before and not turn.injected_apart
        for turn in state.active_turns[: plan.pruned_turn_count]
    )


def _where_empty(state: ThreadState) -> tuple[CommandHint, ...]:
    """Returns the ways on where there is nothing to take out of the context."""
    return (_SHOWN, _UNDONE) if state.boundaries else (_SHOWN,)


def unless_blank(text: str | None) -> str | None:
    """Returns `text`, or None if it is None or blank."""
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
    """Returns the events of one record: the trim point, its summary if there is one, and the
    opening of generation n+1, which retires generation n (docs/spec/model.md).
    """
    number = state.generation.number + 1
    kept_ids = tuple(turn.id for turn in plan.kept)
    summarized = active_message_count(state) - message_count(state, plan.kept)
    summarized -= len(standing_summaries(state.discards, plan.kept))
    summarized = 0 if summary is None else summarized or plan.pruned_injected
    trim_point = ev.TrimPointCreated(
        state.id, stamp.id, stamp.now_ms, plan.before_entry_id, plan.pruned_message_count,
        (), kept_ids[0] if kept_ids else None, number, trigger,
        summary_unavailable=reason == "compact" and summary is None,
        pruned_turn_count=plan.pruned_turn_count, last_pruned_turn_id=plan.last_pruned_turn_id,
        pruned_injected=plan.pruned_injected,
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
    """Decides `/compact`: returns the request for a summary, or the rejection. The context does not
    change yet.
    """
    keep = command.keep_last_n_turns or 0
    count = active_message_count(state)
    holds = f"the agent's context holds {counted(count, 'message')}"
    if count == 0 and not state.active_injected:
        return Rejected(
            Reason.NOT_ENOUGH_MESSAGES, f"Nothing to compact: {holds}.", hints=_where_empty(state)
        )
    if count < policy.min_messages and not command.force and not _is_filling(state, policy):
        few = f"Not enough to compact: {holds}, fewer than {policy.min_messages}."
        return Rejected(Reason.NOT_ENOUGH_MESSAGES, few, hints=_ALL_THE_SAME)
    if keep and plan_trim(state, keep) is None:
        return _nothing_to_trim(state, keep, CommandHint("/compact", "summarizes all of it"))
    if (
        not command.force
        and (refusal := larger_again(state, keep, f"/compact --keep {keep}")) is not None
    ):
        return refusal
    if not command.force and leaves_all_pinned(state, keep):
        hints = (*UNPINNED, _ALL_THE_SAME[0])
        return Rejected(Reason.NOT_ENOUGH_MESSAGES, _PINNED, hints=hints)
    summarizer = policy.summarizer
    requested = ev.CompactionRequested(
        stamp.id,
        keep,
        unless_blank(command.guidance),
        model=command.model or summarizer.model_for(model_in(state.settings)),
        effort=summarizer.effort,
        force=command.force,
    )
    return Accepted((ev.OperationStarted(stamp.id, kind_of(command)), requested), stamp.id)


def kind_of(command: wire.CompactContext) -> str:
    """Returns the kind of the operation of a compaction."""
    return DRAFT if command.edit else "compact"


def _is_filling(state: ThreadState, policy: Policy) -> bool:
    """Returns whether the context is at the warning or critical level. Few messages fill it where
    much was read: tool calls and their results are none.
    """
    return reported_level(state, policy) in ("warning", "critical")


def complete_compaction(
    state: ThreadState, command: internal.CompleteCompaction, stamp: Stamp
) -> Decision:
    """Completes a compaction: returns the trim with the new summary, or the rejection if there is
    no summary.
    """
    operation = compaction_under_way(state, command)
    if isinstance(operation, Rejected):
        return operation
    return compacted(state, operation, command, stamp)


def compacted(
    state: ThreadState,
    operation: Operation,
    command: internal.CompleteCompaction,
    stamp: Stamp,
) -> Decision:
    """Returns the trim with the summary that the operation was for, or the rejection if there is
    none.
    """
    summary, plan = unless_blank(command.summary), plan_trim(state, operation.compaction_keep)
    if plan is None or (summary is None and command.provider_thread_id is None):
        # To continue would be a clear that no person asked for (docs/spec/traps.md).
        return Rejected(Reason.COMPACTION_FAILED, CAME_TO_NOTHING)
    trigger = AUTO if operation.compaction_trigger == AUTO else "compact"
    events = open_trimmed_generation(
        state, plan, stamp, "compact", trigger, summary, command.compact_duration_ms
    )
    events = tuple(
        _with_origin(event, state, operation) if isinstance(event, ev.ContextSummarized) else event
        for event in events
    )
    if command.provider_thread_id is not None:
        events = _carried_by_provider(events, command)
    return restarted_with(events, operation)


def restarted_with(events: tuple[ev.AnyEvent, ...], operation: Operation) -> Accepted:
    """Returns the completion of a compaction whose summary is among the events."""
    said = "Restarting the session with the summary."
    advanced = ev.OperationAdvanced(operation.id, Phase.STOPPING, said)
    return Accepted((*events, advanced), operation.id)


def compaction_under_way(
    state: ThreadState, command: internal.CompleteCompaction
) -> Operation | Rejected:
    """Returns the compaction that the command completes, or the rejection."""
    operation = operation_under_way(state, command.operation_id)
    if operation is None or operation.phase is not Phase.COMPACTING:
        return Rejected(Reason.INTERNAL, "The compaction is no longer under way.")
    if state.running_turn_id is not None:
        # Codex began a queued prompt or the goal's next turn meanwhile; the trim would end it.
        return Rejected(
            Reason.COMPACTION_FAILED, "A turn has begun meanwhile, so nothing was changed."
        )
    return operation


def summarizer_guidance(state: ThreadState, guidance: str | None) -> str | None:
    """Returns the additional instructions for the summarizer: the person's guidance, and how to
    treat an earlier summary if the context begins with one. Returns None if there are none.
    """
    earlier = EARLIER_SUMMARY if begins_with_summary(state) else None
    return " ".join(filter(None, (guidance, earlier))) or None


def not_smaller(operation: Operation, summary: str, replaced: int) -> Rejected | None:
    """Returns the rejection of a summary that is not smaller than the `replaced` tokens of the
    context that it stands for, or None if the summary is accepted.
    """
    tokens = summary_tokens(summary)
    if operation.compaction_force or tokens <= SMALL_SUMMARY_TOKENS or tokens < replaced:
        return None
    what = f"The summary has about {tokens:,} tokens, and what it stands for about {replaced:,}"
    insist = CommandHint("/compact --force", "takes it all the same")
    return Rejected(Reason.NOT_SMALLER, f"{what}.", hints=(insist,))


def _with_origin(
    event: ev.ContextSummarized, state: ThreadState, operation: Operation
) -> ev.ContextSummarized:
    return msgspec.structs.replace(
        event,
        model=operation.compaction_model,
        guidance=operation.compaction_guidance,
        tokens_before=replaced_tokens(state, operation),
        tokens_after=summary_tokens(event.summary),
    )


def summary_tokens(summary: str) -> int:
    """Returns the estimated tokens of a summary in the context."""
    return estimate_tokens(summary_item(summary, 0))


def replaced_tokens(state: ThreadState, operation: Operation) -> int:
    """Returns the estimated tokens of what the summary of the operation stands for."""
    return sum(_replaced_weights(state, operation.compaction_keep))


def leaves_all_pinned(state: ThreadState, keep: int) -> bool:
    """Returns whether the turns that a compaction would summarize are pinned and stay, but for less
    than a small summary takes: the context would grow.
    """
    pinned = {pin.turn_id for pin in state.pins}
    going = state.active_turns[: state.active_turn_count - keep]
    if not any(turn.id in pinned for turn in going):
        return False
    weights = accumulate(_replaced_weights(state, keep), initial=0)
    return all(tokens <= SMALL_SUMMARY_TOKENS for tokens in weights)


def _replaced_weights(state: ThreadState, keep: int) -> Iterator[int]:
    """Yields the estimated tokens of an earlier summary and of each pruned turn, which the new
    summary replaces. Pinned turns stay.
    """
    pinned = {pin.turn_id for pin in state.pins}
    turns = state.active_turns
    going = [turn for turn in turns[: len(turns) - keep] if turn.id not in pinned]
    skipped = state.generation.skipped_items if going and going[0] is turns[0] else 0
    opened = next_generation(state, "compact", going, current_summary(state), skipped)
    return opened_weights(state, msgspec.structs.replace(opened, pins=()))


def _carried_by_provider(
    events: tuple[ev.AnyEvent, ...], command: internal.CompleteCompaction
) -> tuple[ev.AnyEvent, ...]:
    """Returns the events with the compacted provider thread as that of the next generation, because
    only this thread has its sealed summary.

    Its context is complete already, kept turns included. The events must say so, or the provider
    thread would be given a bootstrap.
    """
    opened = next(event for event in events if isinstance(event, ev.GenerationOpened))
    bound = ev.ProviderThreadBound(
        opened.generation, str(command.provider_thread_id), command.rollout_path
    )
    carried = msgspec.structs.replace(opened, bootstrap="provider")
    in_place = (carried, bound, ev.SessionReady(opened.generation))
    return tuple(event for one in events for event in (in_place if one is opened else (one,)))
