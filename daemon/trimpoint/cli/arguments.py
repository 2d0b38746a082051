"""What can be typed: one parser for all commands. Standard library only, so that `--help` is there at once."""

import argparse
import difflib
import re
from collections.abc import Sequence
from typing import Any, NoReturn

from trimpoint import __version__
from trimpoint.cli.exits import UsageError

MAX_TURNS = 1_000_000
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
APP_SERVER = """\
A client that is told that its codex binary is trimpoint starts it as
  trimpoint [-c KEY=VALUE …] app-server [--listen stdio://] [-c KEY=VALUE …]
which is the same thing, every -c and --config being an override for Codex.
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
        _serve,
        _stdio,
        _status,
        _metrics,
        _context,
        _clear,
        _compact,
        _compress,
        _revert,
        _new,
        _timeline,
        _checkpoints,
        _diff,
        _watch,
        _probe,
        _shutdown,
        _export,
        _journal,
        _service,
        _doctor,
        _schema,
        _demo,
    ):
        add(commands)
    parsed, rest = parser.parse_known_args(arguments)
    if rest:
        raise UsageError(f"trimpoint {parsed.command} does not take {rest[0]!r}.", f"See trimpoint {parsed.command} --help.")
    return parsed


Commands = Any  # argparse names the type of a set of sub-commands with a leading underscore


def _command(commands: Commands, name: str, run: str, summary: str, details: str = "") -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=summary,
        description=f"{summary[:1].upper()}{summary[1:]}.",
        epilog=details or None,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(run=f"trimpoint.cli.{run}", command=name)
    return parser


def _whereabouts(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--socket", metavar="PATH", help="the daemon's Unix socket")
    parser.add_argument("--state-dir", metavar="DIR", help="where the daemon keeps its journals")
    parser.add_argument("--config", metavar="FILE", help="configuration file (TOML)")


def _json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON, for scripts")


def _for_clients(parser: argparse.ArgumentParser, *, thread: bool = False) -> None:
    if thread:
        parser.add_argument("--thread", metavar="ID", help="which thread: its id, the end of it, or its name")
    _json(parser)
    _whereabouts(parser)


def _for_daemons(parser: argparse.ArgumentParser) -> None:
    _whereabouts(parser)
    parser.add_argument("--codex", metavar="PATH", help="the Codex binary to run")
    parser.add_argument(
        "-c", dest="overrides", metavar="KEY=VALUE", action="append", default=[], type=override, help="an override for Codex"
    )


def _serve(commands: Commands) -> None:
    parser = _command(commands, "serve", "serve:run", "run the daemon in the foreground")
    _json(parser)
    _for_daemons(parser)


def _stdio(commands: Commands) -> None:
    parser = _command(commands, "stdio", "stdio:run", "serve the client at stdin and stdout", APP_SERVER)
    _for_daemons(parser)


def _status(commands: Commands) -> None:
    parser = _command(commands, "status", "status:run", "show the daemon, its Codex and its threads")
    parser.add_argument("--all", action="store_true", help="list archived threads too")
    _for_clients(parser)


def _metrics(commands: Commands) -> None:
    parser = _command(commands, "metrics", "metrics:run", "show what the daemon counts about itself")
    parser.add_argument("--prometheus", action="store_true", help="print the text that Prometheus reads")
    _for_clients(parser)


def _context(commands: Commands) -> None:
    parser = _command(commands, "context", "context:run", "show how full a thread's context is")
    parser.add_argument("thread", metavar="THREAD", nargs="?", help="which thread: its id, the end of it, or its name")
    _for_clients(parser)


def _clear(commands: Commands) -> None:
    parser = _command(commands, "clear", "slash:run_clear", "clear the agent's context, keeping the last N turns")
    parser.add_argument("keep", metavar="N", nargs="?", type=turn_count, help="turns to keep; none without it")
    _for_clients(parser, thread=True)


def _compact(commands: Commands) -> None:
    parser = _command(commands, "compact", "slash:run_compact", "summarize the conversation and go on with the summary")
    parser.add_argument("--keep", metavar="N", type=turn_count, help="keep the last N turns word for word")
    parser.add_argument("--force", action="store_true", help="compact a short conversation too")
    _for_clients(parser, thread=True)
    parser.add_argument("guidance", nargs="*", help="what matters, for the summarizer")


def _compress(commands: Commands) -> None:
    parser = _command(commands, "compress", "slash:run_compress", "take what is no longer needed out of the agent's context")
    parser.add_argument("target", metavar="TOKENS", nargs="?", help="get down to about this many, such as 50000 or 50k")
    parser.add_argument("--dry-run", action="store_true", help="only show what would go")
    _for_clients(parser, thread=True)


def _revert(commands: Commands) -> None:
    parser = _command(
        commands,
        "revert",
        "slash:run_revert",
        "take files and context back to where they were after a turn",
        "A turn is its number in the conversation, counted from 1, pruned ones too (see trimpoint checkpoints); 0 is before the first. "
        "Without one, the last turn is taken back.",
    )
    parser.add_argument("turn", metavar="TURN", nargs="?", help="number or id of the turn to go back to")
    parser.add_argument("--undo", action="store_true", help="take back the last revert")
    parser.add_argument("--context", action="store_true", help="leave files alone")
    parser.add_argument("--force", action="store_true", help="overwrite what somebody else has changed meanwhile")
    _for_clients(parser, thread=True)


def _export(commands: Commands) -> None:
    parser = _command(commands, "export", "export:run", "write a thread as a document, with its trim points and summaries")
    parser.add_argument("--format", choices=("markdown", "json"), default="markdown", help="default: markdown")
    parser.add_argument("--pruned", action="store_true", help="with what is no longer in the agent's context")
    parser.add_argument("--out", metavar="FILE", help="a new file to write to (default: stdout)")
    _for_clients(parser, thread=True)


def _journal(commands: Commands) -> None:
    parser = commands.add_parser(
        "journal", help="look at the journals on disk, check, repair and export them", allow_abbrev=False
    )
    actions = parser.add_subparsers(metavar="ACTION", required=True, title="actions")
    _offline(actions, "inspect", "show the journals, or all about one")
    _offline(actions, "verify", "read everything and say what is wrong; exit code 1 if anything is")
    repair = _offline(actions, "repair", "cut off torn ends; no daemon may run, and nothing is deleted", REPAIR)
    repair.add_argument("--salvage", action="store_true", help="write damaged journals anew with all that can still be read")
    expire = _offline(actions, "expire", "put away what the rule in [retention] names; no daemon may run", EXPIRE)
    expire.add_argument("--dry-run", action="store_true", help="only show what would go")
    export = _offline(actions, "export", "write events as JSON lines, of all threads or one")
    export.add_argument(
        "--private", action="store_true", help="with what no client is shown: Codex's own ids, raw items, settings"
    )


def _offline(actions: Commands, name: str, summary: str, details: str = "") -> argparse.ArgumentParser:
    parser = _command(actions, name, f"journal:run_{name}", summary, details)
    parser.add_argument("--thread", metavar="ID", help="which thread: its id, or the beginning or end of it (default: all)")
    _json(parser)
    parser.add_argument("--state-dir", metavar="DIR", help="where the journals are")
    parser.add_argument("--config", metavar="FILE", help="configuration file (TOML)")
    parser.set_defaults(command=f"journal {name}", socket=None)
    return parser


EXPIRE = """\
Threads that were archived more than retention.archived_after_days ago go to the folder
expired/ of the state directory, or for good if retention.delete says so. In doubt they stay.
exit code 3: the rule is off, or names nothing
"""
REPAIR = """\
exit codes:
  0  repaired
  1  something is left as it was, for the reason given
  3  there was nothing to repair
