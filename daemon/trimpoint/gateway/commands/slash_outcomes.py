"""Builds the outcome of a slash command, as clients receive it."""

from typing import Any

from trimpoint_protocol.errors import Reason
from trimpoint_protocol.methods import CommandOutcome, CommandStatus
from trimpoint_protocol.shapes.checkpoints import RevertedFiles

from trimpoint.core.model.ledger import Discard
from trimpoint.core.model.operations import Phase
from trimpoint.core.model.state import Operation, ThreadState
from trimpoint.core.views.view import blocker
from trimpoint.operations.messages import UNDO
from trimpoint.threads.errors import CommandRefused
from trimpoint.threads.writing.writer import ThreadWriter

# A command refused for one of these reasons is skipped: it changed nothing, and nothing is wrong.
SKIPS = frozenset(
    {
        Reason.NOTHING_TO_TRIM,
        Reason.NOT_ENOUGH_MESSAGES,
        Reason.ALREADY_IN_PROGRESS,
        Reason.TURN_IN_PROGRESS,
        Reason.REQUEST_PENDING,
        Reason.NOTHING_TO_REVERT,
        Reason.NOTHING_TO_UNDO,
    }
)

STATUS_OF: dict[Phase, CommandStatus] = {
    Phase.FAILED: "failed",
    Phase.CANCELLED: "cancelled",
}


def revert_members(operation: Operation) -> dict[str, Any]:
    """Returns the members of the outcome for a revert: the written, removed and kept files, and the
    undo command.
    """
    reverting = operation.reverting
    if reverting is None:
        return {}
    files = RevertedFiles(
        written=list(reverting.written), removed=list(reverting.removed), kept=list(reverting.kept)
    )
    return {"undo": UNDO, "files": files if reverting.commit else None}


def trim_point_members(state: ThreadState, operation: Operation) -> dict[str, Any]:
    """Returns the members of the outcome for the trim point that the operation made; empty if it
    made none.
    """
    point = max(state.boundaries, key=lambda one: one.generation, default=None)
    if point is None or point.created_at_ms < operation.started_at_ms:
        return {}
    if isinstance(point, Discard):
        return {"trim_point_id": point.id}
    return {
        "trim_point_id": point.id,
        "summary": point.summary,
        "summary_unavailable": point.summary_unavailable or None,
    }


def failed_outcome(command: str, reason: Reason, message: str) -> CommandOutcome:
    return CommandOutcome(
        handled=True, command=command, status="failed", reason=reason, message=message
    )


def successor_of(writer: ThreadWriter, refused: CommandRefused) -> str | None:
    """Returns the id of the thread that continues an archived one, if the command was refused for
    that; otherwise None.
    """
    is_archived = refused.reason is Reason.THREAD_ARCHIVED
    return writer.state.new_thread_id if is_archived else None


def refused_outcome(command: str, refused: CommandRefused) -> CommandOutcome:
    block = blocker(refused.block) if refused.block is not None else None
    return CommandOutcome(
        handled=True,
        command=command,
        status="skipped" if refused.reason in SKIPS else "failed",
        reason=refused.reason,
        message=str(refused),
        blocker=block,
    )
