"""Reads files and processes from /proc: who holds a lock, who listens, who runs. Only looks."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_ACCEPTS_CONNECTIONS = 0x10000  # __SO_ACCEPTCON in /proc/net/unix


class Process(NamedTuple):
    """A process of this user."""

    pid: int
    words: tuple[str, ...]

    @property
    def label(self) -> str:
        """Program and sub-command. Not its other words: those may hold secrets."""
        words = _without_interpreter(self.words)
        plain = [word for word in words[1:3] if word.isascii() and word.replace("-", "").isalpha()]
        return " ".join([Path(words[0]).name, *plain[:1]])


def _without_interpreter(words: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the words from the program on that a Python runs, which says more than the Python
    does.
    """
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
    """Processes that hold a `flock` on a file; 0 stands for one that cannot be seen from here."""
    try:
        wanted = path.stat()
    except FileNotFoundError:
        return []
    # By inode, and then by what the process has open: some file systems give the kernel's table
    # another device than `stat`.
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
    """Returns whether some process accepts connections at a Unix socket, which is not disturbed by
    the question.
    """
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
    """One process; None if there is none or it cannot be seen."""
    with suppress(OSError):
        words = _command_line(Path(f"/proc/{pid}"))
        return Process(pid, words) if words else None
    return None


def _command_line(folder: Path) -> tuple[str, ...]:
    return tuple(
        word.decode(errors="replace")
        for word in (folder / "cmdline").read_bytes().split(b"\0")
        if word
    )
