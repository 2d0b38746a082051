"""`trimpoint tui`: runs Codex's own terminal UI on the daemon, in this folder."""

import argparse
import os
from functools import partial
from pathlib import Path
from typing import NoReturn

from trimpoint.cli.connection.client import Client, connect
from trimpoint.cli.connection.connect import with_daemon
from trimpoint.cli.connection.known_threads import current_folder
from trimpoint.cli.connection.settings import codex_binary, settings_of
from trimpoint.cli.connection.sockets import daemon_at
from trimpoint.cli.exits import CliError, Exit, NoDaemon
from trimpoint.cli.thread_commands.thread_choice import chosen_thread
from trimpoint.codex.appserver.launch_requests import is_same_path


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
    await _check_home(socket)
    words: list[str] = arguments.words
    if arguments.thread or arguments.last:
        words = ["resume", (await chosen_thread(client, arguments)).id, *words]
    found += command_line(socket, current_folder(), words)
    return Exit.DONE


async def _check_home(socket: Path) -> None:
    """Makes sure that the daemon's home is the person's: Codex's UI cannot name one to the daemon,
    as other clients do.

    :raises CliError: when the person names another home than the daemon's.
    """
    named = os.environ.get("CODEX_HOME")
    if not named:
        return
    async with connect(socket) as nameless:
        await nameless.initialize("trimpoint-tui")
    if not is_same_path(named, nameless.codex_home):
        raise CliError(
            f"Codex's terminal UI would use the daemon's Codex home {nameless.codex_home}, and not "
            f"your CODEX_HOME {named}.",
            "Set home in [codex] of the configuration, or end the daemon with `trimpoint "
            "shutdown` and start it with `trimpoint serve` in this shell. `trimpoint chat` uses "
            "your CODEX_HOME as it is.",
            reason="other_home",
        )


def command_line(socket: Path, folder: str, words: list[str]) -> list[str]:
    """Returns the arguments for Codex. Without a folder it would work in the daemon's."""
    return ["--remote", f"unix://{socket}", "-C", folder, *words]
