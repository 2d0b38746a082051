"""The rules of automatic compaction: when a critical context is compacted without a request, and
when this stops (docs/spec/context.md).

An automatic compaction runs only between turns, and one at a time. It stops after two attempts in a
row that failed or freed too little, or after three in a row that won no turn. It resumes when a
person trims the context, when the model changes, or when a later report shows a smaller context. An
attempt wins a turn if a turn after it ends below the critical level. Without this rule an agent
could be compacted again and again and do nothing else.
"""

from collections.abc import Sequence
from typing import Literal

import msgspec
from trimpoint_protocol import readmodel as rm
from trimpoint_protocol.hints import CommandHint

from trimpoint.core.context.active_context import plan_trim
from trimpoint.core.context.context_size import (
    level_of,
    reported_level,
    reported_size,
    share_text,
    window_of,
)
from trimpoint.core.context.provider_compactions import seen_turns
from trimpoint.core.decide.trimming import UNPINNED, leaves_all_pinned
from trimpoint.core.evolve.compaction_attempts import AUTO, REMEMBERED
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Accepted, Policy, Stamp, in_force
from trimpoint.core.model.spelling import Spelling, hint_text
from trimpoint.core.model.state import CompactionAttempt, ThreadState
from trimpoint.core.model.usage import SampleSource, model_in

IN_VAIN = 2
"""The number of attempts in a row that failed or freed too little, after which no more are made."""
WITHOUT_A_TURN = REMEMBERED
"""The number of attempts in a row, each followed by a turn that filled the context again, after
which no more are made.
"""
ADVICE = [
    CommandHint("/compact", "summarizes it"),
    CommandHint("/clear N", "keeps the last N turns and needs no model call"),
]


def compaction_requested(state: ThreadState, stamp: Stamp, policy: Policy) -> Accepted:
    """Returns the start of an automatic compaction."""
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


def is_compaction_due(state: ThreadState, policy: Policy) -> bool:
    """Returns whether the context must be compacted as soon as the thread is idle."""
    return (
        policy.auto == "compact"
        and _is_measurable(state, policy)
        and reported_level(state, policy) == "critical"
        and not has_stopped(state, policy)
        and plan_trim(state, _turns_to_keep(state, policy)) is not None
        and not leaves_all_pinned(state, _turns_to_keep(state, policy))
    )


def has_stopped(state: ThreadState, policy: Policy) -> bool:
    """Returns whether automatic compaction has stopped because the last attempts did not help."""
    return did_not_help(state.auto_attempts, _window(state, policy), policy)


def did_not_help(attempts: Sequence[CompactionAttempt], window: int | None, policy: Policy) -> bool:
    """Returns whether the last attempts did not help, so that no more are made.

    :param window: the size of the model's window in tokens, if it is known.
    """
    return _last_were_in_vain(attempts, window, policy) or _last_won_no_turn(
        attempts, window, policy
    )


def _last_were_in_vain(
    attempts: Sequence[CompactionAttempt], window: int | None, policy: Policy
) -> bool:
    last = attempts[-IN_VAIN:]
    return len(last) == IN_VAIN and all(_was_ineffective(one, window, policy) for one in last)


def _last_won_no_turn(
    attempts: Sequence[CompactionAttempt], window: int | None, policy: Policy
) -> bool:
    last = attempts[-WITHOUT_A_TURN:]
    return len(last) == WITHOUT_A_TURN and all(_won_no_turn(one, window, policy) for one in last)


def _window(state: ThreadState, policy: Policy) -> int | None:
    return window_of(state.usage, model_in(state.settings), policy)


def auto_status(state: ThreadState, policy: Policy) -> rm.AutoCompaction:
    """Returns the state of automatic compaction (idle, due, running or stopped) with a sentence for
    a person.
    """
    policy = in_force(state, policy)
    status = _auto_status(state, policy)
    return msgspec.structs.replace(status, is_chosen=state.auto is not None)


