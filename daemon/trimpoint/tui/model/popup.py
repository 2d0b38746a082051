"""The menu of slash commands above the composer. Its commands come from the daemon."""

from trimpoint_protocol.methods import CommandInfo


class Popup:
    """The menu. It is open while it has commands, unless it was closed for the current text."""

    def __init__(self) -> None:
        self.commands: list[CommandInfo] = []
        self.chosen = 0
        self._text = ""
        self._closed_for: str | None = None

    @property
    def is_open(self) -> bool:
        """Returns whether the menu is shown."""
        return bool(self.commands) and self._closed_for != self._text

    def show(self, text: str, commands: list[CommandInfo]) -> None:
        """Shows the commands that `text` can become. The chosen command stays chosen if it is among
        them.
        """
        before = self.choice
        self._text = text
        self.commands = commands
        names = [command.name for command in commands]
        self.chosen = names.index(before.name) if before and before.name in names else 0

    def hide(self) -> None:
        """Removes all commands."""
        self.commands, self.chosen, self._closed_for = [], 0, None

    def close(self) -> None:
        """Closes the menu until the text changes."""
        self._closed_for = self._text

    def move(self, step: int) -> None:
        """Moves the choice by `step` rows; after the last row comes the first."""
        if self.commands:
            self.chosen = (self.chosen + step) % len(self.commands)

    @property
    def choice(self) -> CommandInfo | None:
        """Returns the chosen command; None if the menu is closed."""
        return self.commands[self.chosen] if self.is_open else None

    def completed(self) -> str | None:
        """Returns the text after the choice is inserted; None if the menu is closed."""
        choice = self.choice
        if choice is None:
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
