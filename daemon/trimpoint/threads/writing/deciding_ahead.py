"""Decides commands that look at the whole context beside the event loop, so that other clients need
not wait for them.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeGuard

from trimpoint_protocol import commands as wire

from trimpoint.core.decide.autopilot import may_mask
from trimpoint.core.decide.decider import AnyCommand, decide
from trimpoint.core.decide.stretches import names_stretch
from trimpoint.core.evolve.evolve import Folds, prepared
from trimpoint.core.model import commands as internal
from trimpoint.core.model.decision import Accepted, Decision, Policy, Stamp
from trimpoint.core.model.state import ThreadState
from trimpoint.threads.off_loop import off_loop

# Their decisions weigh the context, and read neither checkpoints nor receipts.
_WEIGHING = (wire.AcceptDraft, wire.DiscardContext, wire.MaskContext, wire.UndoTrim)
# If the thread changes each time, the decision is made on the loop.
_ATTEMPTS = 3


class Deciding(NamedTuple):
    """What a decision needs beside the state and the command: a function that makes stamps, and the
    policy that is in force.
    """

    stamp: Callable[[], Stamp]
    policy: Policy


class Decided(NamedTuple):
    """A decision, the stamp in it, and the folds that were `prepared` for its events."""

    stamp: Stamp
    decision: Decision
    folds: Folds | None = None


class Ahead(NamedTuple):
    """What was decided about `state` as it was at `thread_sequence`."""

    state: ThreadState
    thread_sequence: int
    decided: Decided

    def is_about(self, state: ThreadState) -> bool:
        """Returns whether the decision is still that about `state`."""
        return self.state is state and self.thread_sequence == state.thread_sequence


async def decided_ahead(
    present: Callable[[], ThreadState], command: AnyCommand, deps: Deciding
) -> Ahead | None:
    """Returns the decision about the thread's `present` state, or None if it takes little time or
    the thread changed in between.
    """
    if isinstance(command, internal.TrimWhenDue):
        if not may_mask(present(), deps.policy, deps.stamp().now_ms):
            return None
    elif not _weighs(command) or command.command_id in present().receipts:
        return None
    for _ in range(_ATTEMPTS):
        state, stamp, policy = present(), deps.stamp(), deps.policy

        def view(
            copy: ThreadState, stamp: Stamp = stamp, policy: Policy = policy
        ) -> tuple[int, Decided]:
            decision = decide(copy, command, stamp, policy)
            folds = prepared(copy, decision.events) if isinstance(decision, Accepted) else None
            return copy.thread_sequence, Decided(stamp, decision, folds)

        ahead = Ahead(state, *await off_loop(state, view))
        if ahead.is_about(present()):
            return ahead
    return None


def _weighs(command: AnyCommand) -> TypeGuard[wire.AnyClientCommand]:
    if isinstance(command, wire.TrimContext | wire.CompactContext):
        return names_stretch(command)
    return isinstance(command, _WEIGHING)


def decided(
    ahead: Ahead | None, state: ThreadState, command: AnyCommand, deps: Deciding
) -> Decided:
    """Returns the decision about the command: that made ahead if it is still about `state`."""
    if ahead is not None and ahead.is_about(state):
        return ahead.decided
    stamp = deps.stamp()
    return Decided(stamp, decide(state, command, stamp, deps.policy))
