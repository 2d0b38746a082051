"""`/undo`: takes back the last trim."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from trimpoint.core.commands.arguments import dry_run, switch
from trimpoint.core.commands.declaration import Change, CommandIds, Done, Group

if TYPE_CHECKING:
    from trimpoint_protocol.commands import UndoTrim


@dataclass(frozen=True, slots=True)
class Undo(Change):
    """Takes back the last trim; with `redo`, makes the trim again that was undone last."""

    command: ClassVar = "undo"
    summary: ClassVar = "Take back the last trim of the agent's context"
    details: ClassVar = (
        "The context is what it was before the last {clear}, {compact}, {compress} or automatic "
        "compaction, and the turns since stay in it. Again takes back the one before; --redo "
        "makes it again, until something else is done. --force undoes it also where the "
        "context may not fit. Files stay as they are. --dry-run only says what would happen."
    )
    shell_group: ClassVar[Group | None] = "history"
    goes_back: ClassVar = True

    redo: bool = switch("make it again, until something else is done")
    force: bool = switch("even where the context may not fit")
    dry_run: bool = dry_run()

    def request(self, ids: CommandIds) -> "UndoTrim":
        """Returns the command to the thread."""
        from trimpoint_protocol.commands import UndoTrim

        return UndoTrim(
            command_id=ids.command_id,
            thread_id=ids.thread_id,
            redo=self.redo,
            force=self.force,
        )

    def way_back(self, done: Done) -> str | None:
        """Returns the command that makes the trim again, or takes back the one that was made."""
        from trimpoint.core.views.trim_outcome import undo_command

        return undo_command(done.state, of_undo=True)
