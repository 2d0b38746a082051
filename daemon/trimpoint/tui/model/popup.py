"""The menus above the composer: slash commands, which come from the daemon, and files."""

import re
from collections.abc import Sequence
from typing import Any

from trimpoint_protocol.lenient import as_dict, as_list
from trimpoint_protocol.methods import CommandInfo

from trimpoint.core.commands.registry import REGISTRY
from trimpoint.tui.model.own_commands import OwnName

_PLACE = re.compile(r"(?:^|(?<=\s))@(\S*)$")
_TAKES_AWAY = {
    *(name for name, kind in REGISTRY.items() if kind.trims or kind.goes_back),
    OwnName.ARCHIVE,
    OwnName.QUIT,
}


class Popup:
    """The menu. It is open while it has commands, unless it was closed for the current text."""

    def __init__(self) -> None:
        self.commands: list[CommandInfo] = []
        self.chosen = 0
        self._is_moved = False
        self._text = ""
        self._closed_for: str | None = None

    @property
    def is_open(self) -> bool:
        """Returns whether the menu is shown."""
        return bool(self.commands) and self._closed_for != self._text

    def show(self, text: str, commands: list[CommandInfo]) -> None:
        """Shows the commands that `text` can become; those that take something away come last. A
        command that the person chose stays chosen if it is among them.
        """
        before = self.choice if self._is_moved else None
        self._text = text
        typed = text.strip().lstrip("/:").lower()
        self.commands = sorted(
            commands, key=lambda one: one.name.lstrip("/:") in _TAKES_AWAY - {typed}
        )
        names = [command.name for command in self.commands]
        self.chosen = names.index(before.name) if before and before.name in names else 0

    def hide(self) -> None:
        """Removes all commands."""
        self.commands, self.chosen, self._closed_for = [], 0, None
        self._is_moved = False

    def close(self) -> None:
        """Closes the menu until the text changes."""
        self._closed_for = self._text

    def move(self, step: int) -> None:
        """Moves the choice by `step` rows; after the last row comes the first."""
        if self.commands:
            self.chosen = (self.chosen + step) % len(self.commands)
            self._is_moved = True

    @property
    def choice(self) -> CommandInfo | None:
        """Returns the chosen command; None if the menu is closed."""
        return self.commands[self.chosen] if self.is_open else None

    def is_for(self, text: str) -> bool:
        """Returns whether the menu was made for `text`. One that was made for less of it, because
        the person types faster than the daemon answers, may not complete it.
        """
        return self._text == text

    def completed(self, text: str) -> str | None:
        """Returns what `text` becomes by the choice; None if the menu is closed or was made for
        another text.
        """
        choice = self.choice
        if choice is None or not self.is_for(text):
            return None
        takes_more = choice.usage.lstrip("/:") != choice.name.lstrip("/:")
        return f"{_spelled(choice.name, self._text)}{' ' if takes_more else ''}"

    def is_whole(self) -> bool:
        """Returns whether the text is the chosen command already."""
        choice = self.choice
        return choice is not None and self._text.strip() == _spelled(choice.name, self._text)


def _spelled(name: str, text: str) -> str:
    """Returns a command's name with the sign that the person typed, `/` or `:`."""
    sign = ":" if text.lstrip().startswith(":") else "/"
    return f"{sign}{name.lstrip('/:')}"


class FileMenu(Popup):
    """The menu of the files that `@` and some letters can become."""

    def offer(self, typed: str, paths: Sequence[str]) -> None:
        """Shows paths for what was typed, the best one first."""
        rows = [CommandInfo(name=one, usage=one, summary="", details="") for one in paths]
        self.show(typed, rows)

    def completed(self, text: str) -> str | None:
        """Returns what the typed word becomes by the choice."""
        choice = self.choice
        return f"{spelled_path(choice.name)} " if choice and self.is_for(text) else None

    def is_whole(self) -> bool:
        """Returns whether the word is the chosen path already."""
        choice = self.choice
        return choice is not None and self._text == spelled_path(choice.name)


def paths_of(answer: Any) -> list[str]:
    """Returns the paths of an answer to `fuzzyFileSearch`, folders with a slash at their end. Codex
    leaves out what git ignores, but not git's own files (measured: 0.163).
    """
    files = [as_dict(one) for one in as_list(as_dict(answer).get("files"))]
    found = [(str(one.get("path")), one.get("match_type") == "directory") for one in files]
    return [
        f"{path}/" if is_folder else path
        for path, is_folder in found
        if path.split("/")[0] != ".git"
    ]


def file_typed(before: str) -> str | None:
    """Returns the word at the end of a line that names a file, with its `@`, or None."""
    found = _PLACE.search(before)
    return found[0] if found else None


def spelled_path(path: str) -> str:
    """Returns how a prompt names a file."""
    return f'@"{path}"' if " " in path else f"@{path}"
