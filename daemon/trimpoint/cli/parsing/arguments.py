"""The parser of the command line. Imports only the standard library, so that `--help` is fast."""

import argparse
import difflib
import os
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
from trimpoint.cli.parsing.help_text import DESCRIPTION, located, short_help, whole_help
from trimpoint.cli.parsing.options import LOCATION_OPTIONS, HelpFormatter
from trimpoint.documents import file_of

GROUPS = (
    (
        "talk",
        (
            agent.add_chat,
            agent.add_ask,
            agent.add_tui,
            agent.add_open,
            agent.add_desktop,
            agent.add_trust,
            threads.add_interrupt,
            threads.add_watch,
        ),
    ),
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
    ("threads", (threads.add_threads,)),
    ("sessions of all agents", (sessions.add_sessions,)),
    ("many machines", (fleet.add_fleet,)),
    ("the daemon", (daemons.add_daemon, daemons.add_serve)),
    (
        "this installation",
        (machine.add_doctor, machine.add_config, machine.add_completion, machine.add_demo),
    ),
    ("for programs", (daemons.add_acp, agent.add_probe, daemons.add_stdio, machine.add_schema)),
)
# These take a value, wherever they stand.
_WITH_VALUE = frozenset(
    {"-t", "--thread", "--codex", "-c", *(option for option, _, _ in LOCATION_OPTIONS)}
)
# Commands that had no group once; they can still be typed as they were.
_GROUP_OF = {
    **dict.fromkeys(("rename", "fork", "archive", "unarchive", "delete"), "threads"),
    **dict.fromkeys(daemons.OF_DAEMON, "daemon"),
}
_OF_THREAD = frozenset({"-t", "--thread", "--last"})
# What a list or a search shows of a thread.
_ID = re.compile(r"(?=.*[0-9])[0-9a-f-]{8,36}(:h[0-9]+\.[0-9]+)?")
_HELP = frozenset({"-h", "--help"})


class _Parser(argparse.ArgumentParser):
    def _print_message(self, message: str, file: Any = None) -> None:
        # argparse would keep silent about a disk that is full.
        (file or sys.stderr).write(message)

    def format_help(self) -> str:
        return located(self, super().format_help())

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
        wrong = re.search(r", not '(\S+)'$", message)
        takes_thread = any(action.dest == "thread" for action in self._actions)
        naming = _naming(wrong[1]) if wrong is not None and takes_thread else ""
        hint = f"{naming}See {self.prog} --help."
        if missing := re.match(r"the following arguments are required: (.*)", message):
            sentence = f"{self.prog} needs {missing[1]}"
            if missing[1] == "ACTION":
                hint = f"There are: {', '.join(sub_parsers(self))}."
        elif sentence[:1].islower():
            sentence = f"{self.prog}: {sentence}"
        raise UsageError(f"{sentence}.", hint)


def _unknown_command(kind: str, name: str, known: list[str]) -> NoReturn:
    there_are = f"There are: {', '.join(known)}."
    if kind == "command":
        there_are = "trimpoint help all lists all commands."
        known += _GROUP_OF
    nearest = difflib.get_close_matches(name, known, n=1)
    guess = f"Did you mean {' '.join(_with_group(nearest))}? " if nearest else ""
    raise UsageError(f"There is no {kind} {name!r}.", f"{guess}{there_are}")


