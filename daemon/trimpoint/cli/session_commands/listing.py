"""`trimpoint sessions list`: the sessions of all agents on this machine."""

import argparse
import os

import msgspec
from rich.text import Text

from trimpoint.cli.exits import Exit
from trimpoint.cli.terminal import print_json, stdout_console
from trimpoint.cli.views.sessions_view import sessions_table
from trimpoint.sessionlogs.catalogue import Query, listed
from trimpoint.sessionlogs.homes import cache_file, homes_in
from trimpoint.sessionlogs.overviews import Overviews


def run(arguments: argparse.Namespace) -> int:
    """Lists them, the last changed one first."""
    cwd = os.path.realpath(arguments.cwd) if arguments.cwd is not None else None
    query = Query(arguments.agent, cwd, arguments.since, arguments.search)
    sessions = listed(homes_in(os.environ), Overviews(cache_file(os.environ)), query)
    shown = sessions[: arguments.limit]
    if arguments.json:
        print_json({"sessions": msgspec.to_builtins(shown), "total": len(sessions)})
        return Exit.DONE
    console = stdout_console()
    if not shown:
        console.print(Text("No session is known here that matches.", "dim"))
        return Exit.DONE
    console.print(sessions_table(shown, console.width))
    if len(sessions) > len(shown):
        more = f"… and {len(sessions) - len(shown)} more; see them with --limit {len(sessions)}"
        console.print(Text(more, "dim"))
    return Exit.DONE
