"""Sockets that a service manager opened and handed over: `sd_listen_fds(3)`.

The law: only what was meant for this process and is a listening Unix stream socket of ours by name is taken. Nothing that was
handed over, taken or not, is inherited by what the daemon starts.
"""

import os
import socket
from collections.abc import MutableMapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from trimpoint.gateway.transport.listeners import ListenError

FIRST_FD = 3
OUR_NAME = "trimpoint"
# What systemd calls a socket that its unit gives no name, and what `systemd-socket-activate` does.
_OUR_NAMES = frozenset({OUR_NAME, f"{OUR_NAME}.socket"})
_UNNAMED = frozenset({"", "unknown"})


class HandedOver(NamedTuple):
    """A listening socket and the path that clients find it at."""

    listener: socket.socket
    path: Path


class NothingForUs(ListenError):
    """Descriptors were handed over, and none or too many could be ours."""

    hint = f"Set FileDescriptorName={OUR_NAME} on one ListenStream= path in the socket unit; see docs/operation.md."


def handed_over(environ: MutableMapping[str, str], pid: int) -> HandedOver | None:
    """The socket to serve, if this process was started by a connection to one. The variables are taken out of `environ`.

    :raises ListenError: something was handed over that cannot be served.
    """
    fds = list(_descriptors(environ, pid))
    if not fds:
        return None
    for fd, _ in fds:
        with suppress(OSError):
            os.set_inheritable(fd, False)
    ours = [fd for fd, name in fds if name in _OUR_NAMES] or [fd for fd, name in fds if name in _UNNAMED]
    if len(ours) != 1:
        names = ", ".join(name or "unnamed" for _, name in fds)
        raise NothingForUs(fds[0][0], f"is one of {len(fds)} that were handed over ({names}); which to serve is not clear")
    return _listening(ours[0])


def _descriptors(environ: MutableMapping[str, str], pid: int) -> list[tuple[int, str]]:
    """Number and name of each; none when they were meant for another process."""
    meant_for, count = environ.pop("LISTEN_PID", ""), environ.pop("LISTEN_FDS", "")
    names = environ.pop("LISTEN_FDNAMES", "").split(":")
    if meant_for != str(pid) or not count.isdecimal():
        return []
    named = [*names, *[""] * int(count)]
    return [(FIRST_FD + number, named[number]) for number in range(int(count))]


def _listening(fd: int) -> HandedOver:
    try:
        listener = socket.socket(fileno=fd)
    except OSError as error:
        raise NothingForUs(fd, f"is no socket: {os.strerror(error.errno or 0)}") from None
    name = listener.getsockname() if listener.family == socket.AF_UNIX else ""
    if not isinstance(name, str) or not os.path.isabs(name):
        listener.close()
        raise NothingForUs(fd, "is not a Unix socket with a path")
    return HandedOver(listener, Path(name))
