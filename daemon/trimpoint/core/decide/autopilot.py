"""Decides what is done with a context without a request. `/auto`, advice and the act itself all ask
`next_act`, so that what is announced is what is done (docs/spec/context.md).
"""

from typing import NamedTuple

from trimpoint.core.decide.auto_compaction import compaction_requested, is_compaction_due
from trimpoint.core.decide.auto_masking import AUTO_MASK, Masking, masking, masking_wait
from trimpoint.core.decide.discarding import removed
from trimpoint.core.model.decision import (
    Accepted,
    Decision,
    Policy,
    Stamp,
    in_force,
    when_idle,
)
from trimpoint.core.model.state import ThreadState


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
    return NextAct(masking(state, policy, now_ms), is_compaction_due(state, policy))


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


def may_be_due(state: ThreadState, policy: Policy, now_ms: int) -> bool:
    """Returns whether something may have to be masked, or has to be compacted, as soon as the
    thread is idle.
    """
    policy = in_force(state, policy)
    return is_compaction_due(state, policy) or may_mask(state, policy, now_ms)


def may_mask(state: ThreadState, policy: Policy, now_ms: int) -> bool:
    """Returns whether masks may be due, without reading the whole context."""
    return masking_wait(state, in_force(state, policy), now_ms) is None
