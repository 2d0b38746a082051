"""Opens the web page in the person's browser, or prints its address."""

import os
import sys
import webbrowser
from urllib.parse import urlsplit

from rich.text import Text

from trimpoint.cli.terminal import stderr_console

_OVER_SSH = ("SSH_CONNECTION", "SSH_TTY")
_SCREENS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")


def show_page(url: str, *, only_print: bool) -> None:
    """Opens a one-time address in the browser; prints the address if no browser can be opened, or
    if `only_print`.
    """
    if not only_print and _has_screen() and webbrowser.open(url):
        print(f"Opened {_without_code(url)} in your browser.", flush=True)
    else:
        print(url, flush=True)
        stderr_console().print(Text(_advice(url), "dim"))


def _has_screen() -> bool:
    """Returns whether a browser that is opened on this machine is visible to the person: there is a
    display, and no SSH session.
    """
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
