"""Helpers to declare commands, options that several commands share, and parsers for the values of
options.
"""

import argparse
import re
import shutil
import textwrap
from collections.abc import Sequence
from typing import Any

MAX_TURNS = 1_000_000
NAMED = "the same as --thread THREAD"
LOCATION_OPTIONS = (
    ("--socket", "PATH", "the daemon's Unix socket"),
    ("--state-dir", "DIR", "where the daemon keeps its journals"),
    ("--config", "FILE", "the configuration file (TOML)"),
)
"""They are explained once, in `trimpoint help all`, and not in the help of each command."""


def wrapped(line: str, indent: int = 0) -> str:
    """Returns a line of help, wrapped between words to the width of the terminal.

    :param indent: the indentation of further lines, if the line is itself indented.
    """
    columns = shutil.get_terminal_size().columns
    if len(line) <= columns or not line.strip():
        return line
    is_list = line.startswith(" ")
    filled = textwrap.fill(
        line.rstrip(),
        columns,
        subsequent_indent=" " * (indent if is_list else 0),
        break_on_hyphens=False,
        break_long_words=False,
    )
    return f"{filled}\n"


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Keeps the lists of descriptions, and wraps their paragraphs to the width of the terminal."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        lines = _joined(super()._fill_text(text, width, indent).splitlines())
        return "".join(wrapped(f"{line}\n", len(line) - len(line.lstrip()) + 2) for line in lines)


def _joined(lines: Sequence[str]) -> list[str]:
    """Returns the lines with those of a paragraph as one; indented lines and headings stay."""
    joined: list[str] = []
    for line in lines:
        before = joined[-1] if joined else ""
        if _is_prose(before) and _is_prose(line):
            joined[-1] = f"{before} {line}"
        else:
            joined.append(line)
    return joined


def _is_prose(line: str) -> bool:
    return bool(line) and not line.startswith(" ") and not line.endswith(":")


Commands = Any  # argparse names the type of a set of sub-commands with a leading underscore


def command(
    commands: Commands, name: str, run: str, summary: str, details: str = ""
) -> argparse.ArgumentParser:
    """Adds a sub-command.

    :param run: the function that carries it out, as `package.module:function` below
        `trimpoint.cli`, or below `trimpoint` if it begins with `trimpoint.`.
    """
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=summary,
        description=f"{summary[:1].upper()}{summary[1:]}.",
        epilog=details or None,
        formatter_class=HelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(
        run=run if run.startswith("trimpoint.") else f"trimpoint.cli.{run}",
        command=parser.prog.removeprefix("trimpoint "),
    )
    return parser


def add_location_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options that tell where the daemon is. The help of a command only names them."""
    for option, value, _ in LOCATION_OPTIONS:
        parser.add_argument(option, metavar=value, help=argparse.SUPPRESS)


def takes_location(parser: argparse.ArgumentParser) -> bool:
    """Returns whether a command has the options of `add_location_options`."""
    return any(action.dest == "socket" for action in parser._actions)


def json_option(parser: argparse.ArgumentParser) -> None:
    """Adds the option `--json`."""
    parser.add_argument("-j", "--json", action="store_true", help="print JSON, for scripts")


def dry_run(parser: argparse.ArgumentParser) -> None:
    """Adds the option `--dry-run`."""
    parser.add_argument("-n", "--dry-run", action="store_true", help="only say what would be done")


def log_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of commands that show a log."""
    parser.add_argument(
        "-f", "--follow", action="store_true", help="keep showing new lines, until Ctrl-C"
    )
    parser.add_argument(
        "-n",
        "--lines",
        metavar="N",
        type=positive,
        default=100,
        help="the newest N lines (default 100)",
    )


def for_clients(parser: argparse.ArgumentParser, *, thread: bool = False) -> None:
    """Adds the options of commands that connect to a daemon.

    :param thread: whether the command acts on a thread.
    """
    if thread:
        thread_options(parser)
    json_option(parser)
    add_location_options(parser)


def thread_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options that choose a thread."""
    parser.add_argument(
        "-t",
        "--thread",
        metavar="THREAD",
        help="which thread: its id or the end of it, its name, or its first words",
    )
    parser.add_argument(
        "--last", action="store_true", help="the thread that was used last, wherever it works"
    )


def for_one_thread(parser: argparse.ArgumentParser) -> None:
    """Adds the options of a command that acts on one thread and takes no other argument."""
    parser.add_argument("named", metavar="THREAD", nargs="?", help=NAMED)
    for_clients(parser, thread=True)


def for_daemons(parser: argparse.ArgumentParser) -> None:
    """Adds the options of commands that run a daemon or may start one."""
    add_location_options(parser)
    parser.add_argument("--codex", metavar="PATH", help="the Codex binary to run")
    parser.add_argument(
        "-c",
        dest="overrides",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        type=override,
        help="an override for Codex",
    )


def as_codex_daemon(parser: argparse.ArgumentParser) -> None:
    """Adds the option to serve Codex's own programs."""
    parser.add_argument(
        "--as-codex-daemon",
        action="store_true",
        help="serve plain `codex` too: listen where it looks for its background server",
    )


def turn_count(text: str) -> int:
    """Parses the number of turns to keep, from 0."""
    return _whole(text, 0, MAX_TURNS, "the number of turns to keep")


def positive(text: str) -> int:
    """Parses a number from 1."""
    return _whole(text, 1, MAX_TURNS, "a number")


def hit_count(text: str) -> int:
    """Parses the number of results to show, 1 to 100."""
    return _whole(text, 1, 100, "a number")


def around(text: str) -> int:
    """Parses the number of entries to show before and after a result, 0 to 50."""
    return _whole(text, 0, 50, "a number of entries")


def seconds(text: str) -> float:
    """Parses a duration in seconds."""
    if not re.fullmatch(r"\d{1,6}(\.\d{1,6})?", text):
        raise argparse.ArgumentTypeError(f"takes a number of seconds, not {text!r}")
    return float(text)


def override(text: str) -> str:
    """Parses an override of Codex's configuration, `key=value`."""
    key, equals, _ = text.partition("=")
    if not equals or not key.strip():
        raise argparse.ArgumentTypeError(
            f'takes KEY=VALUE, for example model="gpt-5", not {text!r}'
        )
    return text


def _whole(text: str, least: int, most: int, what: str) -> int:
    if not re.fullmatch(r"[0-9]{1,7}", text) or not least <= int(text) <= most:
        raise argparse.ArgumentTypeError(f"takes {what}, {least} to {most:,}, not {text!r}")
    return int(text)
