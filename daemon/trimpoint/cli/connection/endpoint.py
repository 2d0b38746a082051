"""Publishes the socket of a state directory's daemon in a file of that directory, so that commands
find the socket.

The file is only a hint. After a daemon was killed it can be stale: then no program, or another one,
listens at that socket. Clients check which daemon it is.
"""

import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from trimpoint.atomic_files import replace_file

_NOTE = "listening-on"


@contextmanager
def published_socket(state_dir: Path, socket: Path) -> Generator[None]:
    """Keeps the file with the path of the socket while the block runs. The caller holds the lock of
    the state directory.
    """
    note = state_dir / _NOTE
    # A full disk must not keep the daemon from running; it is then found by its socket alone.
    with suppress(OSError):
        replace_file(note, os.fsencode(f"{socket}\n"))
    try:
        yield
    finally:
        note.unlink(missing_ok=True)


def read_published_socket(state_dir: Path) -> Path | None:
    """Returns the published socket, or None if there is none or the file cannot be read."""
    try:
        text = os.fsdecode((state_dir / _NOTE).read_bytes()).strip()
    except OSError:
        return None
    return Path(text) if os.path.isabs(text) else None
