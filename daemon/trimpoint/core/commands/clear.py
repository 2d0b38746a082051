"""`/clear`: starts afresh with the last turns."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from trimpoint.core.commands.arguments import TURNS_OR_STRETCH, dry_run, ends_of, switch, word
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
    """Removes all turns from the agent's context except the last `keep`; None keeps none. If `keep`
    is a stretch such as `4..12`, exactly these turns are removed.
    """

    command: ClassVar = "clear"
    summary: ClassVar = "Clear the agent's context, keeping the last N turns"
    details: ClassVar = (
        "Starts a fresh session that remembers only the last N turns, or nothing without N. "
        "Files stay as they are and the earlier messages can still be read. "
        "4..12 removes exactly these turns, as {timeline} counts them; what is around them stays, "
        "and what is pinned. ..12 is up to there, 4.. from there on. "
        "--force brings turns back that Codex has compacted automatically; --dry-run only says "
        "what would happen."
    )
    shell_group: ClassVar[Group | None] = "context"
    trims: ClassVar = True
    asks_with: ClassVar[tuple[str, ...] | None] = ("force",)

    keep: int | str | None = word(
        "N", TURNS_OR_STRETCH, "turns to keep, none without it; or turns to remove, such as 4..12"
    )
    force: bool = switch("bring turns back that Codex has compacted automatically")
    dry_run: bool = dry_run()

    def request(self, ids: CommandIds) -> "TrimContext":
        """Returns the command to the thread."""
        from trimpoint_protocol.commands import TrimContext

        stretch = self.keep if isinstance(self.keep, str) else None
        keep = None if isinstance(self.keep, str) else self.keep or 0
        first, last = (None, None) if stretch is None else ends_of(stretch)
        return TrimContext(
            command_id=ids.command_id,
            thread_id=ids.thread_id,
            keep_last_n_turns=keep,
            force=self.force,
            from_turn=first,
            through_turn=last,
        )
