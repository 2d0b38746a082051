"""The body of `POST /api/v1/commands/{name}`, made from the declarations of the commands."""

from typing import Annotated, Any

import msgspec

from trimpoint.core.commands.arguments import Argument
from trimpoint.core.commands.declaration import Command
from trimpoint.core.commands.helping import Help
from trimpoint.core.commands.registry import REGISTRY
from trimpoint.core.model.spelling import Spelling, with_commands

_TYPES: dict[str, Any] = {
    "word": int | str,
    "words": list[int | str],
    "text": str,
    "option": int | str,
    "switch": bool,
}
_COMMON = [
    ("session_id", str | None, None),
    ("thread_id", str | None, msgspec.field(default=None, name="threadId")),
    ("args", str, ""),
    ("command", str | None, None),
    ("command_id", str | None, msgspec.field(default=None, name="commandId")),
]


class NoSuchMember(Exception):
    """Raised when a body has members that the command does not take; `names` are they."""

    def __init__(self, names: list[str]) -> None:
        super().__init__(", ".join(names))
        self.names = names


def _wire_name(field: str) -> str:
    head, *rest = field.split("_")
    return "".join([head, *(word.capitalize() for word in rest)])


def _members() -> dict[str, list[Argument]]:
    """Returns the arguments of all commands by the names of their fields."""
    found: dict[str, list[Argument]] = {}
    for kind in REGISTRY.values():
        for name, one in kind.arguments().items() if kind is not Help else ():
            found.setdefault(name, []).append(one)
    return found


MEMBERS = _members()


def _field(name: str, declared: list[Argument]) -> tuple[str, Any, Any]:
    shapes = dict.fromkeys(_TYPES[one.kind] for one in declared)
    texts = dict.fromkeys(with_commands(one.help, Spelling.SLASH) for one in declared)
    shape: Any = None
    for one in reversed(shapes):
        shape = one | shape
    described: Any = Annotated
    shape = described[shape, msgspec.Meta(description="; ".join(texts))]
    return name, shape, msgspec.field(default=None, name=_wire_name(name))


_DOC = (
    "`session_id` or `threadId` names the thread. `args` is the text after the command's name, "
    "such as `3` or `--keep 2`; what the command takes can be given by name too. `command` is the "
    "command that `help` explains."
)
CommandBody = msgspec.defstruct(
    "CommandBody",
    [*_COMMON, *(_field(name, declared) for name, declared in MEMBERS.items())],
    forbid_unknown_fields=True,
    kw_only=True,
    namespace={"__doc__": _DOC},
    module=__name__,
)


def typed(kind: type[Command], body: Any) -> str:
    """Returns the slash command that a person would type.

    :raises NoSuchMember: when the body has an argument that the command does not have.
    """
    given = {name: getattr(body, name) for name in MEMBERS}
    unknown = [
        _wire_name(name)
        for name, value in given.items()
        if value not in (None, False) and name not in kind.arguments()
    ]
    if unknown:
        raise NoSuchMember(sorted(unknown))
    return kind.typed(given, body.args.strip())
