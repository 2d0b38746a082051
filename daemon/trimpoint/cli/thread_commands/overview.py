"""`trimpoint` without a command: shows the last threads of this folder and what to do next."""

import argparse
from functools import partial

from rich.text import Text

from trimpoint.cli.connection.client import Client
from trimpoint.cli.connection.connect import with_daemon
from trimpoint.cli.connection.known_threads import KnownThread, here, own_threads
from trimpoint.cli.exits import Exit, NoDaemon
from trimpoint.cli.terminal import print_json, stdout_console
from trimpoint.cli.views.threads_view import by_place, thread_groups

_SHOWN = 5


def run(arguments: argparse.Namespace) -> int:
    """Shows the overview; the exit code is 0 whether a daemon runs or not."""
    try:
        return with_daemon(arguments, partial(_show, arguments), starts=False)
    except NoDaemon:
        if arguments.json:
            raise
    _print(
        "No daemon runs. The first command that needs one starts it.",
        ("trimpoint ask TEXT", "continues this folder's last conversation, or begins one"),
        ("trimpoint threads", "lists the conversations of this folder"),
        ("trimpoint demo", "shows what trimpoint does, without an account"),
    )
    _print_help()
    return Exit.DONE


async def _show(arguments: argparse.Namespace, client: Client) -> int:
    place = here()
    threads = [thread for thread in await own_threads(client) if not thread.archived]
    mine = [thread for thread in threads if thread.is_at(place)]
    if arguments.json:
        print_json({"place": place, "threads": [thread.id for thread in mine]})
        return Exit.DONE
    if mine:
        console = stdout_console()
        console.print(Text(place, "bold", overflow="fold"))
        console.print(thread_groups(by_place(mine[:_SHOWN], place), console.width, headings=False))
        _print("", *_next(mine))
    else:
        _print(f"No thread works in {place} yet.", ("trimpoint ask TEXT", "begins one"))
    _print_help()
    return Exit.DONE


def _next(mine: list[KnownThread]) -> list[tuple[str, str]]:
    hints = [
        ("trimpoint ask TEXT", "continues the first of these"),
        ("trimpoint timeline", "shows what was said"),
    ]
    if len(mine) > _SHOWN:
        hints.append(("trimpoint threads", f"lists all {len(mine)}"))
    return hints


def _print(sentence: str, *hints: tuple[str, str]) -> None:
    console = stdout_console()
    if sentence:
        console.print(Text(sentence))
    width = max(len(command) for command, _ in hints)
    for command, does in hints:
        console.print(Text.assemble((f"  {command:<{width}}", "cyan"), (f"  {does}", "dim")))


def _print_help() -> None:
    stdout_console().print(Text("  trimpoint help lists all commands.", "dim"))
