"""Replaces small files whole: state that one program writes and another reads.

Journals have their own writing, with every sync and every failure of a disk in it
(`trimpoint.journal.storage.file_ops`).
"""

import os
import tempfile
from pathlib import Path

from trimpoint.system import SYSTEM

PRIVATE = 0o600


def replace_file(path: Path, content: bytes, *, mode: int = PRIVATE, synced: bool = False) -> None:
    """Makes `content` the content of a file, and `mode` its mode. A reader finds the old content or
    the new one, whole; so does the next start if the process is killed meanwhile.

    :param synced: whether this is also true if the power fails. It costs a sync. Without it the
        file may be empty or old then, so the caller must be able to do without its content.
    :raises OSError: when the file cannot be written; then it has its old content.
    """
    # Each attempt has a name of its own, because threads and processes may write the same file at
    # once. With a dot in front, git takes the file for no ref.
    descriptor, fresh = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            os.fchmod(file.fileno(), mode)
            file.flush()
            if synced:
                SYSTEM.sync_data(file.fileno())
        os.replace(fresh, path)
    except BaseException:
        os.unlink(fresh)
        raise
