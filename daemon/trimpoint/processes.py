"""Holds the Codex children that run, and opens descriptors of any process."""

import os
from collections.abc import Generator
from contextlib import contextmanager

from trimpoint.system import SYSTEM

RUNNING_CHILDREN: set[int] = set()
"""The pids of this process's Codex children that have not ended."""


@contextmanager
def pidfd_of(pid: int) -> Generator[int | None]:
    """Yields what `System.open_pidfd` returns and closes it; None where there is no such process,
    too.
    """
    try:
        pidfd = SYSTEM.open_pidfd(pid)
    except OSError:
        pidfd = None
    try:
        yield pidfd
    finally:
        if pidfd is not None:
            os.close(pidfd)
