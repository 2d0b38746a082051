"""How a command ends: exit codes, and the errors that a person or a script reads when it failed."""

from enum import IntEnum
from typing import cast


class Exit(IntEnum):
    """Exit codes of every command; `trimpoint --help` shows them."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    SKIPPED = 3
    NO_DAEMON = 4


class CliError(Exception):
    """A command ends here. `message` says what is wrong, `hint` what to do, `reason` is for
    scripts.
    """

    code = Exit.FAILED
    reason = "failed"

    def __init__(self, message: str, hint: str = "", *, reason: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.reason = reason or self.reason


class UsageError(CliError):
    """The command line is wrong; the hint says what is right."""

    code = Exit.USAGE
    reason = "usage"


class NoDaemon(CliError):
    """The daemon does not answer, or it ended during the conversation."""

    code = Exit.NO_DAEMON
    reason = "no_daemon"


def sole_error(error: BaseException) -> BaseException:
    """Returns the one error inside of task groups' nested groups; the group itself where there are
    several kinds.

    Several of one kind are one event that several tasks met, as when a connection breaks.
    """
    if not isinstance(error, BaseExceptionGroup):
        return error
    group = cast("BaseExceptionGroup[BaseException]", error)
    members = [sole_error(member) for member in group.exceptions]
    return members[0] if len({type(member) for member in members}) == 1 else group
