"""Runs the person's own editor over a text, in the place of the screen."""

from pathlib import Path

from textual.app import App

from trimpoint.cli import editor
from trimpoint.cli.terminal import one_line
from trimpoint.tui.model.spots import Spot

ENDED_BADLY = "The editor ($VISUAL, $EDITOR) did not end well."


def edited(app: App[None], text: str) -> str | None:
    """Returns what the editor made of a text, or None if it could not be run, or ended with an
    error. The screen is the editor's until it ends.

    :raises SuspendNotSupported: where the terminal cannot be given to another program.
    """
    with app.suspend():
        return editor.edited(text)


def opened(app: App[None], folder: str, spot: Spot) -> str | None:
    """Opens a file of a folder in the editor; returns the reason if that was not possible."""
    path = Path(folder, spot.path)
    try:
        is_there = path.is_file()
    except (OSError, ValueError):  # no system takes such a name
        is_there = False
    if not is_there:
        return f"{one_line(spot.path, 200)} is not there, or is no file."
    with app.suspend():
        return None if editor.opened(path, spot.line) else ENDED_BADLY
