"""`/revert`: goes back to a turn with files and context."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from trimpoint.core.commands.arguments import TURN, dry_run, switch, word
from trimpoint.core.commands.declaration import Change, CommandIds, Done, Group

if TYPE_CHECKING:
    from trimpoint_protocol.commands import RevertToCheckpoint

UNDO_REVERT = "/revert --undo"
"""The command that undoes a revert, or the undo of one."""


@dataclass(frozen=True, slots=True)
class Revert(Change):
    """Goes back to a turn, given by its id or by the number of turns that stay; without either,
    takes back the last turn.
    """

    command: ClassVar = "revert"
    summary: ClassVar = "Take files and context back to where they were after a turn"
    details: ClassVar = (
        "A turn is its number in the conversation, counted from 1, pruned ones too; 0 is "
        "before the first, and without one the last turn is taken back. Files are restored from "
        "the checkpoint of that turn; the state before is kept, and --undo goes back to it. What "
        "others did to the files between turns stays. --context leaves files alone. --force "
        "overwrites what others have made of the agent's changes. --dry-run only says what would "
        "be done. If it fails, nothing changes."
    )
    shell_group: ClassVar[Group | None] = "history"
    goes_back: ClassVar = True
    asks_with: ClassVar[tuple[str, ...] | None] = ("context", "force")

    turn: int | str | None = word("turn", TURN, "number or id of the turn to go back to")
    undo: bool = switch("take back the last revert", instead_of="turn")
    context: bool = switch("leave files alone")
    force: bool = switch("overwrite what others have made of the agent's changes")
    dry_run: bool = dry_run()

    def request(self, ids: CommandIds) -> "RevertToCheckpoint":
        """Returns the command to the thread."""
        from trimpoint_protocol.commands import RevertToCheckpoint

        return RevertToCheckpoint(
            command_id=ids.command_id,
            thread_id=ids.thread_id,
            turn_id=self.turn if isinstance(self.turn, str) else None,
            turn_count=self.turn if isinstance(self.turn, int) else None,
            undo=self.undo,
            scope="context" if self.context else "files+context",
            force=self.force,
        )

    def way_back(self, done: Done) -> str | None:
        """Returns the command that takes the revert back."""
        return UNDO_REVERT
