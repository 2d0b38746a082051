"""Runs the person's own editor over a text."""

import os
import shlex
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

_EDITORS = ("VISUAL", "EDITOR")
_IN_LAST_RESORT = "vi"


def edited(text: str) -> str | None:
    """Returns what the editor made of a text, or None if it could not be run, or ended with an
    error. The terminal is the editor's until it ends.
    """
    words = next((os.environ[name] for name in _EDITORS if os.environ.get(name)), _IN_LAST_RESORT)
    with TemporaryDirectory(prefix="trimpoint-") as folder:
        file = Path(folder, "text.md")
        file.write_text(text, encoding="utf-8")
        try:
            ended = subprocess.run([*shlex.split(words), str(file)], check=False).returncode
        except (OSError, ValueError):
            return None
        return None if ended else file.read_text(encoding="utf-8", errors="replace").rstrip("\n")
