"""Finds the files that other processes have open for writing. Best effort: reads Linux's /proc,
which shows processes of the same user.
"""

import contextlib
import os
from collections.abc import Collection, Iterator
from pathlib import Path


def open_for_writing(worktree: Path, paths: Collection[bytes]) -> set[bytes]:
    """Returns those of `paths` (relative to `worktree`) that another process has open for writing
    now.
    """
    wanted = set(paths)
    prefix = os.fsencode(worktree).rstrip(b"/") + b"/"
    found: set[bytes] = set()
    for folder in _descriptor_folders() if wanted else ():
        for name, file in _open_files(folder):
            path = file.removeprefix(prefix)
            if path != file and path in wanted and _is_writable(folder, name):
                found.add(path)
    return found


def _descriptor_folders() -> Iterator[bytes]:
    with contextlib.suppress(OSError):
        for name in os.listdir(b"/proc"):
            if name.isdigit() and int(name) != os.getpid():
                yield b"/proc/" + name + b"/fd"


def _open_files(folder: bytes) -> Iterator[tuple[bytes, bytes]]:
    # Processes may end and descriptors may be closed meanwhile.
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            with contextlib.suppress(OSError):
                yield name, os.readlink(os.path.join(folder, name))


def _is_writable(folder: bytes, name: bytes) -> bool:
    with contextlib.suppress(OSError, ValueError, IndexError):
        facts = Path(os.fsdecode(folder + b"info/" + name)).read_text()
        flags = next(line.split()[1] for line in facts.splitlines() if line.startswith("flags:"))
        return int(flags, 8) & os.O_ACCMODE != os.O_RDONLY
    return False
