"""`/summary`: shows or edits the summary that the context begins with."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from trimpoint.core.commands.arguments import SHOW_OR_EDIT, text, word
from trimpoint.core.commands.declaration import Change, CommandIds, Group

if TYPE_CHECKING:
    from trimpoint_protocol.commands import EditSummary

EDITING = "/summary edit"
"""What the new text is typed behind."""


@dataclass(frozen=True, slots=True)
class ShowSummary(Change):
    """Shows the summary or, with `act` "edit", puts `new_text` in its place; without a text it is
    only shown to be edited.
    """

    command: ClassVar = "summary"
    summary: ClassVar = "Show or edit the summary that the context begins with"
    details: ClassVar = (
        "What {compact} has put in the place of earlier turns. {summary} edit with a text puts it "
        "there instead; without one it gives you the summary to change. {undo} brings the former "
        "one back."
    )
    shell_group: ClassVar[Group | None] = "context"

    act: str | None = word("show|edit", SHOW_OR_EDIT, "show it, or edit it")
    new_text: str | None = text("[text…]", "what stands in its place")

    def request(self, ids: CommandIds) -> "EditSummary":
        """Returns the command to the thread."""
        from trimpoint_protocol.commands import EditSummary

        text = self.new_text or ""
        return EditSummary(command_id=ids.command_id, thread_id=ids.thread_id, text=text)
