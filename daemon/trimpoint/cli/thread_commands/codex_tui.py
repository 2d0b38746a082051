"""`trimpoint tui`: runs Codex's own terminal UI on the daemon, in this folder."""

import argparse
import os
from functools import partial
from pathlib import Path
from typing import NoReturn

from trimpoint.cli.connection.client import Client
from trimpoint.cli.connection.connect import with_daemon
from trimpoint.cli.connection.known_threads import current_folder
from trimpoint.cli.connection.settings import codex_binary, settings_of
from trimpoint.cli.connection.sockets import daemon_at
from trimpoint.cli.exits import Exit, NoDaemon
from trimpoint.cli.thread_commands.thread_choice import chosen_thread


def run(arguments: argparse.Namespace) -> NoReturn:
    """Replaces this process by Codex's terminal UI; starts a daemon first if none runs.

    :raises CliError: when the daemon could not be started, or there is no such thread.
    """
    found: list[str] = []
    with_daemon(arguments, partial(_find, arguments, found))
    codex = codex_binary(argparse.Namespace(config=arguments.config, codex=None))
    os.execv(codex, ["codex", *found])


async def _find(arguments: argparse.Namespace, found: list[str], client: Client) -> int:
    socket = await daemon_at(settings_of(arguments))
    if socket is None:
        raise NoDaemon("The daemon has just ended.", "Run the command again.")
    words: list[str] = arguments.words
    if arguments.thread or arguments.last:
        words = ["resume", (await chosen_thread(client, arguments)).id, *words]
    found += command_line(socket, current_folder(), words)
    return Exit.DONE


def command_line(socket: Path, folder: str, words: list[str]) -> list[str]:
    """Returns the arguments for Codex. Without a folder it would work in the daemon's."""
    return ["--remote", f"unix://{socket}", "-C", folder, *words]
