"""Opens the web page in the person's browser, or prints its address."""

import html
import os
import webbrowser
from pathlib import Path
from urllib.parse import urlsplit

from rich.text import Text

from trimpoint.atomic_files import replace_file
from trimpoint.cli.terminal import stderr_console
from trimpoint.system import SYSTEM

_FORWARD = (
    '<!doctype html><meta charset="utf-8"><title>trimpoint</title>'
    '<meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0;url={url}">'
    '<p><a href="{url}">Go on to trimpoint</a></p>\n'
)
_OVER_SSH = ("SSH_CONNECTION", "SSH_TTY")
_SCREENS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")


def show_page(url: str, folder: Path, *, only_print: bool) -> None:
    """Opens a one-time address in the browser; prints the address if no browser can be opened, or
    if `only_print`.

    All users of a machine read command lines, so the browser is given a file in `folder` that only
    this user can read, and that sends it on.
    """
    if not only_print and _has_screen() and webbrowser.open(_forwarding(url, folder).as_uri()):
        print(f"Opened {_without_code(url)} in your browser.", flush=True)
        advice = "If it may not read the file: trimpoint open --print"
        stderr_console().print(Text(advice, "dim"))
    else:
        print(url, flush=True)
        stderr_console().print(Text(_advice(url), "dim"))


def _forwarding(url: str, folder: Path) -> Path:
    """Returns a new file, readable by this user alone, that sends a browser on to `url`."""
    path = folder / "open.html"
    replace_file(path, _FORWARD.format(url=html.escape(url)).encode())
    return path


def _has_screen() -> bool:
    """Returns whether a browser that is opened on this machine is visible to the person: there is a
    display, and no SSH session.
    """
    if any(os.environ.get(name) for name in _OVER_SSH):
        return False
    return SYSTEM.has_display or any(os.environ.get(name) for name in _SCREENS)


def _advice(url: str) -> str:
    once = "It works once, within two minutes."
    if not any(os.environ.get(name) for name in _OVER_SSH):
        return once
    port = urlsplit(url).port
    return f"{once} From another machine, first: ssh -L {port}:127.0.0.1:{port} THIS-HOST"


def _without_code(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}/"
