"""Takes over the sockets that a service manager opened for the daemon: `sd_listen_fds(3)`.

Always true: only sockets that were passed to this process and have our name are used: at most one
Unix socket for clients, and any number of TCP sockets for HTTP. No passed descriptor is inherited
by the daemon's children.
"""

import os
import socket
from collections.abc import MutableMapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from trimpoint.transport.listeners import ListenError

FIRST_FD = 3
OUR_NAME = "trimpoint"
# The names that systemd and `systemd-socket-activate` give to sockets without a name.
_OUR_NAMES = frozenset({OUR_NAME, f"{OUR_NAME}.socket"})
_UNNAMED = frozenset({"", "unknown"})


class HandedOver(NamedTuple):
    """The sockets that were taken over: a listening Unix socket with its path, or None, and the TCP
    sockets for HTTP.
    """

    listener: socket.socket | None
    path: Path | None
    http: tuple[socket.socket, ...] = ()


class NothingForUs(ListenError):
    """Raised when descriptors were passed, but none or too many of them can be ours."""

    hint = (
        f"Set FileDescriptorName={OUR_NAME} on one ListenStream= path in the socket unit; see "
        "docs/operation.md."
    )


def handed_over(environ: MutableMapping[str, str], pid: int) -> HandedOver | None:
    """Returns the sockets that were passed to this process, or None if there are none. Removes the
    variables from `environ`.

    :raises ListenError: when a passed socket cannot be used.
    """
    fds = list(_descriptors(environ, pid))
    if not fds:
        return None
    for fd, _ in fds:
        with suppress(OSError):
            os.set_inheritable(fd, False)
    ours = [fd for fd, name in fds if name in _OUR_NAMES] or [
        fd for fd, name in fds if name in _UNNAMED
    ]
    http = [sock for fd in ours if (sock := _listening_tcp(fd)) is not None]
    others = [fd for fd in ours if fd not in {sock.fileno() for sock in http}]
    if len(others) > 1 or not ours:
        names = ", ".join(name or "unnamed" for _, name in fds)
        problem = (
            f"is one of {len(fds)} that were handed over ({names}); which to serve is not clear"
        )
        raise NothingForUs(fds[0][0], problem)
    listener, path = _listening_unix(others[0]) if others else (None, None)
    return HandedOver(listener, path, tuple(http))


def _descriptors(environ: MutableMapping[str, str], pid: int) -> list[tuple[int, str]]:
    """Returns the number and name of each passed descriptor; empty when they were meant for another
    process.
    """
    meant_for, count = environ.pop("LISTEN_PID", ""), environ.pop("LISTEN_FDS", "")
    names = environ.pop("LISTEN_FDNAMES", "").split(":")
    if meant_for != str(pid) or not count.isdecimal():
        return []
    named = [*names, *[""] * int(count)]
    return [(FIRST_FD + number, named[number]) for number in range(int(count))]


def _listening_tcp(fd: int) -> socket.socket | None:
    try:
        listener = socket.socket(fileno=os.dup(fd))
    except OSError:
        return None
    is_tcp = (
        listener.family in (socket.AF_INET, socket.AF_INET6) and listener.type == socket.SOCK_STREAM
    )
    if is_tcp and listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
        listener.close()
        return socket.socket(fileno=fd)
    listener.close()
    return None


def _listening_unix(fd: int) -> tuple[socket.socket, Path]:
    try:
        listener = socket.socket(fileno=fd)
    except OSError as error:
        raise NothingForUs(fd, f"is not a socket: {os.strerror(error.errno or 0)}") from None
    name = listener.getsockname() if listener.family == socket.AF_UNIX else ""
    if not isinstance(name, str) or not os.path.isabs(name):
        listener.close()
        raise NothingForUs(fd, "is not a Unix socket with a path, nor a TCP socket that listens")
    return listener, Path(name)
