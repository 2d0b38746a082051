"""Runs the person's own editor over a text, or a file at a line."""

import os
import shlex
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

_EDITORS = ("VISUAL", "EDITOR")
_IN_LAST_RESORT = "vi"
_WITH_PLUS = frozenset(
    {"vi", "vim", "nvim", "view", "nano", "emacs", "emacsclient", "kak", "micro", "joe", "mg", "ne"}
)
_WITH_COLON = frozenset({"hx", "helix", "subl", "zed"})
_WITH_GOTO = frozenset({"code", "code-insiders", "codium", "cursor"})


def edited(text: str) -> str | None:
    """Returns what the editor made of a text, or None if it could not be run, or ended with an
    error. The terminal is the editor's until it ends.
    """
    with TemporaryDirectory(prefix="trimpoint-") as folder:
        file = Path(folder, "text.md")
        file.write_text(text, encoding="utf-8")
        if not _runs_well([str(file)]):
            return None
        return file.read_text(encoding="utf-8", errors="replace").rstrip("\n")


def opened(file: Path, line: int) -> bool:
    """Opens a file at a line, if the editor is known to take one. Returns whether it could be run,
    and ended without an error. The terminal is the editor's until it ends.
    """
    return _runs_well(_at(str(file.absolute()), line))


def _at(path: str, line: int) -> list[str]:
    # The path is absolute: no editor takes it for an option.
    name = Path(next(iter(_words()), "")).name
    if name in _WITH_PLUS:
        return [f"+{line}", path]
    if name in _WITH_GOTO:
        return ["--goto", f"{path}:{line}"]
    return [f"{path}:{line}" if name in _WITH_COLON else path]


def _words() -> list[str]:
    named = (os.environ[name] for name in _EDITORS if os.environ.get(name))
    try:
        return shlex.split(next(named, _IN_LAST_RESORT))
    except ValueError:  # a quotation mark that is not closed
        return []


def _runs_well(arguments: list[str]) -> bool:
    if not (words := _words()):
        return False
    try:
        return subprocess.run([*words, *arguments], check=False).returncode == 0
    except (OSError, ValueError):
        return False
