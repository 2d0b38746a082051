"""Reads from /proc which processes hold a lock, listen at a socket, or are running. Changes
nothing.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_ACCEPTS_CONNECTIONS = 0x10000  # __SO_ACCEPTCON in /proc/net/unix


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
    try:
        wanted = path.stat()
    except FileNotFoundError:
        return []
    # Compared by inode, then by the process's open files: on some file systems the kernel's table
    # has another device number than `stat`.
    return [
        pid
        for pid, inode in _locks()
        if inode == wanted.st_ino and (pid == 0 or _has_open(pid, wanted))
    ]


def _locks() -> Iterator[tuple[int, int]]:
    for line in Path("/proc/locks").read_text().splitlines():
        words = line.split()
        if len(words) >= 6 and words[1] == "FLOCK":
            yield max(0, int(words[4])), int(words[5].rpartition(":")[2])


def _has_open(pid: int, wanted: os.stat_result) -> bool:
    for descriptor in Path(f"/proc/{pid}/fd").glob("*"):
        with suppress(OSError):
            if os.path.samestat(descriptor.stat(), wanted):
                return True
    return False


def is_listening(socket: Path) -> bool:
    """Returns whether a process accepts connections at a Unix socket, without connecting to it."""
    for line in Path("/proc/net/unix").read_text(errors="replace").splitlines()[1:]:
        words = line.split(maxsplit=7)
        if len(words) == 8 and int(words[3], 16) & _ACCEPTS_CONNECTIONS and words[7] == str(socket):
            return True
    return False


def own_processes() -> list[Process]:
    """Returns all processes of this user."""
    processes: list[Process] = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if folder.stat().st_uid == os.geteuid() and (words := _command_line(folder)):
                processes.append(Process(int(folder.name), words))
    return sorted(processes)


def process(pid: int) -> Process | None:
    """Returns a process by its id, or None if there is none or it is not visible."""
    with suppress(OSError):
        words = _command_line(Path(f"/proc/{pid}"))
        return Process(pid, words) if words else None
    return None


def environment(pid: int) -> dict[str, str] | None:
    """Returns the environment that a process of this user was started with, or None if it is not
    visible.
    """
    try:
        pairs = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return None
    found = (pair.decode(errors="surrogateescape").partition("=") for pair in pairs)
    return {name: value for name, separator, value in found if separator}


def _command_line(folder: Path) -> tuple[str, ...]:
    return tuple(
        word.decode(errors="replace")
        for word in (folder / "cmdline").read_bytes().split(b"\0")
        if word
    )
