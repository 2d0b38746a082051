"""The parser of the command line. Imports only the standard library, so that `--help` is fast."""

import argparse
import difflib
import re
import sys
from collections.abc import Sequence
from typing import Any, NoReturn, cast

from trimpoint.cli.exits import UsageError
from trimpoint.cli.parsing import agent_arguments as agent
from trimpoint.cli.parsing import context_arguments as context
from trimpoint.cli.parsing import daemon_arguments as daemons
from trimpoint.cli.parsing import fleet_arguments as fleet
from trimpoint.cli.parsing import machine_arguments as machine
from trimpoint.cli.parsing import session_arguments as sessions
from trimpoint.cli.parsing import thread_arguments as threads
from trimpoint.cli.parsing.options import HelpFormatter, wrapped

EXIT_CODES = (
    (0, "done"),
    (1, "failed or refused; everything is as before"),
    (2, "wrong usage; the message says how to correct it"),
    (3, "skipped, nothing changed: there was nothing to do, or the thread is busy"),
    (4, "no daemon answers"),
)
GENERAL = (
    "Without --thread a command takes the last thread of this folder (its git work tree) and says "
    "which.",
    "--json prints one JSON document, or JSON lines where something is followed, and nothing else.",
    "Options may stand before the command. Colour and progress appear on a terminal only, and a "
    "long answer goes through a pager there; NO_COLOR, PAGER and NO_PAGER are respected.",
    "What is Codex's own goes to Codex: trimpoint login, logout, exec, mcp … and trimpoint codex "
    "WORD.",
)

DESCRIPTION = "Keep long Codex conversations going: clear, compact, compress and revert them."

GROUPS = (
    ("talk", (agent.add_chat, agent.add_ask, threads.add_interrupt, threads.add_watch)),
    (
        "the agent's context",
        (context.add_context, *context.declared("context")),
    ),
    (
        "history and files",
        (
            threads.add_timeline,
            threads.add_search,
            *context.declared("history"),
            threads.add_diff,
            threads.add_checkpoints,
            threads.add_export,
        ),
    ),
    (
        "threads",
        (
            threads.add_threads,
            threads.add_rename,
            threads.add_fork,
            threads.add_archive,
            threads.add_unarchive,
            threads.add_delete,
        ),
    ),
    ("sessions of all agents", (sessions.add_sessions,)),
    ("many machines", (fleet.add_fleet,)),
    (
        "the daemon",
        (
            agent.add_open,
            agent.add_desktop,
            daemons.add_serve,
            daemons.add_status,
            daemons.add_shutdown,
            daemons.add_logs,
            machine.add_service,
            daemons.add_metrics,
            daemons.add_token,
        ),
    ),
    (
        "this installation",
        (
            machine.add_doctor,
            machine.add_config,
            machine.add_journal,
            machine.add_completion,
            machine.add_demo,
        ),
    ),
    ("for programs", (daemons.add_acp, agent.add_probe, daemons.add_stdio, machine.add_schema)),
)
# These take a value, wherever they stand.
_WITH_VALUE = frozenset({"--socket", "--state-dir", "--config", "-t", "--thread", "--codex", "-c"})
_WITH_ACTIONS = frozenset({"config", "fleet", "journal", "service", "sessions"})


class _Parser(argparse.ArgumentParser):
    def _print_message(self, message: str, file: Any = None) -> None:
        # argparse would keep silent about a disk that is full.
        (file or sys.stderr).write(message)

    def error(self, message: str) -> NoReturn:
        unknown = re.search(
            r"argument (COMMAND|ACTION): invalid choice: '(.*?)' \(choose from (.*)\)", message
        )
        if unknown:
            _unknown_command(unknown[1].lower(), unknown[2], re.findall(r"[\w-]+", unknown[3]))
        sentence = re.sub(r"^argument (\S+): (?=takes )", r"\1 ", message)
        sentence = re.sub(r"^argument (\S+): expected one argument$", r"\1 takes a value", sentence)
        choice = re.match(r"argument (\S+): invalid choice: ('.*?') \(choose from (.*)\)", message)
        if choice:
            sentence = f"{choice[1]} takes one of {choice[3]}, not {choice[2]}".replace("'", "")
        hint = f"See {self.prog} --help."
        if missing := re.match(r"the following arguments are required: (.*)", message):
            sentence = f"{self.prog} needs {missing[1]}"
            if missing[1] == "ACTION":
                hint = f"There are: {', '.join(sub_parsers(self))}."
        elif sentence[:1].islower():
            sentence = f"{self.prog}: {sentence}"
        raise UsageError(f"{sentence}.", hint)


