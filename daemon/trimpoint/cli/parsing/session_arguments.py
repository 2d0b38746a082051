"""Arguments of the commands for sessions of all agents."""

import argparse
import re
from datetime import UTC, datetime, timedelta

from trimpoint.cli.parsing.options import Commands, command, for_clients, positive

AGENTS = ("codex", "claude", "gemini", "trimpoint")
FORMATS = ("unified", "unified-json", "markdown", "html")
UNITS = {"m": 60, "h": 3600, "d": 86_400, "w": 604_800}
LIST = """\
The sessions of Claude Code, Gemini CLI and Codex are read where these programs keep them, and not
changed. All that Codex has of one trimpoint thread is one row; --agent codex lists each log.
"""
CONTINUE = """\
The new thread is Codex's and trimpoint's. It gets what the session's model would see next: text,
tool calls with their results, summaries. What cannot be carried over is named. The session stays as
it is.
"""
EXPORT = """\
unified is JSON lines, unified-json one JSON document: trimpoint help session-logs describes both.
html is one file that can be sent to somebody.
Messages that are no longer in the context are left out without --include-compacted.
"""


WHAT_IF = """\
Each session is sent again call by call: with no trim but the agent's own, with old output masked,
with compactions, and with both, each by the rules of the configuration. No model is asked, and only
numbers are printed; what they assume stands below them. A FOLDER that holds logs of agents has
these replayed.
"""


def add_sessions(commands: Commands) -> None:
    """Adds the command `sessions`."""
    parser = command(
        commands,
        "sessions",
        "session_commands.listing:run",
        "list, show, export and continue those of Codex, Claude Code and Gemini CLI",
        LIST,
    )
    _list_options(parser)
    actions = parser.add_subparsers(metavar="ACTION", title="actions")
    _list_options(_action(actions, "list", "listing", "list them, the last changed one first"))
    _add_show(actions)
    _add_export(actions)
    _add_continue(actions)
    _add_what_if(actions)


def _action(
    actions: Commands, name: str, module: str, summary: str, details: str = ""
) -> argparse.ArgumentParser:
    return command(actions, name, f"session_commands.{module}:run", summary, details)


def _list_options(parser: argparse.ArgumentParser) -> None:
    _agent_option(parser)
    parser.add_argument("--cwd", metavar="DIR", help="only those that worked in this folder")
    _since_option(parser)
    parser.add_argument("--search", metavar="WORDS", help="only those with all of these words")
    parser.add_argument(
        "-n", "--limit", metavar="N", type=positive, default=50, help="the newest N (default 50)"
    )
    for_clients(parser)


def _agent_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--agent", choices=AGENTS, help="only this agent's")


def _since_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--since",
        metavar="AGE",
        type=moment,
        help="only those of the last 7d, 12h … or since a date",
    )


def _add_show(actions: Commands) -> None:
    parser = _action(actions, "show", "show", "show a session's history with what was compacted")
    parser.add_argument("id", metavar="ID", type=session, help="a session's id, or the end of it")
    _agent_option(parser)
    parser.add_argument(
        "--expand",
        metavar="WHICH",
        action="append",
        default=[],
        help="show what was compacted: all, or the number of a divider",
    )
    parser.add_argument(
        "-n", "--limit", metavar="N", type=positive, default=200, help="the newest N entries"
    )
    for_clients(parser)


def _add_continue(actions: Commands) -> None:
    parser = _action(
        actions, "continue", "continuing", "begin a thread that holds a session's context", CONTINUE
    )
    parser.add_argument("id", metavar="ID", type=session, help="a session's id, or the end of it")
    _agent_option(parser)
    parser.add_argument(
        "--cwd",
        metavar="DIR",
        help="where the agent may work (default: this folder, if the session worked here)",
    )
    how = parser.add_mutually_exclusive_group()
    how.add_argument(
        "--last", metavar="N", type=positive, help="only the last N turns, without a summary"
    )
    how.add_argument("--compact", action="store_true", help="and compact the thread at once")
    for_clients(parser)


def _add_export(actions: Commands) -> None:
    parser = _action(
        actions, "export", "export", "write sessions as JSON lines, Markdown or HTML", EXPORT
    )
    parser.add_argument(
        "ids", metavar="ID", nargs="+", type=session, help="a session's id, or the end of it"
    )
    _agent_option(parser)
    parser.add_argument("--format", choices=FORMATS, default="unified", help="default: unified")
    parser.add_argument(
        "--include-compacted",
        action="store_true",
        help="with the messages that were replaced by a summary or taken back",
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="a new file (default: stdout)")
    for_clients(parser)


def _add_what_if(actions: Commands) -> None:
    parser = command(
        actions,
        "what-if",
        "session_commands.what_if:run",
        "replay them: what masks and compactions would have saved",
        WHAT_IF,
    )
    parser.add_argument(
        "folders", metavar="FOLDER", nargs="*", help="only sessions that worked in these folders"
    )
    _agent_option(parser)
    _since_option(parser)
    parser.add_argument("--svg", metavar="FILE", help="draw the prices into a new file")
    for_clients(parser)


def session(text: str) -> str:
    """Parses the id of a session; an entry, as a search shows it, names the session that has it."""
    return re.sub(r"(?<=[0-9a-f]):h[0-9]+\.[0-9]+$", "", text)


def moment(text: str) -> datetime:
    """Parses a point in time: an age such as `7d`, or a date."""
    age = re.fullmatch(r"([0-9]{1,5})([mhdw])", text)
    if age:
        return datetime.now(UTC) - timedelta(seconds=int(age[1]) * UNITS[age[2]])
    try:
        return datetime.fromisoformat(text).astimezone()
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"takes an age such as 7d, 12h or 30m, or a date such as 2026-01-31, not {text!r}"
        ) from None
