"""Errors of the registry and the writers, as facts; the gateway turns each into an error object."""

from trimpoint_protocol.errors import Reason

from trimpoint.core.model.decision import BusyReason


class EngineError(Exception):
    """Any refusal of the engine. `reason` is its wire reason, `hint` what the person can do."""

    reason: Reason = Reason.INTERNAL
    hint: str = ""
    block: BusyReason | None = None


class CommandRefused(EngineError):
    """A rule refused the command; `block` says what keeps the thread busy, if that is why."""

    def __init__(self, reason: Reason, message: str, block: BusyReason | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.block = block


class ThreadNotFound(EngineError):
    """No thread has this id."""

    reason = Reason.THREAD_NOT_FOUND
    hint = "List the threads with thread/list or `trimpoint status`."

    def __init__(self, thread_id: str) -> None:
        super().__init__(thread_id)
        self.thread_id = thread_id

    def __str__(self) -> str:
        return f"There is no thread {self.thread_id!r}."


class CommandIdConflict(EngineError):
    """The command id was used before, for something else."""

    reason = Reason.COMMAND_ID_CONFLICT
    hint = "Give each new command a command id of its own."

    def __init__(self, command_id: str) -> None:
        super().__init__(command_id)
        self.command_id = command_id

    def __str__(self) -> str:
        return f"The command id {self.command_id!r} was already used with other arguments."


class JournalRefuses(EngineError):
    """Nothing can be written down now, so nothing is done; what was acknowledged is safe."""

    reason = Reason.JOURNAL_READ_ONLY
    hint = "Free disk space or repair the journal's folder; trimpoint then continues."

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail

    def __str__(self) -> str:
        return (
            f"The command was not carried out because it could not be written down: {self.detail}."
        )


class ReplacementDelayed(EngineError):
    """`/new` archived the old thread, durably; the one in its place could not be written down yet,
    and will be.
    """

    reason = Reason.JOURNAL_READ_ONLY
    hint = (
        "Free disk space or mend the state folder; the new thread is made as soon as it can be "
        "written down."
    )

    def __init__(self, thread_id: str, detail: str) -> None:
        super().__init__(thread_id, detail)
        self.thread_id = thread_id
        self.detail = detail

    def __str__(self) -> str:
        return (
            f"The old thread is archived, but the new one, {self.thread_id!r}, could not be "
            f"written down yet: {self.detail}."
        )
