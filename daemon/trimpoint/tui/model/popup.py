"""The menu of slash commands above the composer. Its commands come from the daemon."""

from trimpoint_protocol.methods import CommandInfo

_TAKES_AWAY = {"clear", "compact", "compress", "revert", "new", "undo", "archive", "quit"}


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
