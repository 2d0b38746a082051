"""The rule of automatic compaction: when a critical context is compacted without being asked, and
when that stops (docs/spec/context.md).

Always true: between turns only, one at a time, and never again after two attempts in vain, or three
that won no turn, until something has changed. An attempt wins a turn when a turn after it ends
below the critical level. An agent that is compacted over and over does nothing else any more.
"""

from trimpoint_protocol import readmodel as rm

from trimpoint.core.context.active_context import plan_trim
from trimpoint.core.context.context_size import level_of, reported_size, share_text, window_of
from trimpoint.core.context.provider_compactions import seen_turns
from trimpoint.core.evolve.compaction_attempts import AUTO, REMEMBERED
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Accepted, Decision, Policy, Stamp, when_idle
from trimpoint.core.model.state import CompactionAttempt, ThreadState
from trimpoint.core.model.usage import SampleSource, model_in

IN_VAIN = 2
"""So many attempts in a row that failed or freed next to nothing are the last."""
WITHOUT_A_TURN = REMEMBERED
"""So many in a row after which the very next turn filled the context again are the last."""
ADVICE = "/compact summarizes it; /clear N keeps the last N turns and needs no model call."


def compact_when_critical(state: ThreadState, stamp: Stamp, policy: Policy) -> Decision:
    """Begin a compaction if one is due and the thread is idle; else nothing happens."""
    if not is_due(state, policy) or when_idle(state, "compact") is not None:
        return Accepted(())
    summarizer = policy.summarizer
    requested = ev.CompactionRequested(
        stamp.id,
        _turns_to_keep(state, policy),
        None,
        AUTO,
        summarizer.model_for(model_in(state.settings)),
        summarizer.effort,
    )
    return Accepted((ev.OperationStarted(stamp.id, "compact"), requested), stamp.id)


def is_due(state: ThreadState, policy: Policy) -> bool:
    """Returns whether the context is to be compacted as soon as the thread is idle."""
    return (
        policy.auto == "compact"
        and _is_measurable(state, policy)
        and _level(state, policy) == "critical"
        and not has_stopped(state, policy)
        and plan_trim(state, _turns_to_keep(state, policy)) is not None
    )


def has_stopped(state: ThreadState, policy: Policy) -> bool:
    """Returns whether the last attempts all failed or freed too little."""
    return _last_were_in_vain(state, policy) or _last_won_no_turn(state, policy)


def _last_were_in_vain(state: ThreadState, policy: Policy) -> bool:
    last = state.auto_attempts[-IN_VAIN:]
    return len(last) == IN_VAIN and all(
        _was_ineffective(state, attempt, policy) for attempt in last
    )


def _last_won_no_turn(state: ThreadState, policy: Policy) -> bool:
    last = state.auto_attempts[-WITHOUT_A_TURN:]
    return len(last) == WITHOUT_A_TURN and all(
        _won_no_turn(state, attempt, policy) for attempt in last
    )


def auto_status(state: ThreadState, policy: Policy) -> rm.AutoCompaction:
    """Returns the state of automatic compaction, with a sentence for a person."""
    operation = state.open_operation
    if (
        operation is not None
        and operation.kind == "compact"
        and operation.compaction_trigger == AUTO
    ):
        return rm.AutoCompaction(
            mode=policy.auto,
            state="running",
            message=f"{_usage_text(state, policy)} {operation.message}".strip(),
        )
    level = _level(state, policy)
    if policy.auto == "off" or level in (None, "ok"):
        return rm.AutoCompaction(mode=policy.auto, state="idle", message="")
    if policy.auto == "compact" and has_stopped(state, policy):
        return rm.AutoCompaction(
            mode=policy.auto, state="stopped", message=_stop_reason(state, policy)
        )
    if is_due(state, policy):
        return rm.AutoCompaction(
            mode=policy.auto,
            state="due",
            message=f"{_usage_text(state, policy)} It is compacted before the next turn.",
        )
    return rm.AutoCompaction(
        mode=policy.auto, state="idle", message=f"{_usage_text(state, policy)} {ADVICE}"
    )


def _is_measurable(state: ThreadState, policy: Policy) -> bool:
    """Returns whether the present session was measured. What overflowed is left to the recovery,
    where there is one.
    """
    report = state.usage.report
    if report is None or not state.generation.ready or state.may_have_missed:
        return False
    return report.basis is SampleSource.MEASURED or (
        report.basis is SampleSource.FULL and not policy.overflow_recovery
    )


def _turns_to_keep(state: ThreadState, policy: Policy) -> int:
    """Returns how many turns to keep: as configured, but never all of them.

    Nor any that the model no longer sees, or the compaction would bring them back.
    """
    wanted = max(0, min(policy.preserve_recent_turns, state.active_turn_count - 1))
    return min(wanted, seen_turns(state))


def _was_ineffective(state: ThreadState, attempt: CompactionAttempt, policy: Policy) -> bool:
    window = window_of(state.usage, model_in(state.settings), policy)
    if attempt.lowest is None or window is None:
        return attempt.failure is not None
    return attempt.used - attempt.lowest < policy.min_freed * window


def _won_no_turn(state: ThreadState, attempt: CompactionAttempt, policy: Policy) -> bool:
    """Returns whether turns have ended since, and each of them with a critical context."""
    window = window_of(state.usage, model_in(state.settings), policy)
    lowest = attempt.lowest_at_turn_end
    if lowest is None or window is None:
        return attempt.failure is not None
    return level_of(lowest, window, policy) == "critical"


def _level(state: ThreadState, policy: Policy) -> str | None:
    """Returns the level of the reported size; None for an estimate, which triggers nothing."""
    window = window_of(state.usage, model_in(state.settings), policy)
    fill = reported_size(state.usage, window)
    return level_of(fill.used, window, policy) if fill is not None and window is not None else None


def _usage_text(state: ThreadState, policy: Policy) -> str:
    window = window_of(state.usage, model_in(state.settings), policy)
    fill = reported_size(state.usage, window)
    return (
        f"The context is {share_text(fill.used, window)} full."
        if fill is not None and window is not None
        else ""
    )


def _stop_reason(state: ThreadState, policy: Policy) -> str:
    stopped = f"{_usage_text(state, policy)} Automatic compaction has stopped:"
    if not _last_were_in_vain(state, policy):
        won = "after each of the last three the context was full again within one turn"
        return f"{stopped} {won}. A turn that needs less, or a larger model, helps. {ADVICE}"
    failures = [one.failure for one in state.auto_attempts[-IN_VAIN:] if one.failure is not None]
    outcome = (
        "freed next to nothing"
        if not failures
        else "failed"
        if len(failures) == IN_VAIN
        else "failed or freed next to nothing"
    )
    said = f" ({failures[-1].rstrip('.')})" if failures else ""
    return f"{stopped} the last two attempts {outcome}{said}. {ADVICE}"
