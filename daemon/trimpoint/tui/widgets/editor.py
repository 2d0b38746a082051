"""Runs the person's own editor over a text, in the place of the screen."""

from textual.app import App

from trimpoint.cli import editor


def edited(app: App[None], text: str) -> str | None:
    """Returns what the editor made of a text, or None if it could not be run, or ended with an
    error. The screen is the editor's until it ends.

    :raises SuspendNotSupported: where the terminal cannot be given to another program.
    """
    with app.suspend():
        return editor.edited(text)