"""


def _new(commands: Commands) -> None:
    parser = _command(commands, "new", "slash:run_new", "archive the thread and start an empty one on the same files")
    _for_clients(parser, thread=True)


def _timeline(commands: Commands) -> None:
    parser = _command(commands, "timeline", "timeline:run", "show a thread's history with its trim points")
    parser.add_argument(
        "--expand",
        metavar="WHICH",
        action="append",
        default=[],
        help="show what was pruned: all, the number of a divider, or a trim point's id",
    )
    parser.add_argument("--limit", metavar="N", type=positive, default=200, help="the newest N entries (default 200)")
    _for_clients(parser, thread=True)


def _checkpoints(commands: Commands) -> None:
    parser = _command(
        commands, "checkpoints", "checkpoints:run", "list the states of the files that can be had back", CHECKPOINTS
    )
    parser.add_argument("--limit", metavar="N", type=positive, default=50, help="the newest N turns (default 50)")
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--storage", action="store_true", help="show whose checkpoints there are, and what they keep on disk")
    action.add_argument(
        "--prune", action="store_true", help="let go of those of threads that are gone; only shows them without --yes"
    )
    parser.add_argument("--yes", action="store_true", help="with --prune: do it")
    parser.add_argument(
        "--repository", metavar="DIR", help="with --storage and --prune: this one only, even if no thread works in it"
    )
    _for_clients(parser, thread=True)


CHECKPOINTS = """\
A turn's number counts from 1, pruned turns too. trimpoint diff N shows what turn N changed.
"""


def _diff(commands: Commands) -> None:
    parser = _command(commands, "diff", "diff:run", "show what changed in the files between two moments", DIFF)
    parser.add_argument(
        "moments", metavar="MOMENT", nargs="*", help="one: what that turn changed; two: from the end of one to the other"
    )
    parser.add_argument(
        "--path", metavar="PATH", action="append", default=[], help="only this file or folder, named from the root"
    )
    parser.add_argument("--stat", action="store_true", help="only which files, and how many lines")
    parser.add_argument(
        "--max-bytes", metavar="N", type=positive, default=1024 * 1024, help="cut the diff after N bytes (default 1 MiB)"
    )
    _for_clients(parser, thread=True)


DIFF = """\
moments:
  3         turn 3, its end (0: before the first); its id will do, too
  now       the files as they are
  safety    before the last revert
  COMMIT    a checkpoint, as trimpoint checkpoints shows it
