"""`/pin`, `/unpin` and `/pins`: what stays in the context whatever is trimmed."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from trimpoint.core.commands.arguments import PIN, TURN_NUMBER, switch, text, words
from trimpoint.core.commands.declaration import Change, CommandIds, Done, Group, Reading
from trimpoint.core.model.spelling import Said

if TYPE_CHECKING:
    from trimpoint_protocol.commands import PinContext, UnpinContext

    from trimpoint.core.model.decision import Policy
    from trimpoint.core.model.state import ThreadState


@dataclass(frozen=True, slots=True)
class Pin(Change):
    """Pins turns by their numbers, or a note; without either, the last turn."""

    command: ClassVar = "pin"
    summary: ClassVar = "Keep a turn, or a sentence of yours, in the context whatever is trimmed"
    details: ClassVar = (
        "A turn is its number in the conversation, counted from 1; without one it is the last, "
        "and a note without a turn is a sentence that stays ({pin} Python 3.8 only). Pins stand "
        "behind the summary, word for word, and may hold a quarter of the window; --force pins "
        "more."
    )
    shell_group: ClassVar[Group | None] = "history"

    turns: tuple[int | str, ...] = words("turn", TURN_NUMBER, "turns, then a note")
    force: bool = switch("pin more than pins may hold")
    note: str | None = text("[note]", "a sentence that stays")

    def request(self, ids: CommandIds) -> "PinContext":
        """Returns the command to the thread."""
        from trimpoint_protocol.commands import PinContext

        return PinContext(
            command_id=ids.command_id,
            thread_id=ids.thread_id,
            turns=[*self.turns] or None,
            note=self.note,
            force=self.force,
        )

    def way_back(self, done: Done) -> str | None:
        """Returns the command that removes the pins that were made."""
        from trimpoint.core.views.pins_view import new_pins, unpin_command

        made = new_pins(done.events)
        return unpin_command(done.state, made) if made else None


@dataclass(frozen=True, slots=True)
class Unpin(Change):
    """Removes pins by their numbers; without numbers, the newest pin."""

    command: ClassVar = "unpin"
    summary: ClassVar = "Remove pins"
    details: ClassVar = (
        "The numbers are those that {pins} shows; without one it is the pin that was made last."
    )
    shell_group: ClassVar[Group | None] = "history"

    pins: tuple[int, ...] = words("number", PIN, "as {pins} shows them")

    def request(self, ids: CommandIds) -> "UnpinContext":
        """Returns the command to the thread."""
        from trimpoint_protocol.commands import UnpinContext

        return UnpinContext(
            command_id=ids.command_id, thread_id=ids.thread_id, pins=[*self.pins] or None
        )

    def way_back(self, done: Done) -> str | None:
        """Returns None: a pin that was removed has to be made again."""
        return None


@dataclass(frozen=True, slots=True)
class Pins(Reading):
    """Lists the pins."""

    command: ClassVar = "pins"
    summary: ClassVar = "List what is pinned, and how large it is"
    details: ClassVar = "Nothing changes."
    shell_group: ClassVar[Group | None] = "history"

    def answer(self, state: "ThreadState", policy: "Policy") -> Said:
        """Returns the pins as text."""
        from trimpoint.core.views.pins_view import pins_text

        return pins_text(state, policy)