class RootParser(_Parser):
    """The parser of the whole command line. `groups` are its commands in the order of the help."""

    groups: list[tuple[str, list[str]]]

    def format_help(self) -> str:
        return short_help()

    def format_whole_help(self) -> str:
        """Returns the help with every command."""
        summaries = {action.dest: action.help or "" for action in _choices(self)}
        return whole_help(self.groups, summaries)


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
    :raises SystemExit: when help was asked for, or no command was given and no person is at a
        terminal; the text has been printed.
    """
    parser = root_parser()
    if arguments[:1] == ["help"]:
        if len(arguments) == 2 and _is_document(arguments[1], parser):
            return argparse.Namespace(
                command="help",
                run="trimpoint.cli.daemon_commands.document:run",
                document=arguments[1],
            )
        arguments = _help_asked(parser, arguments[1:])
    words, options, rest = in_order(arguments, parser)
    is_bare = not words and not rest
    if is_bare:
        words = ["threads" if {"-j", "--json"}.intersection(options) else "chat"]
    if words == ["tui"] and not _HELP.intersection(rest[:1]):
        ours = _options_in_front(rest, _OF_THREAD)
        options, rest = [*options, *rest[:ours]], ["--", *rest[ours:]]  # the rest is Codex's
    parsed, unknown = parser.parse_known_args([*words, *options, *rest])
    if unknown:
        command = "trimpoint" if is_bare else f"trimpoint {parsed.command}"
        hint = _naming(unknown[0]) if hasattr(parsed, "thread") else ""
        raise UsageError(f"{command} does not take {unknown[0]!r}.", f"{hint}See {command} --help.")
    _name_once(parsed)
    if is_bare and words == ["chat"] and not _is_at_terminal():
        sys.stdout.write(short_help())
        raise SystemExit(0)
    return parsed


def _naming(word: str) -> str:
    """Returns how the thread is named, where a word may be the id of one."""
    return f"A thread is named by -t {word}. " if _ID.fullmatch(word) else ""


def _name_once(parsed: argparse.Namespace) -> None:
    """Puts a thread that was typed as THREAD where `--thread` puts it.

    :raises UsageError: when both were typed.
    """
    named = getattr(parsed, "named", None)
    if named is not None and parsed.thread is not None:
        hint = f"See trimpoint {parsed.command} --help."
        raise UsageError("Name one thread: THREAD, or --thread THREAD.", hint)
    if named is not None:
        parsed.thread = named


def _help_asked(parser: RootParser, topic: Sequence[str]) -> list[str]:
    words = [word for word in topic if not word.startswith("-")]
    if words == ["all"]:
        sys.stdout.write(parser.format_whole_help())
        raise SystemExit(0)
    return [*words, "--help"]


def _is_document(topic: str, parser: RootParser) -> bool:
    """Returns whether `topic` is a page of the documents; a command of its name goes first."""
    return topic not in sub_parsers(parser) and file_of(topic) is not None


def _is_at_terminal() -> bool:
    return os.isatty(0) and os.isatty(1) and os.environ.get("TERM") != "dumb"


def in_order(
    arguments: Sequence[str], parser: argparse.ArgumentParser
) -> tuple[list[str], list[str], list[str]]:
    """Splits a command line into the words of the command, with its group where it was typed
    without, the options that stand before and among them, and the rest.
    """
    if arguments[:1] and arguments[0] in {"-V", "-v", "--version"}:
        return ["version"], [], [*arguments[1:]]
    words: list[str] = []
    options: list[str] = []
    rest = list(arguments)
    while rest and (inner := sub_parsers(parser)):
        count = _options_in_front(rest)
        options, rest = [*options, *rest[:count]], rest[count:]
        named = rest[:1] if words else _with_group(rest[:1])
        if not named or named[0] not in inner:
            break
        rest.pop(0)
        for word in named:
            parser = sub_parsers(parser)[word]
        words += named
    return words, options, rest


def _options_in_front(words: list[str], only: frozenset[str] | None = None) -> int:
    """Returns how many words in front are options and their values; those that ask for help are
    not counted.
    """
    count = 0
    while count < len(words):
        word = words[count]
        if not word.startswith("-") or word in _HELP or (only is not None and word not in only):
            break
        count += 2 if word in _WITH_VALUE else 1
    return min(count, len(words))


def _with_group(words: list[str]) -> list[str]:
    """Returns a command with the group that it stands below today."""
    group = _GROUP_OF.get("".join(words[:1]))
    return words if group is None else [group, *words]
