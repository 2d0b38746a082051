"""The types of parsed slash commands, one for each command, and of the results of parsing."""

from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple, TypeAlias


class NotACommand(NamedTuple):
    """The result of parsing text that is no slash command of trimpoint, so that it may be sent to
    the model.
    """


class UsageError(NamedTuple):
    """The result of parsing a slash command with wrong arguments; `message` is for the person and
    has the correct usage.
    """

    command: str
    message: str


@dataclass(frozen=True, slots=True)
class Clear:
    """`/clear`: removes all turns from the agent's context except the last `keep_last_n_turns`;
    None keeps none.
    """

    command: ClassVar = "clear"
    keep_last_n_turns: int | None = None
    force: bool = False
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Compact:
    """`/compact`: replaces all turns except the last `keep_last_n_turns` by a summary, which
    `model` writes by the person's `guidance`; None means the configured model and no guidance.
    """

    command: ClassVar = "compact"
    keep_last_n_turns: int = 0
    force: bool = False
    guidance: str | None = None
    dry_run: bool = False
    model: str | None = None


@dataclass(frozen=True, slots=True)
class Compress:
    """`/compress`: discards segments until the context is down to `target_tokens` tokens; None
    means the configured target.
    """

    command: ClassVar = "compress"
    target_tokens: int | None = None
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Revert:
    """`/revert`: goes back to a turn given by its id or by the number of turns to keep; without
    either, takes back the last turn.
    """

    command: ClassVar = "revert"
    turn_id: str | None = None
    turn_count: int | None = None
    undo: bool = False
    scope: Literal["files+context", "context"] = "files+context"
    force: bool = False
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Undo:
    """`/undo`: takes back the last trim; with `redo`, makes the trim again that was undone last."""

    command: ClassVar = "undo"
    redo: bool = False
    force: bool = False
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Pin:
    """`/pin`: pins turns by their numbers, or a note; without either, the last turn."""

    command: ClassVar = "pin"
    turns: tuple[int, ...] = ()
    note: str | None = None
    force: bool = False


@dataclass(frozen=True, slots=True)
class Unpin:
    """`/unpin`: removes pins by their numbers; without numbers, the newest pin."""

    command: ClassVar = "unpin"
    pins: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Pins:
    """`/pins`: lists the pins."""

    command: ClassVar = "pins"


@dataclass(frozen=True, slots=True)
class Context:
    """`/context`: shows how the active context is filled."""

    command: ClassVar = "context"


@dataclass(frozen=True, slots=True)
class Search:
    """`/search`: searches the thread for the words of `query`; an empty query finds nothing."""

    command: ClassVar = "search"
    query: str = ""


@dataclass(frozen=True, slots=True)
class Timeline:
    """`/timeline`: lists the newest `turns` turns; None means the default number."""

    command: ClassVar = "timeline"
    turns: int | None = None


@dataclass(frozen=True, slots=True)
class New:
    """`/new`: archives the thread and starts an empty one; with `pins`, the new thread receives the
    pins of this one.
    """

    command: ClassVar = "new"
    pins: bool = False
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Help:
    """`/help`: lists all slash commands, or explains the command `name`."""

    command: ClassVar = "help"
    name: str | None = None


Change: TypeAlias = Clear | Compact | Pin | Revert | Undo | Unpin | New
"""A parsed slash command that becomes exactly one command to the thread."""
Invocation: TypeAlias = Change | Compress | Context | Pins | Search | Timeline | Help
Parsed: TypeAlias = NotACommand | UsageError | Invocation
