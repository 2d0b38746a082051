"""The commands that are declared in `core/commands`, as commands of the shell. `context` is the
shell's own, with more than the slash command shows.
"""

import argparse
from collections.abc import Callable
from functools import partial
from itertools import takewhile

from trimpoint.cli.parsing.options import Commands, command, for_clients, for_one_thread
from trimpoint.core.commands.arguments import (
    TURN,
    TURN_NUMBER,
    Argument,
    Unit,
    spelled_option,
)
from trimpoint.core.commands.declaration import Command, Group
from trimpoint.core.commands.registry import REGISTRY
from trimpoint.core.model.spelling import Spelling, with_commands

_POSITIONAL = ("word", "words", "text")
WORDS = "words"
"""Where the words of a command that takes free text are in the parsed arguments."""


def declared(group: Group) -> tuple[Callable[[Commands], None], ...]:
    """Returns the functions that add the commands of a group, in the order of the registry."""
    kinds = [kind for kind in REGISTRY.values() if kind.shell_group == group]
    return tuple(partial(_add, kind) for kind in kinds)


def _add(kind: type[Command], commands: Commands) -> None:
    parser = command(
        commands,
        kind.command,
        "thread_commands.slash:run",
        f"{kind.summary[:1].lower()}{kind.summary[1:]}",
        kind.explanation(Spelling.SHELL),
    )
    parser.set_defaults(slash=kind.command)
    declared_arguments = kind.arguments()
    takes_text = any(one.kind == "text" for one in declared_arguments.values())
    if not takes_text:
        _add_words(parser, declared_arguments)
    for name, one in declared_arguments.items():
        if one.kind in ("option", "switch"):
            _add_option(parser, name, one)
    if kind.is_change or any(one.kind in _POSITIONAL for one in declared_arguments.values()):
        for_clients(parser, thread=True)
    else:
        for_one_thread(parser)
    if takes_text:
        _add_text(parser, declared_arguments)


def _add_words(parser: argparse.ArgumentParser, arguments: dict[str, Argument]) -> None:
    for name, one in arguments.items():
        if one.kind in ("word", "words") and one.unit is not None:
            parser.add_argument(
                name,
                metavar=_metavar(one),
                nargs="?" if one.kind == "word" else "*",
                type=_checked(one.unit),
                help=with_commands(one.help, Spelling.SHELL),
            )


def _add_option(parser: argparse.ArgumentParser, name: str, one: Argument) -> None:
    names = [*filter(None, [one.short]), spelled_option(name)]
    if one.kind == "switch":
        parser.add_argument(*names, dest=name, action="store_true", help=one.help)
    elif one.unit is not None:
        parser.add_argument(
            *names, dest=name, metavar=one.shown, type=_checked(one.unit), help=one.help
        )


def _add_text(parser: argparse.ArgumentParser, arguments: dict[str, Argument]) -> None:
    """Adds what stands behind the options: words and the text after them are told apart by the
    daemon.
    """
    taken = [one for one in arguments.values() if one.kind in ("word", "words", "text")]
    parser.add_argument(
        WORDS, metavar="|".join(map(_metavar, taken)), nargs="*", help=taken[0].help
    )


def _metavar(one: Argument) -> str:
    return one.shown.strip("[]…").split()[-1].upper()


def _checked(unit: Unit) -> Callable[[str], str]:
    """Returns the check of a value. What was typed is kept: the daemon reads it once more."""

    def check(given: str) -> str:
        if unit.read(given) is None:
            takes = with_commands(unit.takes, Spelling.SHELL)
            raise argparse.ArgumentTypeError(f"takes {takes}, not {given!r}")
        return given

    return check


def typed(arguments: argparse.Namespace) -> str:
    """Returns the slash command that a command line stands for."""
    given = vars(arguments)
    return REGISTRY[arguments.slash].typed(given, *given.get(WORDS, ()))


def turns_named(arguments: argparse.Namespace) -> list[str]:
    """Returns what a command line gives where turns are named."""
    given = vars(arguments)
    for name, one in REGISTRY[arguments.slash].arguments().items():
        if one.unit is TURN:
            return [given[name]] if given[name] is not None else []
        if one.unit is TURN_NUMBER:
            return [*takewhile(lambda word: TURN_NUMBER.read(word) is not None, given[WORDS])]
    return []


def add_context(commands: Commands) -> None:
    """Adds the command `context`."""
    parser = command(
        commands, "context", "thread_commands.context:run", "show how full a thread's context is"
    )
    parser.add_argument(
        "--items", action="store_true", help="show each item that the model is sent next"
    )
    for_one_thread(parser)
