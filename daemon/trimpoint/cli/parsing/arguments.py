"""What can be typed: one parser for all commands. Standard library only, so that `--help` is there at once."""

import argparse
import difflib
import re
from collections.abc import Sequence
from typing import NoReturn

from trimpoint import __version__
from trimpoint.cli.exits import UsageError
from trimpoint.cli.parsing import daemon_arguments as daemons
from trimpoint.cli.parsing import thread_arguments as threads

EPILOG = """\
exit codes:
  0  done
  1  failed or refused; what was there before is there still
  2  typed wrong; the message says what is right
  3  skipped: nothing had to change, or the thread is busy; nothing did change
  4  no daemon answers

--json prints one JSON document, or JSON lines where something is followed, and nothing else.
Without --thread a command takes the thread that was used last and is not archived, and says which.
Colour and progress appear on a terminal only; NO_COLOR is respected.
"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        unknown = re.search(r"argument (COMMAND|ACTION): invalid choice: '(.*?)' \(choose from (.*)\)", message)
        if unknown:
            _unknown_command(unknown[1].lower(), unknown[2], re.findall(r"[\w-]+", unknown[3]))
        sentence = re.sub(r"^argument (\S+): (?=takes )", r"\1 ", message)
        raise UsageError(f"{sentence[:1].upper()}{sentence[1:]}.", f"See {self.prog} --help.")


def _unknown_command(kind: str, name: str, known: list[str]) -> NoReturn:
    nearest = difflib.get_close_matches(name, known, n=1)
    guess = f"Did you mean {nearest[0]}? " if nearest else ""
    raise UsageError(f"There is no {kind} {name!r}.", f"{guess}There are: {', '.join(known)}.")


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Read a command line. `run` of the result names what carries it out, as `module:function`.

    :raises UsageError: it is not right.
    :raises SystemExit: `--help` or `--version` was asked for and has been printed.
    """
    parser = _Parser(
        prog="trimpoint",
        description="Talk to Codex through a daemon that can clear, compact and renew an agent's context.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"trimpoint {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, title="commands")
    for add in (
        daemons.add_ask,
        daemons.add_serve,
        daemons.add_stdio,
        daemons.add_status,
        daemons.add_metrics,
        threads.add_context,
        threads.add_clear,
        threads.add_compact,
        threads.add_compress,
        threads.add_revert,
        threads.add_new,
        threads.add_timeline,
        threads.add_checkpoints,
        threads.add_diff,
        threads.add_watch,
        threads.add_threads,
        threads.add_rename,
        threads.add_archive,
        threads.add_unarchive,
        threads.add_delete,
        threads.add_fork,
        threads.add_interrupt,
        daemons.add_probe,
        daemons.add_shutdown,
        threads.add_export,
        daemons.add_journal,
        daemons.add_service,
        daemons.add_doctor,
        daemons.add_schema,
        daemons.add_demo,
    ):
        add(commands)
    parsed, rest = parser.parse_known_args(arguments)
    if rest:
        raise UsageError(f"trimpoint {parsed.command} does not take {rest[0]!r}.", f"See trimpoint {parsed.command} --help.")
    return parsed
