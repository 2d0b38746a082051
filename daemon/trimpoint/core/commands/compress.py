"""`/compress`: discards what is no longer needed."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from trimpoint.core.commands.arguments import TOKENS, dry_run, switch, word
from trimpoint.core.commands.declaration import Change, CommandIds, Group

if TYPE_CHECKING:
    from trimpoint_protocol.commands import DiscardContext


@dataclass(frozen=True, slots=True)
class Compress(Change):
    """Masks output and discards segments until the context is down to `target` tokens; None means
    the configured target.
    """

    command: ClassVar = "compress"
    summary: ClassVar = "Take what is no longer needed out of the agent's context"
    details: ClassVar = (
        "Masks old output, the oldest first, until the context is down to the target (50,000 "
        "tokens unless configured): one line stands in its place, and the calls stay. The last "
        "three turns are left alone. Where that is not enough, or with --discard, it takes out "
        "finished file reads, command output, quick checks, titles and old prompts, in this order. "
        "Code changes, plans, final answers and the newest exchange stay. --dry-run only shows "
        "what would go. Tokens are estimates."
    )
    shell_group: ClassVar[Group | None] = "context"
    trims: ClassVar = True

    target: int | None = word(
        "target tokens", TOKENS, "get down to about this many, such as 50000 or 50k"
    )
    dry_run: bool = dry_run()
    discard: bool = switch("take out whole entries, without masking output first")

    def request(self, ids: CommandIds) -> "DiscardContext":
        """Returns the command to the thread; it names the target, which `target` must hold."""
        from trimpoint_protocol.commands import DiscardContext

        return DiscardContext(
            command_id=ids.command_id,
            thread_id=ids.thread_id,
            target_tokens=self.target,
            only_discard=self.discard,
        )
