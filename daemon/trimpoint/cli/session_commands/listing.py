"""`trimpoint sessions list`: lists the sessions of all agents on this machine."""

import argparse
import os
from functools import partial

import msgspec
from rich.text import Text
from trimpoint_protocol.shapes.agent_sessions import MAX_SESSIONS, SessionList, SessionOverview

from trimpoint.cli.connection.client import Client, ask
from trimpoint.cli.connection.connect import with_daemon
from trimpoint.cli.exits import Exit
from trimpoint.cli.terminal import print_json, stdout_console
from trimpoint.cli.views.sessions_view import sessions_table
from trimpoint.sessionlogs.catalogue import Query, listed
from trimpoint.sessionlogs.homes import cache_file, homes_in
from trimpoint.sessionlogs.overviews import Overviews


def run(arguments: argparse.Namespace) -> int:
    """Lists the sessions, the most recently changed one first."""
    cwd = os.path.realpath(arguments.cwd) if arguments.cwd is not None else None
    if arguments.agent == "trimpoint":
        return with_daemon(arguments, partial(_list_own, arguments, cwd))
    query = Query(arguments.agent, cwd, arguments.since, arguments.search)
    sessions = listed(homes_in(os.environ), Overviews(cache_file(os.environ)), query)
    return _show(arguments, sessions)


async def _list_own(arguments: argparse.Namespace, cwd: str | None, client: Client) -> int:
    since = arguments.since.isoformat() if arguments.since is not None else None
    found = await ask(
        client,
        SessionList,
        "sessions/list",
        agent="trimpoint",
        cwd=cwd,
        since=since,
        search=arguments.search,
        limit=MAX_SESSIONS,
    )
    return _show(arguments, found.sessions)


def _show(arguments: argparse.Namespace, sessions: list[SessionOverview]) -> int:
    shown = sessions[: arguments.limit]
    if arguments.json:
        print_json({"sessions": msgspec.to_builtins(shown), "total": len(sessions)})
        return Exit.DONE
    console = stdout_console()
    if not shown:
        console.print(Text("No session matches.", "dim"))
        return Exit.DONE
    console.print(sessions_table(shown, console.width))
    if len(sessions) > len(shown):
        more = f"… and {len(sessions) - len(shown)} more; see them with --limit {len(sessions)}"
        console.print(Text(more, "dim"))
    return Exit.DONE
