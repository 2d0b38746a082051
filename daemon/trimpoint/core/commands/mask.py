"""`/mask`: puts one line in the place of output that is no longer needed."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from trimpoint.core.commands.arguments import TURN_OR_STRETCH, dry_run, ends_of, word
from trimpoint.core.commands.declaration import Change, CommandIds, Group

if TYPE_CHECKING:
    from trimpoint_protocol.commands import MaskContext


@dataclass(frozen=True, slots=True)
class Mask(Change):
    """Masks the output of a stretch of turns, such as `4..12`; the thread refuses None."""

    command: ClassVar = "mask"
    summary: ClassVar = "Put one line in the place of the output of these turns"
    details: ClassVar = (
        "The agent keeps the calls and everything else of these turns, as {timeline} counts them; "
        "in the place of each output, and of each image, it is shown one line. 5 is one turn, "
        "4..12 a stretch, ..12 up to there, 4.. from there on. Code changes, plans and what is "
        "pinned stay, and the answer names them. --dry-run only says what would happen."
    )
    shell_group: ClassVar[Group | None] = "context"
    trims: ClassVar = True

    turns: str | None = word("turns", TURN_OR_STRETCH, "the turns, such as 5, 4..12, ..12 or 4..")
    dry_run: bool = dry_run()

    def request(self, ids: CommandIds) -> "MaskContext":
        """Returns the command to the thread."""
        from trimpoint_protocol.commands import MaskContext

        first, last = (None, None) if self.turns is None else ends_of(self.turns)
        return MaskContext(
            command_id=ids.command_id,
            thread_id=ids.thread_id,
            from_turn=first,
            through_turn=last,
        )
