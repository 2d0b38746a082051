"""Words the outcome of a command from its parts, for the place where a person reads it."""

from trimpoint_protocol.methods import CommandOutcome

from trimpoint.core.model.spelling import Spelling, hint_text, undo_text
from trimpoint.core.model.state import Operation
from trimpoint.core.views.trim_outcome import tokens_text

NOTHING_CHANGED = "Nothing was changed."


def outcome_text(outcome: CommandOutcome, spelling: Spelling) -> str:
    """Returns all that a person reads, the command that undoes it in the last line."""
    done = done_text(outcome, spelling)
    return f"{done}\n{undo_text(outcome.undo, spelling)}" if outcome.undo else done


def done_text(outcome: CommandOutcome, spelling: Spelling) -> str:
    """Returns all but the line that says how to undo it."""
    if outcome.said is None:
        return outcome.message or ""
    is_done = outcome.status == "completed"
    after = (
        tokens_text(outcome.tokens) if outcome.tokens is not None and is_done else "",
        NOTHING_CHANGED if outcome.dry_run and is_done else "",
        hint_text(outcome.hints, spelling),
    )
    between = "\n" if "\n" in outcome.said else " "
    return between.join(filter(None, (outcome.said, " ".join(filter(None, after)))))


def operation_said(operation: Operation) -> str:
    """Returns what an operation's message says happened. The first versions wrote how to undo a
    revert into the message itself, and their journals are still read.
    """
    return operation.message.partition("\nTo undo: ")[0]
