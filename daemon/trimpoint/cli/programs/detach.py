"""Makes this process one of its own: `trimpoint serve --background` (see
`cli/connection/background.py`).
"""

import os
import signal
from contextlib import suppress
from pathlib import Path


def detach() -> None:
    """Goes on in a child that has no parent waiting for it, no terminal, and the folder of no
    client.

    Call it before there are threads. The process that was started ends here, with exit code 0.
    """
    if os.fork() > 0:
        os._exit(0)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    # The client's folder may be removed while others still use the daemon.
    os.chdir("/")
    with suppress(OSError, RuntimeError):
        os.chdir(Path.home())


def close_stdout() -> None:
    """Gives back the pipe that the starter reads; what is printed from now on goes nowhere."""
    null_fd = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null_fd, 1)
    os.close(null_fd)
