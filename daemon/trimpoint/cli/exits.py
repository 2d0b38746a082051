"""Exit codes, and the errors that end a command with a message for a person or a script."""

import errno
from enum import IntEnum
from typing import cast

DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""What the system says where nothing more can be written."""


class Exit(IntEnum):
    """The exit codes of all commands; `trimpoint --help` lists them."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    SKIPPED = 3
    NO_DAEMON = 4


class CliError(Exception):
    """Ends a command with an error: `message` says what is wrong, `hint` what to do, and `reason`
    is a word for scripts.
    """

    code = Exit.FAILED
    reason = "failed"

    def __init__(self, message: str, hint: str = "", *, reason: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.reason = reason or self.reason


class UsageError(CliError):
    """Raised when the command line or the configuration is wrong; the hint says what is right."""

    code = Exit.USAGE
    reason = "usage"


class NoDaemon(CliError):
    """Raised when the daemon does not answer, or ended while the command was connected."""

    code = Exit.NO_DAEMON
    reason = "no_daemon"


class NoDaemonRuns(NoDaemon):
    """Raised when nothing answers where the daemon would be."""


def sole_error(error: BaseException) -> BaseException:
    """Returns the one error inside nested exception groups, or the group if it contains several
    types of errors.

    Several errors of one type count as one: when a connection breaks, each task that uses it raises
    the same error.
    """
    if not isinstance(error, BaseExceptionGroup):
        return error
    group = cast("BaseExceptionGroup[BaseException]", error)
    members = [sole_error(member) for member in group.exceptions]
    return members[0] if len({type(member) for member in members}) == 1 else group
