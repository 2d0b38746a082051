"""`/help`: which commands there are."""

from dataclasses import dataclass
from typing import ClassVar

from trimpoint.core.commands.arguments import text
from trimpoint.core.commands.declaration import Command


@dataclass(frozen=True, slots=True)
class Help(Command):
    """Lists all slash commands, or explains the command `name`. It needs no thread."""

    command: ClassVar = "help"
    summary: ClassVar = "Show the commands, or one of them in full"
    details: ClassVar = "Lists what can be typed here."

    name: str | None = text("[command]", "the command to explain")
