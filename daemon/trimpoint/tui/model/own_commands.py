"""The screen's own commands, for the screen and for whole threads. The other slash commands are the
daemon's.
"""

from enum import StrEnum
from typing import NamedTuple

from trimpoint_protocol.methods import CommandInfo

from trimpoint.core.commands.declaration import Command
from trimpoint.core.commands.parsing import parse
from trimpoint.core.commands.registry import REGISTRY


class OwnName(StrEnum):
    """The names of the screen's own commands."""

    THREADS = "threads"
    SEARCH = "search"
    RENAME = "rename"
    FORK = "fork"
    ARCHIVE = "archive"
    MODEL = "model"
    PERMISSIONS = "permissions"
    QUEUE = "queue"
    QUIT = "quit"
    AGAIN = "again"
    EDITOR = "editor"
    TURN = "turn"
    TURNS = "revert"
    KEEP = "clear"


class OwnCommand(NamedTuple):
    """A command with its argument text."""

    name: OwnName
    rest: str


_SUMMARIES = {
    OwnName.THREADS: "Choose another thread, or a session of another agent",
    OwnName.RENAME: "Give the thread a name",
    OwnName.FORK: "Go on in a copy of the thread",
    OwnName.ARCHIVE: "Archive the thread",
    OwnName.MODEL: "Choose the model and its effort",
    OwnName.PERMISSIONS: "Choose what the agent may do unasked",
    OwnName.AGAIN: "Go back to before a prompt, and send it changed",
    OwnName.EDITOR: "Write the prompt in your editor",
    OwnName.TURN: "Show a turn of this thread",
    OwnName.QUEUE: "See, edit, move and take out the prompts that wait",
    OwnName.QUIT: "End the chat; the thread stays",
}
_TAKES_TEXT = {OwnName.RENAME: "NAME", OwnName.TURN: "N"}


def own_command(text: str) -> OwnCommand | None:
    """Returns `text` as one of the screen's own commands; None for any other text.

    A command that does not say which turns it means opens a list to choose from, and so does
    `/search` without words; with an argument they are the daemon's.
    """
    parsed = parse(text)
    if isinstance(parsed, Command) and parsed.is_unnamed:
        return OwnCommand(OwnName(parsed.command), _split(text.strip()[1:])[1])
    sign, (word, rest) = text.strip()[:1], _split(text.strip()[1:])
    if sign not in ("/", ":") or word not in tuple(OwnName):
        return None
    name = OwnName(word)
    if name in REGISTRY and name is not OwnName.SEARCH:
        return None
    return OwnCommand(name, rest) if bool(rest) is (name in _TAKES_TEXT) else None


def complete_own(text: str) -> list[CommandInfo]:
    """Returns the screen's own commands that begin with `text`, shown after those of the daemon."""
    sign, typed = text[:1], text[1:].lower()
    if sign not in ("/", ":"):
        return []
    return [
        CommandInfo(
            name=name.value,
            usage=f"/{name.value} {_TAKES_TEXT[name]}" if name in _TAKES_TEXT else f"/{name.value}",
            summary=summary,
            details="",
        )
        for name, summary in _SUMMARIES.items()
        if name.value.startswith(typed)
    ]


def _split(text: str) -> tuple[str, str]:
    word, _, rest = text.partition(" ")
    return word.lower(), rest.strip()
