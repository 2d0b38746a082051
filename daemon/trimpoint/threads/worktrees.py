"""What a thread's operations need of its files. `trimpoint.git` fulfils it; the side of Codex only knows this."""

from typing import NamedTuple, Protocol

from trimpoint_protocol.errors import Reason

from trimpoint.core.model import events as ev
from trimpoint.core.model.state import Reverting
from trimpoint.threads.errors import EngineError
from trimpoint.threads.writer import ThreadWriter


class WorktreeRefuses(EngineError):
    """The files cannot be taken back; `message` says why and that they are as they were, or which are not."""

    def __init__(self, reason: Reason, message: str, hint: str = "") -> None:
        super().__init__(reason, message)
        self.reason = reason
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message


class Restored(NamedTuple):
    """How many files were written and removed."""

    written: int
    removed: int


class Worktrees(Protocol):
    """Both sides of a revert of files. What is restored is only what differs, and never what the thread has not seen."""

    async def secure(self, writer: ThreadWriter, reverting: Reverting) -> ev.CheckpointCaptured:
        """Check that the target is there and may be restored, and capture the files as they are now.

        :raises WorktreeRefuses: it is not there, or somebody else changed files that would be written.
        """
        ...

    async def restore(self, writer: ThreadWriter, reverting: Reverting) -> Restored:
        """Write the target's files. Done twice it does no more than once; when it raises, the files are as they were.

        :raises WorktreeRefuses: a file was changed meanwhile, or could not be written.
        """
        ...

    async def undo(self, writer: ThreadWriter, reverting: Reverting) -> None:
        """Undo `restore`, whole or half done.

        :raises WorktreeRefuses: some files could not be put back.
        """
        ...
