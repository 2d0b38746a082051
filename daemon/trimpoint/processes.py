"""Holds the Codex children that run, and opens descriptors of any process (pidfd_open(2)), also
where this Python does not know them.
"""

import ctypes
import errno
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager

_NUMBER = 434  # of the system call, on every architecture of Linux that Python has wheels for
_MISSING = (errno.ENOSYS, errno.EPERM)  # the second in a container's seccomp filter

RUNNING_CHILDREN: set[int] = set()
"""The pids of this process's Codex children that have not ended."""


def open_pidfd(pid: int) -> int | None:
    """Returns a descriptor that becomes readable when the process ends, or None where the system
    has none. The caller closes it.

    :raises ProcessLookupError: when there is no such process.
    :raises OSError: when no more descriptors can be opened.
    """
    if sys.platform != "linux":
        return None
    try:
        # Missing in some builds of Python, such as uv's of before 2026.
        return os.pidfd_open(pid) if hasattr(os, "pidfd_open") else _by_number(pid)
    except OSError as error:
        if error.errno in _MISSING:
            return None
        raise


@contextmanager
def pidfd_of(pid: int) -> Generator[int | None]:
    """Yields what `open_pidfd` returns and closes it; None where there is no such process, too."""
    try:
        pidfd = open_pidfd(pid)
    except OSError:
        pidfd = None
    try:
        yield pidfd
    finally:
        if pidfd is not None:
            os.close(pidfd)


def _by_number(pid: int) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor: int = libc.syscall(_NUMBER, pid, 0)
    if descriptor < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    os.set_inheritable(descriptor, False)
    return descriptor
