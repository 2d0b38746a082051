"""`trimpoint sessions list`: lists the sessions of all agents on this machine."""

import argparse
import os
from functools import partial

import msgspec
from rich.text import Text
from trimpoint_protocol.shapes.agent_sessions import MAX_SESSIONS, SessionList, SessionOverview

from trimpoint.cli.connection.client import Client, ask
from trimpoint.cli.connection.connect import with_daemon
from trimpoint.cli.exits import CliError, Exit
from trimpoint.cli.session_commands.own_threads import summaries_on_disk
from trimpoint.cli.terminal import print_json, stdout_console
from trimpoint.cli.views.sessions_view import sessions_table
from trimpoint.gateway.methods.agent_sessions.own_sessions import conversations
from trimpoint.sessionlogs.catalogue import Query, is_wanted, listed, newest_first
from trimpoint.sessionlogs.homes import cache_file, homes_in, homes_to_send
from trimpoint.sessionlogs.overviews import Overviews


def run(arguments: argparse.Namespace) -> int:
    """Lists the sessions, the most recently changed one first."""
    cwd = os.path.realpath(arguments.cwd) if arguments.cwd is not None else None
    if arguments.agent == "trimpoint":
        return with_daemon(arguments, partial(_list_own, arguments, cwd))
    query = Query(arguments.agent, cwd, arguments.since, arguments.search)
    if arguments.agent is None and (found := _of_daemon(arguments, cwd)) is not None:
        return _show(arguments, found)
    sessions = listed(homes_in(os.environ), Overviews(cache_file(os.environ)), query)
    if arguments.agent is None:
        everything = conversations(sessions, summaries_on_disk(arguments))
        sessions = newest_first([one for one in everything if is_wanted(one, query)])
    return _show(arguments, sessions)


def _of_daemon(arguments: argparse.Namespace, cwd: str | None) -> list[SessionOverview] | None:
    """Returns what the running daemon lists; None if none runs, or it does not answer this."""
    found: list[SessionOverview] = []

    async def ask_all(client: Client) -> int:
        found.extend(await _listed_by(client, arguments, cwd))
        return Exit.DONE

    try:
        with_daemon(arguments, ask_all, starts=False)
    except CliError:  # no daemon, or a socket that cannot be used: the logs are there all the same
        return None
    return found


async def _list_own(arguments: argparse.Namespace, cwd: str | None, client: Client) -> int:
    return _show(arguments, await _listed_by(client, arguments, cwd))


async def _listed_by(
    client: Client, arguments: argparse.Namespace, cwd: str | None
) -> list[SessionOverview]:
    query = {
        "agent": arguments.agent,
        "cwd": cwd,
        "since": arguments.since.isoformat() if arguments.since is not None else None,
        "search": arguments.search,
        "limit": MAX_SESSIONS,
        **homes_to_send(os.environ),
    }
    found: list[SessionOverview] = []
    cursor: str | None = None
    while True:
        page = await ask(client, SessionList, "sessions/list", **query, cursor=cursor)
        found += page.sessions
        if (cursor := page.next_cursor) is None:
            return found


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
