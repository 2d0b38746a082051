"""`/new`: continues in an empty thread."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from trimpoint.core.commands.arguments import dry_run, switch
from trimpoint.core.commands.declaration import Change, CommandIds, Done, Group
from trimpoint.core.model.spelling import UNARCHIVE

if TYPE_CHECKING:
    from trimpoint_protocol.commands import ArchiveAndNew


@dataclass(frozen=True, slots=True)
class New(Change):
    """Archives the thread and starts an empty one; with `pins`, the new thread receives the pins of
    this one.
    """

    command: ClassVar = "new"
    summary: ClassVar = "Archive this thread and start an empty one on the same files"
    details: ClassVar = (
        "The archived thread stays listed and readable. The new one has the same project, "
        "worktree, branch and settings. With --pins it begins with what is pinned here. "
        "--dry-run only says what would happen."
    )
    shell_group: ClassVar[Group | None] = "context"
    goes_back: ClassVar = True

    pins: bool = switch("begin it with what is pinned")
    dry_run: bool = dry_run()

    def request(self, ids: CommandIds) -> "ArchiveAndNew":
        """Returns the command to the thread."""
        from trimpoint_protocol.commands import ArchiveAndNew

        return ArchiveAndNew(command_id=ids.command_id, thread_id=ids.thread_id, pins=self.pins)

    def way_back(self, done: Done) -> str | None:
        """Returns the command that unarchives the thread."""
        return f"{UNARCHIVE} {done.state.id}"
