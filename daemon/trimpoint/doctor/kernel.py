"""Looks at which processes hold a lock, listen at a socket, or are running, as far as the system
shows them. Changes nothing.
"""

import fcntl
import os
from pathlib import Path
from typing import NamedTuple

from trimpoint.system import SYSTEM
from trimpoint.transport.listeners import probe


class Process(NamedTuple):
    """A process of this user; `words` are its command line."""

    pid: int
    words: tuple[str, ...]

    @property
    def label(self) -> str:
        """Returns the program's name and its subcommand. Other words of the command line may hold
        secrets.
        """
        words = _without_interpreter(self.words)
        plain = [word for word in words[1:3] if word.isascii() and word.replace("-", "").isalpha()]
        return " ".join([Path(words[0]).name, *plain[:1]])


def _without_interpreter(words: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the command line from the Python program on, without the interpreter before it."""
    if Path(words[0]).name.startswith("python"):
        for position, word in enumerate(words[1:4], 1):
            if word == "-m" and len(words) > position + 1:
                return words[position + 1 :]
            if word == "-c":
                return words
            if not word.startswith("-"):
                return words[position:]
    return words


def lock_holders(path: Path) -> list[int]:
    """Returns the ids of the processes that hold a `flock` on a file; 0 stands for a process that
    is not visible from here.
    """
    found = SYSTEM.lock_holders(path)
    return _by_trying(path) if found is None else found


def _by_trying(path: Path) -> list[int]:
    """Returns whose lock keeps another one out. The holder has written its id into the file."""
    try:
        with path.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                written = file.read(32).strip()
                return [int(written) if written.isdigit() else 0]
    except OSError:
        pass
    return []


def is_listening(socket: Path) -> bool:
    """Returns whether a process accepts connections at a Unix socket; without connecting to it,
    where that can be seen.
    """
    found = SYSTEM.is_listening(socket)
    if found is not None:
        return found
    try:
        probe(socket)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return True


def own_processes() -> list[Process]:
    """Returns the processes of this user that can be seen."""
    ours = (pid for pid in SYSTEM.pids() if SYSTEM.owner(pid) == os.geteuid())
    return sorted(found for pid in ours if (found := process(pid)) is not None)


def process(pid: int) -> Process | None:
    """Returns a process by its id, or None if there is none or it is not visible."""
    words = tuple(word.decode(errors="replace") for word in SYSTEM.command_line(pid) if word)
    return Process(pid, words) if words else None


def environment(pid: int) -> dict[str, str] | None:
    """Returns the environment that a process of this user was started with, or None if it is not
    visible.
    """
    pairs = SYSTEM.environment(pid)
    if pairs is None:
        return None
    found = (pair.decode(errors="surrogateescape").partition("=") for pair in pairs)
    return {name: value for name, separator, value in found if separator}
