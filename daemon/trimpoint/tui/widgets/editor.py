"""Runs the person's own editor over a text."""

import os
import shlex
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from textual.app import App

_EDITORS = ("VISUAL", "EDITOR")
_IN_LAST_RESORT = "vi"


def edited(app: App[None], text: str) -> str | None:
    """Returns what the editor made of a text, or None if it could not be run, or ended with an
    error. The screen is the editor's until it ends.

    :raises SuspendNotSupported: where the terminal cannot be given to another program.
    """
    words = next((os.environ[name] for name in _EDITORS if os.environ.get(name)), _IN_LAST_RESORT)
    with TemporaryDirectory(prefix="trimpoint-prompt-") as folder:
        file = Path(folder, "prompt.md")
        file.write_text(text, encoding="utf-8")
        with app.suspend():
            try:
                ended = subprocess.run([*shlex.split(words), str(file)], check=False).returncode
            except (OSError, ValueError):
                return None
        return None if ended else file.read_text(encoding="utf-8", errors="replace").rstrip("\n")
