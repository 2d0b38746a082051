"""The slash commands for an editor: the daemon's, and the agent's own."""

import re

from trimpoint_protocol.lenient import Json, as_dicts, as_text

from trimpoint.acp.wire.updates import AvailableCommand, AvailableCommands, CommandInput

ALIASES = {"trim": "clear"}
"""Some editors take `/clear` for themselves; this gets through."""
STATUS, CONTEXT = "status", "context"
_TYPED = re.compile(r"([/:])([A-Za-z][\w-]*)(\s.*)?", re.DOTALL)


def available_commands(listed: Json) -> AvailableCommands:
    """Returns all commands; `listed` is the answer of `commands/list`."""
    rows = as_dicts(listed.get("commands"))
    commands = [
        _command(as_text(row.get("name")), as_text(row.get("usage")), as_text(row.get("summary")))
        for row in rows
    ]
    names = {one.name for one in commands}
    for alias, name in ALIASES.items():
        row = next((one for one in rows if one.get("name") == name), None)
        if row is not None and alias not in names:
            usage = as_text(row.get("usage"))
            commands.append(
                _command(
                    alias,
                    usage,
                    f"The same as /{name}, for editors that have a /{name} of their own",
                )
            )
    own = (
        (STATUS, "Show the model, the folder, the mode and the context"),
        (CONTEXT, "Show how full the context is"),
    )
    commands += [
        AvailableCommand(name=name, description=text) for name, text in own if name not in names
    ]
    return AvailableCommands(available_commands=commands)


def _command(name: str, usage: str, summary: str) -> AvailableCommand:
    _, _, hint = usage.partition(" ")
    return AvailableCommand(
        name=name, description=summary, input=CommandInput(hint=hint) if hint else None
    )


def command_name(text: str) -> str | None:
    """Returns the lower-case name of the command that `text` may be; None if it cannot be one."""
    typed = _TYPED.fullmatch(text.strip())
    return typed[2].lower() if typed is not None else None


def without_alias(text: str) -> str:
    """Returns `text` with an alias of a command replaced by the command's own name."""
    typed = _TYPED.fullmatch(text.strip())
    name = ALIASES.get(typed[2].lower()) if typed is not None else None
    return text if typed is None or name is None else f"{typed[1]}{name}{typed[3] or ''}"
