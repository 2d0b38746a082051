"""Decides what is done with a context without a request. `/auto`, advice and the act itself all ask
`next_act`, so that what is announced is what is done (docs/spec/context.md).
"""

from typing import Final, NamedTuple

import msgspec

from trimpoint.core.context.active_context import has_unanswered_call, is_output
from trimpoint.core.decide.auto_compaction import compaction_requested, is_compaction_due
from trimpoint.core.decide.auto_masking import AUTO_MASK, Masking, masking, masking_wait
from trimpoint.core.decide.discarding import removed
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import (
    Accepted,
    Decision,
    Policy,
    Stamp,
    in_force,
    when_idle,
)
from trimpoint.core.model.reviews import is_in_review
from trimpoint.core.model.state import ThreadState

_CALLS_OF_A_RESPONSE: Final = 64


class NextAct(NamedTuple):
    """What is done as soon as the thread is idle: the masks, if `masking` does not wait, else a
    compaction, if it `compacts`. Where both are due, what is masked may suffice, so the compaction
    waits for the next report.
    """

    masking: Masking
    compacts: bool

    @property
    def masks(self) -> bool:
        """Returns whether old output is masked now."""
        return self.masking.wait is None


def next_act(state: ThreadState, policy: Policy, now_ms: int) -> NextAct:
    """Returns what is to be done, or why it waits.

    :param policy: the rules that are in force for the thread (`in_force`).
    :param now_ms: the time in milliseconds since the epoch.
    """
    within = is_paused(state)
    return NextAct(masking(state, policy, now_ms, within=within), is_compaction_due(state, policy))


def trim_when_due(state: ThreadState, stamp: Stamp, policy: Policy) -> Decision:
    """Masks old output, or starts a compaction, if that is due and the thread is idle; otherwise
    returns no events.
    """
    if when_idle(state, "compact") is not None:
        return Accepted(())
    policy = in_force(state, policy)
    act = next_act(state, policy, stamp.now_ms)
    if act.masks:
        return removed(state, (), act.masking.masks, stamp, AUTO_MASK)
    return compaction_requested(state, stamp, policy) if act.compacts else Accepted(())


def is_paused(state: ThreadState) -> bool:
    """Returns whether the daemon has ended the newest turn to mask old output."""
    return bool(state.turns) and state.turns[-1].error_kind == ev.PAUSED


def may_pause(state: ThreadState, policy: Policy, now_ms: int) -> bool:
    """Returns whether the running turn may have to be paused for a mask, without reading the whole
    context.
    """
    return (
        policy.mid_turn
        and state.running_turn_id is not None
        and masking_wait(state, in_force(state, policy), now_ms, within=True) is None
    )


def is_pause_due(state: ThreadState, policy: Policy, now_ms: int) -> bool:
    """Returns whether the running turn is to be paused now, and old output masked: as soon as it
    has paused, `next_act` masks it.
    """
    return (
        may_pause(state, policy, now_ms)
        and is_between_steps(state)
        and masking(state, in_force(state, policy), now_ms, within=True).wait is None
    )


def is_between_steps(state: ThreadState) -> bool:
    """Returns whether the agent has the results of all its calls and nothing is asked, so that a
    turn can be paused. A command may still run in the background.
    """
    if (
        state.running_turn_id is None
        or state.open_operation is not None
        or state.turn_requests
        or state.pending_requests
        or is_in_review(state)
    ):
        return False
    turn = state.turns[state.turn_index[state.running_turn_id]]
    # One response has few calls.
    newest = turn.items[-_CALLS_OF_A_RESPONSE:]
    is_known = turn.provider_turn_id is None and state.generation.raw_events
    is_over = bool(newest) and is_output(msgspec.json.decode(newest[-1]))
    return is_known and is_over and not has_unanswered_call(newest)


def may_be_due(state: ThreadState, policy: Policy, now_ms: int) -> bool:
    """Returns whether something may have to be masked, or has to be compacted, as soon as the
    thread is idle.
    """
    policy = in_force(state, policy)
    return is_compaction_due(state, policy) or may_mask(state, policy, now_ms)


def may_mask(state: ThreadState, policy: Policy, now_ms: int) -> bool:
    """Returns whether masks may be due, without reading the whole context."""
    within = is_paused(state)
    return masking_wait(state, in_force(state, policy), now_ms, within=within) is None
