"""`/clear`: starts afresh with the last turns."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from trimpoint.core.commands.arguments import TURNS, dry_run, switch, word
from trimpoint.core.commands.declaration import Change, CommandIds, Group

if TYPE_CHECKING:
    from trimpoint_protocol.commands import TrimContext


def offers(active: int, most: int) -> list[int]:
    """Returns the numbers of turns to choose from where a `/clear` names none and the context has
    `active` turns. The first offer takes nothing away, the last one everything; at most `most`
    are between them.
    """
    return [active, *range(1, min(active, most + 1)), 0]


@dataclass(frozen=True, slots=True)
class Clear(Change):
    """Removes all turns from the agent's context except the last `keep`; None keeps none."""

    command: ClassVar = "clear"
    summary: ClassVar = "Clear the agent's context, keeping the last N turns"
    details: ClassVar = (
        "Starts a fresh session that remembers only the last N turns, or nothing without N. "
        "Files stay as they are and the earlier messages can still be read. "
        "--force brings turns back that Codex has compacted automatically; --dry-run only says "
        "what would happen."
    )
    shell_group: ClassVar[Group | None] = "context"

    keep: int | None = word("N", TURNS, "turns to keep; none without it")
    force: bool = switch("bring turns back that Codex has compacted automatically")
    dry_run: bool = dry_run()

    def request(self, ids: CommandIds) -> "TrimContext":
        """Returns the command to the thread."""
        from trimpoint_protocol.commands import TrimContext

        return TrimContext(
            command_id=ids.command_id,
            thread_id=ids.thread_id,
            keep_last_n_turns=self.keep or 0,
            force=self.force,
        )
