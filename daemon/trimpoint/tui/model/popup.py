"""The menu of slash commands above the composer; the daemon says what is in it."""

from trimpoint_protocol.methods import CommandInfo


class Popup:
    """Open while it has commands and was not closed for the text that is typed."""

    def __init__(self) -> None:
        self.commands: list[CommandInfo] = []
        self.chosen = 0
        self._text = ""
        self._closed_for: str | None = None

    @property
    def is_open(self) -> bool:
        """Returns whether it is shown."""
        return bool(self.commands) and self._closed_for != self._text

    def show(self, text: str, commands: list[CommandInfo]) -> None:
        """Shows what a text can become; the choice stays where it is possible."""
        before = self.choice
        self._text = text
        self.commands = commands
        names = [command.name for command in commands]
        self.chosen = names.index(before.name) if before and before.name in names else 0

    def hide(self) -> None:
        """Has nothing to show."""
        self.commands, self.chosen, self._closed_for = [], 0, None

    def close(self) -> None:
        """Closes it until another text is typed."""
        self._closed_for = self._text

    def move(self, step: int) -> None:
        """Chooses another one, round and round."""
        if self.commands:
            self.chosen = (self.chosen + step) % len(self.commands)

    @property
    def choice(self) -> CommandInfo | None:
        """Returns the chosen command; None while it is closed."""
        return self.commands[self.chosen] if self.is_open else None

    def completed(self) -> str | None:
        """Returns the text with the choice taken; None while it is closed."""
        choice = self.choice
        if choice is None:
            return None
        takes_more = choice.usage.lstrip("/:") != choice.name.lstrip("/:")
        return f"{_spelled(choice.name, self._text)}{' ' if takes_more else ''}"

    def is_whole(self) -> bool:
        """Returns whether the text names the choice already."""
        choice = self.choice
        return choice is not None and self._text.strip() == _spelled(choice.name, self._text)


def _spelled(name: str, text: str) -> str:
    """Returns a command's name with the sign that the person began with."""
    sign = ":" if text.lstrip().startswith(":") else "/"
    return f"{sign}{name.lstrip('/:')}"
