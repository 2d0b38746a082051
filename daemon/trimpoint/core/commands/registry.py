"""The list of all commands, in the order of menus and helps.

Those that change nothing come first, so that a menu never offers a destructive one before a person
has typed enough to mean it.
"""

from trimpoint.core.commands.accept import Accept
from trimpoint.core.commands.auto import Auto
from trimpoint.core.commands.clear import Clear
from trimpoint.core.commands.compact import Compact
from trimpoint.core.commands.compress import Compress
from trimpoint.core.commands.declaration import Command
from trimpoint.core.commands.handoff import Handoff
from trimpoint.core.commands.helping import Help
from trimpoint.core.commands.looking import Context, Search, Stats, Timeline
from trimpoint.core.commands.mask import Mask
from trimpoint.core.commands.new import New
from trimpoint.core.commands.pins import Pin, Pins, Unpin
from trimpoint.core.commands.revert import Revert
from trimpoint.core.commands.summary import ShowSummary
from trimpoint.core.commands.trust import Trust
from trimpoint.core.commands.undo import Undo
from trimpoint.core.model.spelling import Spelling

REGISTRY: dict[str, type[Command]] = {
    kind.command: kind
    for kind in (
        Context,
        Timeline,
        Search,
        Stats,
        Pins,
        Trust,
        Auto,
        Compact,
        Accept,
        ShowSummary,
        Compress,
        Mask,
        Clear,
        Handoff,
        Undo,
        Revert,
        Pin,
        Unpin,
        New,
        Help,
    )
}


def help_text(name: str | None, spelling: Spelling = Spelling.SLASH) -> str:
    """Returns the help for the command `name`, or the list of all commands if it is None.

    :raises KeyError: when there is no command of that name.
    """
    if name is not None:
        kind = REGISTRY[name]
        return f"{kind.usage()}\n{kind.explanation(spelling)}"
    return "\n".join(f"{kind.usage()}\n    {kind.summary}" for kind in REGISTRY.values())
