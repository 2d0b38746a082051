"""Writes a command as it is typed in a chat or in a shell.

Commands travel as they are typed in a chat, such as `/clear 3`. Who shows one spells it for the
place where it will be typed.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:  # msgspec would double the time that `trimpoint --help` takes
    from trimpoint_protocol.hints import CommandHint

SHORT_ID_CHARS = 8
"""The number of characters at the end of an id that people are shown."""

UNARCHIVE = "thread/unarchive"


class Spelling(StrEnum):
    """The place where a command will be typed. Codex's terminal UI and some editors keep words that
    begin with a slash for themselves, so a colon is understood everywhere.
    """

    SLASH = "slash"
    COLON = "colon"
    SHELL = "shell"


class Said(NamedTuple):
    """What a person reads: sentences, and commands that help on."""

    text: str
    hints: "tuple[CommandHint, ...]" = ()


def spelled(command: str, spelling: Spelling) -> str:
    """Returns a command as it is typed at that place. `thread/unarchive ID`, which has no slash
    command, becomes a command of the shell everywhere.
    """
    method, _, thread_id = command.partition(" ")
    if method == UNARCHIVE:
        typed = f"trimpoint threads unarchive {short_id(thread_id)}"
        return typed if spelling is Spelling.SHELL else f"{typed} (in a terminal)"
    start = {Spelling.SLASH: "/", Spelling.COLON: ":", Spelling.SHELL: "trimpoint "}[spelling]
    return f"{start}{command[1:]}"


def short_id(thread_id: str) -> str:
    """Returns the end of an id, which every command takes for the whole of it."""
    return thread_id[-SHORT_ID_CHARS:]


def entry_ref(thread_id: str, entry: str) -> str:
    """Returns the name of an entry, such as `h3.2`, that every command takes from any folder."""
    return f"{short_id(thread_id)}:{entry}"


def with_commands(text: str, spelling: Spelling) -> str:
    """Returns a text of a declaration in which `{pins}` stands for the command of that name."""
    return text.format_map(_Commands(spelling))


def hint_text(hints: "Iterable[CommandHint]", spelling: Spelling) -> str:
    """Returns the ways on in a sentence, empty if there are none."""
    ways = "; ".join(f"{spelled(one.command, spelling)} {one.text}" for one in hints)
    return f"{ways}." if ways else ""


def undo_text(undo: str, spelling: Spelling) -> str:
    """Returns the line that names the command which takes another back."""
    return f"To undo: {spelled(undo, spelling)}"


class _Commands(dict[str, str]):
    def __init__(self, spelling: Spelling) -> None:
        super().__init__()
        self._spelling = spelling

    def __missing__(self, name: str) -> str:
        return spelled(f"/{name}", self._spelling)
