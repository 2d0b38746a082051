"""`trimpoint desktop`: shows the web page in a window of its own."""

import argparse
import sys
from importlib.util import find_spec

from trimpoint.cli.exits import CliError
from trimpoint.extras import install_command
from trimpoint.http.static_files import default_folder, missing_page

_LOCATIONS = (
    ("--socket", "socket"),
    ("--state-dir", "state_dir"),
    ("--config", "config"),
    ("--codex", "codex"),
)


def run(arguments: argparse.Namespace) -> int:
    """Shows the window until it is closed.

    :raises CliError: when Qt or the page is not installed.
    """
    if find_spec("PySide6") is None or find_spec("PySide6.QtWebEngineCore") is None:
        raise CliError(
            "The desktop window needs Qt's browser engine, which is not installed.",
            f"Install it (about 250 MB) with: {install_command('desktop')}\n"
            "`trimpoint open` shows the same page in your browser.",
            reason="not_installed",
        )
    folder = default_folder()
    if missing := missing_page(folder):
        raise CliError(missing, reason="not_installed")
    from trimpoint.desktop.run import run_window

    return run_window(_sidecar_command(arguments), folder, arguments.thread)


def _sidecar_command(arguments: argparse.Namespace) -> list[str]:
    """Returns the command line of the `trimpoint stdio` that connects the window to the daemon."""
    named = ((option, getattr(arguments, name)) for option, name in _LOCATIONS)
    places = [word for option, value in named if value for word in (option, value)]
    return [sys.executable, "-P", "-m", "trimpoint", "stdio", *places]
