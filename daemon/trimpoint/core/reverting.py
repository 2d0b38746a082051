"""The rules of taking back: which turns go, and the context that was active at the turn that stays last."""

from trimpoint_protocol.errors import Reason

from trimpoint.core import commands as internal
from trimpoint.core import events as ev
from trimpoint.core.decision import Accepted, Decision, Rejected, Stamp, when_idle
from trimpoint.core.state import ThreadState


def revert_turns(state: ThreadState, command: internal.RevertTurns, stamp: Stamp) -> Decision:
    """Take back a turn and all after it, files as they are."""
    reverted = ev.TurnsReverted(command.turn_id)
    if command.provider_did:
        return Accepted((reverted,) if command.turn_id in state.turn_index else ())
    if (refusal := when_idle(state, "revert")) is not None:
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
