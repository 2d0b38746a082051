"""`/auto`: what is done with this thread's context when it fills up, without being asked."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, cast

from trimpoint.core.commands.arguments import AUTO_MODE, DEFAULT, dry_run, word
from trimpoint.core.commands.declaration import Change, CommandIds, Done, Group

if TYPE_CHECKING:
    from trimpoint_protocol.commands import AutoMode, SetAuto


@dataclass(frozen=True, slots=True)
class Auto(Change):
    """Chooses the mode of this thread; without one, and in a dry run, it only shows what would be
    done next (`core/views/auto_view.py`).
    """

    command: ClassVar = "auto"
    summary: ClassVar = "Show or choose what is done when the context of this thread fills up"
    details: ClassVar = (
        "off does and says nothing; warn says it; mask also puts one line in the place of old "
        "output, between turns, where that costs little; compact also summarizes a context that "
        "is nearly full. default goes back to the configuration. Without a mode it says what would "
        "be done next, and when. {undo} takes back each act."
    )
    shell_group: ClassVar[Group | None] = "context"

    mode: str | None = word("off|warn|mask|compact|default", AUTO_MODE, "what is to be done")
    dry_run: bool = dry_run()

    def request(self, ids: CommandIds) -> "SetAuto":
        """Returns the command to the thread."""
        from trimpoint_protocol.commands import SetAuto

        mode = None if self.mode == DEFAULT else cast("AutoMode | None", self.mode)
        return SetAuto(command_id=ids.command_id, thread_id=ids.thread_id, mode=mode)

    def way_back(self, done: Done) -> str | None:
        """Returns the command that chooses again what was chosen before."""
        from trimpoint.core.model.events import AutoChosen

        former = [one.former for one in done.events if isinstance(one, AutoChosen)]
        return f"/auto {former[-1] or DEFAULT}" if former else None
