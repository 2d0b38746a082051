"""`/handoff`: begins a new thread with a brief of this one."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from trimpoint.core.commands.arguments import switch, text
from trimpoint.core.commands.declaration import Change, CommandIds, Done, Group

if TYPE_CHECKING:
    from trimpoint_protocol.commands import DraftHandoff


@dataclass(frozen=True, slots=True)
class Handoff(Change):
    """Has the model write a brief for the person's `goal`; with `yes` it is sent unread."""

    command: ClassVar = "handoff"
    summary: ClassVar = "Begin a new thread with a brief of this one, made for a goal"
    details: ClassVar = (
        "Asks the model what matters of this conversation for the goal, and gives you the brief to "
        "read and change; nothing changes before {accept}. Then a new thread in the same folder, "
        "with the same settings, begins with it, and this one stays as it is. --yes sends the "
        "brief unread."
    )
    shell_group: ClassVar[Group | None] = "context"

    yes: bool = switch("send the brief unread")
    goal: str | None = text("[goal…]", "what the new thread is for")

    def request(self, ids: CommandIds) -> "DraftHandoff":
        """Returns the command to the thread."""
        from trimpoint_protocol.commands import DraftHandoff

        return DraftHandoff(command_id=ids.command_id, thread_id=ids.thread_id, goal=self.goal)

    def way_back(self, done: Done) -> str | None:
        """Returns None: this thread has not changed."""
        return None