def _auto_status(state: ThreadState, policy: Policy) -> rm.AutoCompaction:
    operation = state.open_operation
    if (
        operation is not None
        and operation.kind == "compact"
        and operation.compaction_trigger == AUTO
    ):
        return rm.AutoCompaction(
            mode=policy.auto,
            state="running",
            message=(said := f"{_usage_text(state, policy)} {operation.message}".strip()),
            said=said,
        )
    level = reported_level(state, policy)
    if policy.auto == "off" or level in (None, "ok"):
        return rm.AutoCompaction(mode=policy.auto, state="idle", message="")
    if policy.auto == "compact" and has_stopped(state, policy):
        return _advised(policy, "stopped", stop_reason(state, policy), ADVICE)
    if is_compaction_due(state, policy):
        return rm.AutoCompaction(
            mode=policy.auto,
            state="due",
            message=(said := f"{_usage_text(state, policy)} It is compacted before the next turn."),
            said=said,
        )
    if leaves_all_pinned(state, 0):
        said = f"{_usage_text(state, policy)} What could be summarized is pinned."
        return _advised(policy, "idle", said, [*UNPINNED])
    return _advised(policy, "idle", _usage_text(state, policy), ADVICE)


def _advised(
    policy: Policy, state: Literal["idle", "stopped"], said: str, hints: list[CommandHint]
) -> rm.AutoCompaction:
    message = f"{said} {hint_text(hints, Spelling.SLASH)}"
    return rm.AutoCompaction(
        mode=policy.auto, state=state, message=message, said=said, hints=[*hints]
    )


def _is_measurable(state: ThreadState, policy: Policy) -> bool:
    """Returns whether the size of the present context was measured. An overflow counts as a
    measurement only if there is no recovery for it.
    """
    report = state.usage.report
    if report is None or not state.generation.ready or state.may_have_missed:
        return False
    return report.basis is SampleSource.MEASURED or (
        report.basis is SampleSource.FULL and not policy.overflow_recovery
    )


def _turns_to_keep(state: ThreadState, policy: Policy) -> int:
    """Returns the number of turns to keep: the configured number, but at least one active turn is
    compacted, and turns that Codex has compacted already are not kept, because keeping them would
    bring them back in full.
    """
    wanted = max(0, min(policy.preserve_recent_turns, state.active_turn_count - 1))
    return min(wanted, seen_turns(state))


def _was_ineffective(attempt: CompactionAttempt, window: int | None, policy: Policy) -> bool:
    if attempt.lowest is None or window is None:
        return attempt.failure is not None
    return attempt.used - attempt.lowest < policy.min_freed * window


def _won_no_turn(attempt: CompactionAttempt, window: int | None, policy: Policy) -> bool:
    """Returns whether every turn that ended since the attempt ended at the critical level. If the
    context was not measured since, returns whether the attempt failed.
    """
    lowest = attempt.lowest_at_turn_end
    if lowest is None or window is None:
        return attempt.failure is not None
    return level_of(lowest, window, policy) == "critical"


def _usage_text(state: ThreadState, policy: Policy) -> str:
    window = _window(state, policy)
    fill = reported_size(state.usage, window)
    return (
        f"The context is {share_text(fill.used, window)} full."
        if fill is not None and window is not None
        else ""
    )


def stop_reason(state: ThreadState, policy: Policy) -> str:
    """Returns a sentence that says why automatic compaction has stopped."""
    stopped = f"{_usage_text(state, policy)} Automatic compaction has stopped:"
    if not _last_were_in_vain(state.auto_attempts, _window(state, policy), policy):
        won = "after each of the last three the context was full again within one turn"
        return f"{stopped} {won}. A turn that needs less, or a larger model, helps."
    failures = [one.failure for one in state.auto_attempts[-IN_VAIN:] if one.failure is not None]
    outcome = (
        "freed next to nothing"
        if not failures
        else "failed"
        if len(failures) == IN_VAIN
        else "failed or freed next to nothing"
    )
    last_error = f" ({failures[-1].rstrip('.')})" if failures else ""
    return f"{stopped} the last two attempts {outcome}{last_error}."
