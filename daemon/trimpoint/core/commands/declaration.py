"""The base classes of commands: what each declares, and what it can do."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from trimpoint.core.commands.arguments import Argument, arguments, spelled_option, usage_of
from trimpoint.core.model.spelling import Said, Spelling, with_commands

if TYPE_CHECKING:
    from trimpoint_protocol.commands import AnyClientCommand

    from trimpoint.core.model.decision import Policy
    from trimpoint.core.model.events import AnyEvent
    from trimpoint.core.model.state import ThreadState

Group = Literal["context", "history"]
"""The group of the shell's commands that a command is listed in."""


class CommandIds(NamedTuple):
    """The ids that every command to a thread has."""

    thread_id: str
    command_id: str


@dataclass(frozen=True, slots=True)
class Command:
    """A command as a person gave it; its fields are the arguments.

    `summary` is a line for menus and lists, and `details` are the sentences that explain the
    command; `{pins}` in them stands for the command of that name. `shell_group` is None where the
    shell has no such command, or one of its own with other arguments. `trims` says whether the
    command takes something out of the agent's context, and `goes_back` whether it leaves what is
    there for another state: neither is offered first. `asks_with` names the switches with which the
    command does not say yet which turns it means, so that a client asks; None if it needs none.
    """

    command: ClassVar[str]
    summary: ClassVar[str]
    details: ClassVar[str]
    shell_group: ClassVar[Group | None] = None
    is_change: ClassVar[bool] = False
    trims: ClassVar[bool] = False
    goes_back: ClassVar[bool] = False
    asks_with: ClassVar[tuple[str, ...] | None] = None

    @property
    def is_unnamed(self) -> bool:
        """Returns whether the command does not say yet which turns it means."""
        return self.asks_with is not None and all(
            name in self.asks_with or value is None or value is False
            for name, value in asdict(self).items()
        )

    @property
    def is_of_all(self) -> bool:
        """Returns whether the command is about all threads, so that it needs none."""
        return False

    @classmethod
    def arguments(cls) -> dict[str, Argument]:
        """Returns the arguments by the names of the fields."""
        return arguments(cls)

    @classmethod
    def usage(cls) -> str:
        """Returns how the command is typed in a chat."""
        return usage_of(cls.command, arguments(cls))

    @classmethod
    def typed(cls, given: Mapping[str, Any], *words: str) -> str:
        """Returns the command as it is typed in a chat.

        :param given: values by the names of the fields; None and False stand for no value.
        :param words: what is typed behind them.
        """
        parts = [f"/{cls.command}"]
        last: list[str] = []
        for name, one in arguments(cls).items():
            value = given.get(name)
            if value is None or value is False:
                continue
            if one.kind == "switch":
                parts.append(spelled_option(name))
            elif one.kind == "option":
                parts += [spelled_option(name), str(value)]
            elif one.kind == "words":
                parts += map(str, value)
            else:
                (last if one.kind == "text" else parts).append(str(value))
        return " ".join(filter(None, [*parts, *last, *words]))

    @classmethod
    def explanation(cls, spelling: Spelling = Spelling.SLASH) -> str:
        """Returns the sentences that explain the command."""
        return with_commands(cls.details, spelling)


@dataclass(frozen=True, slots=True)
class Reading(Command):
    """A command that only shows what the thread's state says."""

    def answer(self, state: "ThreadState", policy: "Policy") -> Said:
        """Returns what a person reads."""
        raise NotImplementedError


class Done(NamedTuple):
    """A change that was carried out: the thread's state after it, and the events of its record."""

    state: "ThreadState"
    events: "tuple[AnyEvent, ...]" = ()


@dataclass(frozen=True, slots=True)
class Change(Command):
    """A command that changes a thread: it becomes one command to the thread's writer, whose
    decision is in `core/decide`.
    """

    is_change: ClassVar[bool] = True

    def request(self, ids: CommandIds) -> "AnyClientCommand":
        """Returns the command to the thread."""
        raise NotImplementedError

    def way_back(self, done: Done) -> str | None:
        """Returns the command that takes the change back; None if there is none."""
        from trimpoint.core.views.trim_outcome import undo_command

        return undo_command(done.state)
