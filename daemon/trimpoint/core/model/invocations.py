"""Slash commands that were read: what a person asked for, one type for each command."""

from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple, TypeAlias


class NotACommand(NamedTuple):
    """The input is no command of ours and may be sent to the model."""


class UsageError(NamedTuple):
    """The input names a command of ours but is not right; `message` says what is right."""

    command: str
    message: str


@dataclass(frozen=True, slots=True)
class Clear:
    """`/clear`; without a number it keeps nothing."""

    command: ClassVar = "clear"
    keep_last_n_turns: int | None = None
    force: bool = False
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Compact:
    """`/compact`."""

    command: ClassVar = "compact"
    keep_last_n_turns: int = 0
    force: bool = False
    guidance: str | None = None
    dry_run: bool = False
    model: str | None = None


@dataclass(frozen=True, slots=True)
class Compress:
    """`/compress`."""

    command: ClassVar = "compress"
    target_tokens: int | None = None
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Revert:
    """`/revert`; with neither `turn_id` nor `turn_count`, the last turn is taken back."""

    command: ClassVar = "revert"
    turn_id: str | None = None
    turn_count: int | None = None
    undo: bool = False
    scope: Literal["files+context", "context"] = "files+context"
    force: bool = False
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Undo:
    """`/undo`."""

    command: ClassVar = "undo"
    redo: bool = False
    force: bool = False
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Pin:
    """`/pin`; with no turn and no note it pins the last turn."""

    command: ClassVar = "pin"
    turns: tuple[int, ...] = ()
    note: str | None = None
    force: bool = False


@dataclass(frozen=True, slots=True)
class Unpin:
    """`/unpin`; without a number it removes the newest pin."""

    command: ClassVar = "unpin"
    pins: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Pins:
    """`/pins`."""

    command: ClassVar = "pins"


@dataclass(frozen=True, slots=True)
class Context:
    """`/context`."""

    command: ClassVar = "context"


@dataclass(frozen=True, slots=True)
class Search:
    """`/search`; without words there is nothing to find."""

    command: ClassVar = "search"
    query: str = ""


@dataclass(frozen=True, slots=True)
class Timeline:
    """`/timeline`; `turns` is how many of the newest are listed."""

    command: ClassVar = "timeline"
    turns: int | None = None


@dataclass(frozen=True, slots=True)
class New:
    """`/new`; with `pins` what is pinned comes along."""

    command: ClassVar = "new"
    pins: bool = False
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Help:
    """`/help`; `name` is that of a command."""

    command: ClassVar = "help"
    name: str | None = None


Change: TypeAlias = Clear | Compact | Pin | Revert | Undo | Unpin | New
"""A well-formed command that becomes one command of the thread as it is."""
Invocation: TypeAlias = Change | Compress | Context | Pins | Search | Timeline | Help
Parsed: TypeAlias = NotACommand | UsageError | Invocation
