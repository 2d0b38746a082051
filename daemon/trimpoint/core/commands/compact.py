"""`/compact`: continues with a summary."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from trimpoint.core.commands.arguments import (
    MODEL,
    STRETCH,
    TURNS,
    dry_run,
    ends_of,
    option,
    switch,
    text,
    word,
)
from trimpoint.core.commands.declaration import Change, CommandIds, Group

if TYPE_CHECKING:
    from trimpoint_protocol.commands import CompactContext


@dataclass(frozen=True, slots=True)
class Compact(Change):
    """Replaces all turns except the last `keep` by a summary, which `model` writes by the person's
    `guidance`; None means the configured model and no guidance. If `turns` is a stretch such as
    `4..12`, a summary replaces exactly these turns. With `edit` it is only drafted.
    """

    command: ClassVar = "compact"
    summary: ClassVar = "Summarize the conversation and continue with the summary"
    details: ClassVar = (
        "Asks the model to summarize the conversation, then starts a fresh session with that "
        "summary and, with --keep, the last N turns word for word. Guidance tells the summarizer "
        "what matters. --model has another model write the summary. --force compacts a short "
        "conversation too, and takes a summary that is no smaller than what it stands for; "
        "4..12 puts a summary in the place of exactly these turns, as {timeline} counts them; what "
        "is around them stays, and what is pinned. ..12 is up to there, 4.. from there on. "
        "--edit drafts the summary for you to read and change; nothing changes before {accept}. "
        "--dry-run only says what would happen. If it fails, nothing changes."
    )
    shell_group: ClassVar[Group | None] = "context"
    trims: ClassVar = True

    turns: str | None = word("turns", STRETCH, "the turns to summarize, such as 4..12; else all")
    keep: int = option("N", TURNS, "keep the last N turns word for word", 0)
    model: str | None = option("M", MODEL, "the model that writes the summary")
    force: bool = switch("compact a short conversation too")
    edit: bool = switch("read and change the summary before anything changes")
    dry_run: bool = dry_run()
    guidance: str | None = text("[guidance…]", "what matters, for the summarizer")

    def request(self, ids: CommandIds) -> "CompactContext":
        """Returns the command to the thread."""
        from trimpoint_protocol.commands import CompactContext

        first, last = (None, None) if self.turns is None else ends_of(self.turns)
        return CompactContext(
            command_id=ids.command_id,
            thread_id=ids.thread_id,
            keep_last_n_turns=self.keep,
            force=self.force,
            guidance=self.guidance,
            model=self.model,
            from_turn=first,
            through_turn=last,
            edit=self.edit,
        )