def _unknown_command(kind: str, name: str, known: list[str]) -> NoReturn:
    nearest = difflib.get_close_matches(name, known, n=1)
    guess = f"Did you mean {nearest[0]}? " if nearest else ""
    there_are = (
        "trimpoint help lists all commands."
        if kind == "command"
        else f"There are: {', '.join(known)}."
    )
    raise UsageError(f"There is no {kind} {name!r}.", f"{guess}{there_are}")


class RootParser(_Parser):
    """The parser of the whole command line. Its help lists the commands in groups, which argparse
    cannot do.
    """

    groups: list[tuple[str, list[str]]]

    def format_help(self) -> str:
        summaries = {action.dest: action.help or "" for action in _choices(self)}
        width = max(map(len, summaries))
        blocks = ["usage: trimpoint COMMAND [OPTION …]\n", wrapped(f"{self.description}\n")]
        for title, names in self.groups:
            rows = (wrapped(f"  {name:<{width}}  {summaries[name]}\n", width + 4) for name in names)
            blocks.append(f"{title}:\n" + "".join(rows))
        blocks.append(
            wrapped(
                "trimpoint help COMMAND explains one; trimpoint --version shows what is installed."
                "\n"
            )
        )
        codes = (wrapped(f"  {code}  {meaning}\n", 5) for code, meaning in EXIT_CODES)
        blocks.append("exit codes:\n" + "".join(codes))
        return "\n".join([*blocks, "".join(wrapped(f"{sentence}\n") for sentence in GENERAL)])


def _choices(parser: argparse.ArgumentParser) -> Sequence[argparse.Action]:
    """Returns the sub-commands of a parser as actions whose `dest` is their name; argparse has no
    public way to list them.
    """
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):  # pyright: ignore[reportPrivateUsage]
            return action._choices_actions
    return ()


def sub_parsers(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Returns the parsers of a parser's sub-commands by name."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):  # pyright: ignore[reportPrivateUsage]
            return dict(cast("Any", action).choices)
    return {}


def root_parser() -> RootParser:
    """Returns the parser of all commands."""
    parser = RootParser(
        prog="trimpoint",
        description=DESCRIPTION,
        formatter_class=HelpFormatter,
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(metavar="COMMAND", title="commands", parser_class=_Parser)
    parser.groups = []
    for title, adders in GROUPS:
        before = set(commands.choices)
        for add in adders:
            add(commands)
        parser.groups.append((title, [name for name in commands.choices if name not in before]))
    daemons.add_unlisted(commands)
    return parser


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Parses a command line. `run` of the result names the function that carries it out, as
    `module:function`.

    :raises UsageError: when the command line is not valid.
    :raises SystemExit: when `--help` or `--version` was given; the text has been printed.
    """
    parser = root_parser()
    ordered = _in_order(list(arguments), parser)
    parsed, rest = parser.parse_known_args(ordered)
    if rest and parsed.command == "overview":  # what bare `trimpoint` shows has no name
        raise UsageError(f"trimpoint does not take {rest[0]!r}.", "See trimpoint help.")
    if rest:
        raise UsageError(
            f"trimpoint {parsed.command} does not take {rest[0]!r}.",
            f"See trimpoint {parsed.command} --help.",
        )
    return parsed


def _in_order(arguments: list[str], parser: argparse.ArgumentParser) -> list[str]:
    """Returns the command line with the command as its first word: `help X` becomes `X --help`, and
    options before the command are moved behind it.
    """
    if arguments[:1] == ["help"]:
        words = [word for word in arguments[1:] if not word.startswith("-")]
        return [*words, "--help"]
    if arguments[:1] and arguments[0] in {"-V", "-v", "--version"}:
        return ["version", *arguments[1:]]
    options: list[str] = []
    rest = list(arguments)
    while rest and rest[0].startswith("-") and rest[0] not in {"-h", "--help"}:
        options.append(rest.pop(0))
        if options[-1] in _WITH_VALUE and rest:
            options.append(rest.pop(0))
    if not rest:
        return ["overview", *options]
    command_words = 1
    if (
        rest[0] in _WITH_ACTIONS
        and len(rest) > 1
        and rest[1] in sub_parsers(sub_parsers(parser)[rest[0]])
    ):
        command_words += 1
    return [*rest[:command_words], *options, *rest[command_words:]]
