"""Builds the outcome of a slash command, as clients receive it."""

from collections.abc import Iterable
from typing import Any

import msgspec
from trimpoint_protocol.errors import Reason
from trimpoint_protocol.hints import CommandHint
from trimpoint_protocol.methods import CommandDraft, CommandOutcome, CommandStatus
from trimpoint_protocol.shapes.checkpoints import RevertedFiles

from trimpoint.core.commands.accept import Accept, accepting
from trimpoint.core.commands.declaration import Command
from trimpoint.core.commands.new import New
from trimpoint.core.commands.registry import REGISTRY
from trimpoint.core.commands.summary import EDITING, ShowSummary
from trimpoint.core.decide.summaries import editable_summary
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Rejected
from trimpoint.core.model.ledger import Discard
from trimpoint.core.model.operations import Phase
from trimpoint.core.model.spelling import Spelling
from trimpoint.core.model.state import Draft, Operation, ThreadState
from trimpoint.core.views.outcome_text import outcome_text
from trimpoint.core.views.trim_outcome import left_pins, with_pins
from trimpoint.core.views.view import blocker
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


def outcome(
    command: str, said: str, status: CommandStatus = "completed", **members: Any
) -> CommandOutcome:
    """Returns the outcome of a command of ours. `said` is what happened, in sentences for a person;
    the other members are those of `CommandOutcome`, and `message` is worded from all of them.
    """
    trims = True if command in REGISTRY and REGISTRY[command].trims else None
    made = CommandOutcome(
        handled=True, command=command, status=status, said=said, trims=trims, **members
    )
    return with_members(made)


def with_members(made: CommandOutcome, **members: Any) -> CommandOutcome:
    """Returns the outcome with these members changed, and worded anew."""
    changed = msgspec.structs.replace(made, **members)
    return msgspec.structs.replace(changed, message=outcome_text(changed, Spelling.SLASH))


def drafted_outcome(parsed: Command, said: str, draft: Draft, sequence: int) -> CommandOutcome:
    """Returns the outcome of a command that has drafted a text."""
    given = {
        name: getattr(parsed, name)
        for name, one in parsed.arguments().items()
        if one.kind != "text" and getattr(parsed, name)
    }
    anew = parsed.typed(given)
    return outcome(
        parsed.command,
        said,
        hints=[
            CommandHint(f"/{Accept.command}", "takes it"),
            CommandHint(f"/{Accept.command} TEXT", "takes your text in its place"),
            CommandHint(f"{anew} TEXT", "drafts it anew, with that in mind"),
        ],
        sequence=sequence,
        operation_id=draft.id,
        draft=CommandDraft(text=draft.text, accept=accepting(draft), anew=anew),
    )


def handed_off(events: Iterable[ev.AnyEvent]) -> ev.HandedOff | None:
    """Returns the event among these that a new thread was begun with a brief, or None."""
    return next((one for one in events if isinstance(one, ev.HandedOff)), None)


def handoff_outcome(new: ThreadState, sequence: int) -> CommandOutcome:
    """Returns the outcome of a `/handoff` that has begun the thread `new`."""
    operation = new.operation
    said = f"A new thread begins with the brief: {new.id}. This one stays as it is."
    if operation is not None and operation.phase is Phase.FAILED:
        said = f"{said} {operation.message} It sends the brief as soon as it can."
    return outcome(
        Accept.command,
        said,
        sequence=sequence,
        new_thread_id=new.id,
        operation_id=operation.id if operation is not None else None,
    )


def new_outcome(archived: ThreadState, new: ThreadState, sequence: int) -> CommandOutcome:
    """Returns the outcome of a `/new` that has begun the thread `new`."""
    operation = new.operation
    begins = f" {with_pins(archived)}" if archived.new_with_pins else ""
    said = (
        f"The thread is archived; a new one{begins} with the same files and settings is ready: "
        f"{new.id}."
    )
    if operation is not None and operation.phase is Phase.FAILED:
        said = (
            f"The thread is archived and a new one was made: {new.id}. {operation.message} "
            "The next turn will try again."
        )
    left = "" if archived.new_with_pins else left_pins(archived)
    return outcome(
        New.command,
        f"{said} {left}".rstrip(),
        hints=[CommandHint(f"/{New.command} --pins", "takes pins along")] if left else [],
        sequence=sequence,
        new_thread_id=new.id,
        operation_id=operation.id if operation is not None else None,
    )


def summary_to_edit(state: ThreadState) -> CommandOutcome:
    """Returns the outcome that gives the person the summary to change."""
    command, standing = ShowSummary.command, editable_summary(state)
    if isinstance(standing, Rejected):
        return refused_outcome(command, CommandRefused(*standing))
    return outcome(
        command,
        "This is the summary that the context begins with. Nothing has changed yet.",
        hints=[CommandHint(f"{EDITING} TEXT", "puts your text in its place")],
        draft=CommandDraft(text=standing.text, accept=EDITING),
    )


def revert_members(operation: Operation) -> dict[str, Any]:
    """Returns the members of the outcome for a revert: the written, removed and kept files."""
    reverting = operation.reverting
    if reverting is None:
        return {}
    files = RevertedFiles(
        written=list(reverting.written), removed=list(reverting.removed), kept=list(reverting.kept)
    )
    return {"files": files if reverting.commit else None}


def trim_point_members(state: ThreadState, operation: Operation) -> dict[str, Any]:
    """Returns the members of the outcome for the trim point that the operation made; empty if it
    made none.
    """
    point = max(state.boundaries, key=lambda one: one.generation, default=None)
    if point is None or point.created_at_ms < operation.started_at_ms:
        return {}
    if isinstance(point, Discard):
        return {"trim_point_id": point.id, "summary": point.summary}
    return {
        "trim_point_id": point.id,
        "summary": point.summary,
        "summary_unavailable": point.summary_unavailable or None,
    }


def failed_outcome(command: str, reason: Reason, said: str) -> CommandOutcome:
    """Returns the outcome of a command that was refused for a reason."""
    return outcome(command, said, "failed", reason=reason)


def successor_of(writer: ThreadWriter, refused: CommandRefused) -> str | None:
    """Returns the id of the thread that continues an archived one, if the command was refused for
    that; otherwise None.
    """
    is_archived = refused.reason is Reason.THREAD_ARCHIVED
    return writer.state.new_thread_id if is_archived else None


def refused_outcome(command: str, refused: CommandRefused) -> CommandOutcome:
    """Returns the outcome of a command that a rule rejected."""
    return outcome(
        command,
        refused.said,
        "skipped" if refused.reason in SKIPS else "failed",
        reason=refused.reason,
        hints=[*refused.hints],
        blocker=blocker(refused.block) if refused.block is not None else None,
    )
