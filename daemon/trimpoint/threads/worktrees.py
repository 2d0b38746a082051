"""Defines the port through which a thread's operations use its files. `trimpoint.git` fulfils it;
the side of Codex only knows this.
"""

from typing import NamedTuple, Protocol

from trimpoint_protocol.errors import Reason

from trimpoint.core.model import events as ev
from trimpoint.core.model.state import Reverting
from trimpoint.threads.errors import EngineError
from trimpoint.threads.writer import ThreadWriter


class WorktreeRefuses(EngineError):
    """The files cannot be taken back; `message` says why and that they are as they were, or which
    are not.
    """

    def __init__(self, reason: Reason, message: str, hint: str = "") -> None:
        super().__init__(reason, message)
        self.reason = reason
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message


class Secured(NamedTuple):
    """The files as they are, and what the revert makes of them."""

    safety: ev.CheckpointCaptured
    planned: ev.RevertPlanned


class Preview(NamedTuple):
    """The effect of a revert on the files. `refusals`: what it would be refused for, unless
    forced.
    """

    written: tuple[str, ...]
    removed: tuple[str, ...]
    kept: tuple[str, ...]
    refusals: tuple[str, ...]


class Restored(NamedTuple):
    """The number of files written and removed."""

    written: int
    removed: int


class Worktrees(Protocol):
    """Both sides of a revert of files. What is restored is only what differs, and never what the
    thread has not seen.
    """

    async def preview(self, writer: ThreadWriter, reverting: Reverting) -> Preview:
        """Find out what `secure` and `restore` would do, and change nothing.

        :raises WorktreeRefuses: the target is not there.
        """
        ...

    async def secure(
        self, writer: ThreadWriter, reverting: Reverting, operation_id: str
    ) -> Secured:
        """Check that the target is there and may be restored, capture the files as they are now,
        and plan.

        :raises WorktreeRefuses: it is not there, or another program changed files that would be
            written.
        """
        ...

    async def restore(self, writer: ThreadWriter, reverting: Reverting) -> Restored:
        """Write the target's files. Done twice it does no more than once; when it raises, the files
        are as they were.

        :raises WorktreeRefuses: a file was changed meanwhile, or could not be written.
        """
        ...

    async def undo(self, writer: ThreadWriter, reverting: Reverting) -> None:
        """Undo `restore`, whole or half done.

        :raises WorktreeRefuses: some files could not be put back.
        """
        ...
