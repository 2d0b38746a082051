"""`/accept`: takes what was drafted, as it is or as the person has changed it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from trimpoint.core.commands.arguments import DRAFT_ID, DRAFT_PREFIX, text, word
from trimpoint.core.commands.declaration import Change, CommandIds, Done, Group

_SHOWN_CHARS = 4

if TYPE_CHECKING:
    from trimpoint_protocol.commands import AcceptDraft

    from trimpoint.core.model.state import Draft


@dataclass(frozen=True, slots=True)
class Accept(Change):
    """Does what the draft was made for, with `new_text` in its place if given."""

    command: ClassVar = "accept"
    summary: ClassVar = "Take the summary or the brief that was drafted for you"
    details: ClassVar = (
        "{compact} --edit drafts a summary, {handoff} a brief, and nothing changes. {accept} takes "
        "it as it is, or the text that follows in its place. A summary's draft ends when the "
        "context changes."
    )
    shell_group: ClassVar[Group | None] = "context"
    trims: ClassVar = True

    draft: str | None = word("draft", DRAFT_ID, "the draft that is meant, as its answer names it")
    new_text: str | None = text("[text…]", "what to take in its place")

    def request(self, ids: CommandIds) -> "AcceptDraft":
        """Returns the command to the thread."""
        from trimpoint_protocol.commands import AcceptDraft

        return AcceptDraft(
            command_id=ids.command_id,
            thread_id=ids.thread_id,
            draft_id=None if self.draft is None else self.draft.removeprefix(DRAFT_PREFIX),
            text=self.new_text,
        )

    def way_back(self, done: Done) -> str | None:
        """Returns the command that undoes the compaction; None for a thread that was begun."""
        from trimpoint.core.model.events import HandedOff

        is_brief = any(isinstance(one, HandedOff) for one in done.events)
        return None if is_brief else Change.way_back(self, done)


def accepting(draft: "Draft") -> str:
    """Returns the command that takes this draft, behind which a client types the person's text. The
    end of the id tells it from an earlier draft.
    """
    return f"/{Accept.command} {DRAFT_PREFIX}{draft.id[-_SHOWN_CHARS:]}"
