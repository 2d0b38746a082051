"""Detaches this process from the one that started it, for `trimpoint serve --background` (see
`cli/connection/background.py`).
"""

import os
import signal
from contextlib import suppress
from pathlib import Path


def detach() -> None:
    """Continues in a child process that has no parent to wait for it, no terminal, and none of the
    starter's working directory.

    Must be called before threads are started. The original process exits here with code 0.
    """
    if os.fork() > 0:
        os._exit(0)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    # The client's folder may be removed while others still use the daemon.
    os.chdir("/")
    with suppress(OSError, RuntimeError):
        os.chdir(Path.home())


def close_stdout() -> None:
    """Closes the pipe that the starter reads; later output is discarded."""
    null_fd = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null_fd, 1)
    os.close(null_fd)
