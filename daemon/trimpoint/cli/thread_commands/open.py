"""`trimpoint open`: the web UI, in the browser of this machine or at a printed address."""

import argparse
import os
import sys
import webbrowser
from functools import partial
from urllib.parse import urlsplit

from rich.text import Text
from trimpoint_protocol.methods import LoginUrl

from trimpoint.cli.connection.client import Client
from trimpoint.cli.connection.connect import ask, with_daemon
from trimpoint.cli.exits import Exit
from trimpoint.cli.terminal import print_json, stderr_console
from trimpoint.cli.thread_commands.thread_choice import chosen_thread

_OVER_SSH = ("SSH_CONNECTION", "SSH_TTY")
_SCREENS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")


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
    elif not arguments.print and _has_screen() and webbrowser.open(url):
        print(f"Opened {_without_code(url)} in your browser.", flush=True)
    else:
        print(url, flush=True)
        stderr_console().print(Text(_advice(url), "dim"))
    return Exit.DONE


def _has_screen() -> bool:
    """Returns whether a browser that is opened here is seen by the person who asked."""
    if any(os.environ.get(name) for name in _OVER_SSH):
        return False
    return sys.platform == "darwin" or any(os.environ.get(name) for name in _SCREENS)


def _advice(url: str) -> str:
    once = "It works once, within two minutes."
    if not any(os.environ.get(name) for name in _OVER_SSH):
        return once
    port = urlsplit(url).port
    return f"{once} From another machine, first: ssh -L {port}:127.0.0.1:{port} THIS-HOST"


def _without_code(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}/"
