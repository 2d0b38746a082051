"""`trimpoint open`: opens the web page in the browser of this machine, or prints its address."""

import argparse
import os
from functools import partial
from pathlib import Path
from urllib.parse import quote

from rich.text import Text
from trimpoint_protocol.methods import LoginUrl

from trimpoint.cli.connection.browser import show_page
from trimpoint.cli.connection.client import Client, ask
from trimpoint.cli.connection.connect import with_daemon
from trimpoint.cli.connection.settings import settings_of
from trimpoint.cli.exits import Exit
from trimpoint.cli.terminal import print_json, stderr_console
from trimpoint.cli.thread_commands.thread_choice import chosen_thread
from trimpoint.codex.appserver.launch_requests import is_same_path
from trimpoint.http.static_files import default_folder, missing_page


def run(arguments: argparse.Namespace) -> int:
    """Opens the page; starts a daemon first if none runs.

    :raises CliError: when the daemon could not be started, or cannot serve the page.
    """
    return with_daemon(arguments, partial(_open, arguments))


async def _open(arguments: argparse.Namespace, client: Client) -> int:
    # A page gets a home of its own only where one is named: the daemon's configuration may have
    # another for clients that name none.
    named = os.environ.get("CODEX_HOME")
    login = await ask(client, LoginUrl, "sidecar/loginUrl", listen=True, ownHome=bool(named))
    if named and login.codex_home and not is_same_path(named, login.codex_home):
        stderr_console().print(_other_home(login.codex_home))
    url = login.url
    if arguments.thread or arguments.last:
        # The page that logs in goes on to what stands behind the code.
        url = f"{url}/thread/{(await chosen_thread(client, arguments)).id}"
    elif not arguments.json:
        # New threads begin in the folder where the command was typed.
        url = f"{url}/in/{quote(str(Path.cwd()))}"
    if missing := missing_page(default_folder()):
        stderr_console().print(Text(f"! {missing}", "yellow"))
    if arguments.json:
        print_json({"url": url})
    else:
        folder = settings_of(arguments).state_dir
        show_page(url, folder, only_print=arguments.print)
    return Exit.DONE


def _other_home(home: str) -> Text:
    return Text(
        f"! The page uses the Codex home {home}, that of the daemon, which was started with "
        "`trimpoint serve`, not your CODEX_HOME. Set home in [codex] of the configuration, or "
        "start the daemon with your CODEX_HOME.",
        "yellow",
    )
