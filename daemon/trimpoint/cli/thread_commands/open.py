"""`trimpoint open`: the web UI, in the browser of this machine or at a printed address."""

import argparse
from functools import partial

from trimpoint_protocol.methods import LoginUrl

from trimpoint.cli.connection.browser import show_page
from trimpoint.cli.connection.client import Client
from trimpoint.cli.connection.connect import ask, with_daemon
from trimpoint.cli.exits import Exit
from trimpoint.cli.terminal import print_json
from trimpoint.cli.thread_commands.thread_choice import chosen_thread


def run(arguments: argparse.Namespace) -> int:
    """Open the page, starting a daemon first if none runs.

    :raises CliError: the daemon could not start, or cannot serve the page.
    """
    return with_daemon(arguments, partial(_open, arguments))


async def _open(arguments: argparse.Namespace, client: Client) -> int:
    url = (await ask(client, LoginUrl, "sidecar/loginUrl", listen=True)).url
    if arguments.thread or arguments.last:
        # A browser keeps the part after # when it is sent on from the login to the page.
        url = f"{url}#/thread/{(await chosen_thread(client, arguments)).id}"
    if arguments.json:
        print_json({"url": url})
    else:
        show_page(url, only_print=arguments.print)
    return Exit.DONE