examples:
  trimpoint diff            what the last turn changed
  trimpoint diff 3          what turn 3 changed
  trimpoint diff 3 now      everything since
  trimpoint diff now        what was changed since the last turn ended
"""


def _watch(commands: Commands) -> None:
    parser = _command(commands, "watch", "watch:run", "follow a thread live, until Ctrl-C")
    _for_clients(parser, thread=True)


def _probe(commands: Commands) -> None:
    parser = _command(commands, "probe", "probe:run", "send any method by hand, or run a prompt", PROBE)
    parser.add_argument("method", metavar="METHOD", nargs="?", help="any app-server method, or one of trimpoint's own")
    parser.add_argument("params", metavar="PARAMS", nargs="?", help="its parameters, a JSON object; - reads them from stdin")
    parser.add_argument("--follow", metavar="SECONDS", type=seconds, help="print notifications for so long")
    parser.add_argument("--until", metavar="METHOD", help="print notifications until this one")
    parser.add_argument("--prompt", metavar="TEXT", help="run a turn and stream the answer; the agent's questions are put to you")
    parser.add_argument("--cwd", metavar="DIR", help="with --prompt: where a new thread works (default: here)")
    _for_clients(parser, thread=True)


PROBE = """\
examples:
  trimpoint probe thread/list
  trimpoint probe timeline/read '{"threadId": "…"}'
  trimpoint probe turn/start '{"threadId": "…", "input": [{"type": "text", "text": "hi"}]}' --until turn/completed
  trimpoint probe --prompt "What does this project do?"
  trimpoint probe --prompt "And how is it tested?" --thread LAST-DIGITS-OF-ID
"""


def _shutdown(commands: Commands) -> None:
    parser = _command(commands, "shutdown", "shutdown:run", "stop the daemon and its Codex")
    _for_clients(parser)


def _service(commands: Commands) -> None:
    parser = _command(commands, "service", "service:run_status", "run the daemon as a systemd service of yours")
    actions = parser.add_subparsers(metavar="ACTION", required=True, title="actions")
    for action, summary, changes in (
        ("install", "write the units and have systemd listen; the first client starts the daemon", True),
        ("uninstall", "stop the service and remove its units; journals stay", True),
        ("status", "show what systemd knows of it", False),
    ):
        sub = _command(actions, action, f"service:run_{action}", summary)
        sub.set_defaults(command=f"service {action}")
        if changes:
            sub.add_argument("--dry-run", action="store_true", help="print what would be done, and do nothing")
        _json(sub)
        _for_daemons(sub)
    logs = _command(actions, "logs", "service:run_logs", "show its log")
    logs.add_argument("--follow", "-f", action="store_true", help="go on showing it, until Ctrl-C")
    logs.add_argument("--lines", "-n", metavar="N", type=positive, default=100, help="the newest N lines (default 100)")


def _doctor(commands: Commands) -> None:
    parser = _command(commands, "doctor", "doctor:run", "say what is found on this machine, what is wrong and what to do")
    _json(parser)
    _for_daemons(parser)


def _schema(commands: Commands) -> None:
    parser = _command(commands, "schema", "schema:run", "write what trimpoint adds to the protocol as JSON Schema")
    parser.add_argument("--out", metavar="DIR", required=True, help="the folder to write to; made if need be")
    _json(parser)


def _demo(commands: Commands) -> None:
    parser = _command(commands, "demo", "demo:run", "see /clear, /compact and /new at work, in a minute and without an account")
    parser.add_argument("--plain", action="store_true", help="no colour and no animation")
    parser.add_argument("--codex", metavar="PATH", help="the Codex binary to run")
    _json(parser)


def turn_count(text: str) -> int:
    """A number of turns to keep."""
    return _whole(text, 0, MAX_TURNS, "the number of turns to keep")


def positive(text: str) -> int:
    """A number of entries."""
    return _whole(text, 1, MAX_TURNS, "a number")


def seconds(text: str) -> float:
    """A length of time."""
    if not re.fullmatch(r"\d{1,6}(\.\d{1,6})?", text):
        raise argparse.ArgumentTypeError(f"takes a number of seconds, not {text!r}")
    return float(text)


def override(text: str) -> str:
    """`key=value`, as Codex takes it."""
    key, equals, _ = text.partition("=")
    if not equals or not key.strip():
        raise argparse.ArgumentTypeError(f'takes KEY=VALUE, for example model="gpt-5", not {text!r}')
    return text


def _whole(text: str, least: int, most: int, what: str) -> int:
    if not re.fullmatch(r"[0-9]{1,7}", text) or not least <= int(text) <= most:
        raise argparse.ArgumentTypeError(f"takes {what}, {least} to {most:,}, not {text!r}")
    return int(text)
