"""Words the outcome of a command from its parts, for the place where a person reads it."""

from trimpoint_protocol.errors import Reason
from trimpoint_protocol.hints import CommandHint
from trimpoint_protocol.methods import CommandOutcome

from trimpoint.core.model.operations import Phase
from trimpoint.core.model.spelling import Spelling, hint_text, undo_text
from trimpoint.core.model.state import Operation
from trimpoint.core.views.trim_outcome import tokens_text

_AFTER_A_FAILED_SUMMARY = (
    CommandHint("/compact", "tries again"),
    CommandHint("/compress", "takes old output out, without the model"),
    CommandHint("/clear N", "keeps the last N turns, without a summary"),
)
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
    if outcome.draft is not None:
        return "\n\n".join((outcome.said, outcome.draft.text, hint_text(outcome.hints, spelling)))
    between = "\n" if "\n" in outcome.said else " "
    return between.join(filter(None, (outcome.said, " ".join(filter(None, after)))))


def ways_on(operation: Operation) -> tuple[CommandHint, ...]:
    """Returns what makes room where a compaction has failed. Of a summary that was no smaller the
    message says it.
    """
    has_failed = operation.kind == "compact" and operation.phase is Phase.FAILED
    is_said = operation.reason == Reason.NOT_SMALLER
    return _AFTER_A_FAILED_SUMMARY if has_failed and not is_said else ()


def operation_said(operation: Operation) -> str:
    """Returns what an operation's message says happened. The first versions wrote how to undo a
    revert into the message itself, and their journals are still read.
    """
    return operation.message.partition("\nTo undo: ")[0]
