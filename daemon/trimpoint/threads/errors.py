"""Errors of the registry and the writers. They carry facts; the gateway turns each into an error
object.
"""

from trimpoint_protocol.errors import Reason
from trimpoint_protocol.hints import CommandHint

from trimpoint.core.model.decision import BusyReason, Rejected
from trimpoint.journal.errors import JournalError, JournalForeign, JournalNewer
from trimpoint.journal.storage.written_by import newest_version


class ThreadError(Exception):
    """Base class of the errors of this package. `reason` is the reason on the wire, `hint` what the
    person can do.
    """

    reason: Reason = Reason.INTERNAL
    hint: str = ""
    block: BusyReason | None = None


class CommandRefused(ThreadError):
    """A rule rejected the command. `block` says why the thread is busy, if that is the reason;
    `hints` are commands that help on.
    """

    def __init__(
        self,
        reason: Reason,
        said: str,
        block: BusyReason | None = None,
        hints: tuple[CommandHint, ...] = (),
    ) -> None:
        super().__init__(Rejected(reason, said, block, hints).message)
        self.reason = reason
        self.said = said
        self.block = block
        self.hints = hints


class ThreadNotFound(ThreadError):
    """There is no thread with this id."""

    reason = Reason.THREAD_NOT_FOUND
    hint = "List the threads with thread/list or `trimpoint daemon status`."

    def __init__(self, thread_id: str) -> None:
        super().__init__(thread_id)
        self.thread_id = thread_id

    def __str__(self) -> str:
        return f"There is no thread {self.thread_id!r}."


class CommandIdConflict(ThreadError):
    """The command id was used before with other arguments."""

    reason = Reason.COMMAND_ID_CONFLICT
    hint = "Give each new command a command id of its own."

    def __init__(self, command_id: str) -> None:
        super().__init__(command_id)
        self.command_id = command_id

    def __str__(self) -> str:
        return f"The command id {self.command_id!r} was already used with other arguments."


class JournalRefuses(ThreadError):
    """The journal cannot be written, so nothing was done; everything acknowledged before is
    durable.
    """

    reason = Reason.JOURNAL_READ_ONLY
    hint = "Free disk space or repair the journal's folder; trimpoint then continues."

    def __init__(self, detail: str, hint: str | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        if hint is not None:
            self.hint = hint

    def __str__(self) -> str:
        reason = f"it could not be written to the journal: {self.detail}"
        return f"The command was not carried out because {reason}."


def journal_read_only(flaw: str) -> JournalRefuses:
    """Returns the refusal of a thread whose journal is damaged or cannot be continued."""
    return JournalRefuses(
        flaw,
        "The thread is read-only. `trimpoint daemon journal verify` says what can be done, "
        "`trimpoint export` writes out what can still be read.",
    )


def needed_version(newest: str | None) -> str:
    """Returns in words which trimpoint reads all that the newest one has written."""
    if newest is None:
        return "the version of trimpoint that wrote it, or a later one"
    return f"trimpoint {newest} or a later one, which wrote it"


def journal_not_opened(error: JournalError | OSError) -> JournalRefuses:
    """Returns the refusal of a thread whose journal cannot be opened."""
    match error:
        case JournalForeign():
            hint = "trimpoint did not write this file: move it out of the state directory."
        case JournalNewer():
            hint = f"Run {needed_version(newest_version(error.path.parent.parent))}."
        case _:
            return JournalRefuses(str(error))
    return JournalRefuses(str(error), hint)


class OperationDelayed(ThreadError):
    """A command was accepted durably, but its operation stopped because the journal cannot be
    written; it continues as soon as the disk accepts it.
    """

    reason = Reason.JOURNAL_READ_ONLY

    def __init__(self, refused: JournalRefuses) -> None:
        super().__init__(refused.detail)
        self.detail = refused.detail
        self.hint = refused.hint

    def __str__(self) -> str:
        return (
            "The command was accepted and is not finished: its next step could not be written to "
            f"the journal: {self.detail}."
        )


class CommandUnconfirmed(ThreadError):
    """A command waits for a disk that does not answer, and is carried out when it does."""

    reason = Reason.JOURNAL_READ_ONLY
    hint = "Send it again with the same command id to learn what became of it; nothing runs twice."

    def __str__(self) -> str:
        return "The command waits for a disk that does not answer, and is carried out when it does."


class ReplacementDelayed(ThreadError):
    """A `/new` or `/handoff` is durable, but the new thread could not be written yet; the daemon
    will retry.
    """

    reason = Reason.JOURNAL_READ_ONLY
    hint = (
        "Free disk space or repair the state directory; the new thread is made as soon as its "
        "journal can be written."
    )

    def __init__(self, thread_id: str, detail: str) -> None:
        super().__init__(thread_id, detail)
        self.thread_id = thread_id
        self.detail = detail

    def __str__(self) -> str:
        return (
            f"The new thread {self.thread_id!r} could not be written to its journal yet: "
            f"{self.detail}."
        )
