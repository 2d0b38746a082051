"""The port through which a thread's operations access its files. `trimpoint.git` implements it."""

from typing import NamedTuple, Protocol

from trimpoint_protocol.errors import Reason

from trimpoint.core.model import events as ev
from trimpoint.core.model.state import Reverting
from trimpoint.threads.errors import ThreadError
from trimpoint.threads.writing.writer import ThreadWriter


class WorktreeRefuses(ThreadError):
    """The files cannot be reverted. `message` says why, and that no file has changed or which files
    have.
    """

    def __init__(self, reason: Reason, message: str, hint: str = "") -> None:
        super().__init__(reason, message)
        self.reason = reason
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message


class Secured(NamedTuple):
    """The safety checkpoint of the present files, and the plan of the revert."""

    safety: ev.CheckpointCaptured
    planned: ev.RevertPlanned


class Preview(NamedTuple):
    """The effect that a revert would have on the files. `refusals` are the reasons for which it
    would be refused without `force`.
    """

    written: tuple[str, ...]
    removed: tuple[str, ...]
    kept: tuple[str, ...]
    refusals: tuple[str, ...]


class Restored(NamedTuple):
    """The result of restoring files: the numbers of files written and removed."""

    written: int
    removed: int


class Worktrees(Protocol):
    """Reverts files, and undoes a revert. Only files that differ are written, and never files that
    the thread has not seen.
    """

    async def captured(self, writer: ThreadWriter) -> None:
        """Waits until the files after the thread's last turn are captured. Never raises."""
        ...

    async def preview(self, writer: ThreadWriter, reverting: Reverting) -> Preview:
        """Returns the effect that `secure` and `restore` would have; changes nothing.

        :raises WorktreeRefuses: when the target does not exist.
        """
        ...

    async def secure(
        self, writer: ThreadWriter, reverting: Reverting, operation_id: str
    ) -> Secured:
        """Checks that the target exists and may be restored, takes the safety checkpoint, and plans
        the revert.

        :raises WorktreeRefuses: when the target does not exist, or another program changed files
            that would be written.
        """
        ...

    async def restore(self, writer: ThreadWriter, reverting: Reverting) -> Restored:
        """Writes the files of the target. The call is idempotent; if it raises, the files are
        unchanged.

        :raises WorktreeRefuses: when a file was changed meanwhile, or could not be written.
        """
        ...

    async def undo(self, writer: ThreadWriter, reverting: Reverting) -> None:
        """Undoes `restore`, also if it was only partly done.

        :raises WorktreeRefuses: when some files could not be restored.
        """
        ...
