"""Decides whether the process at the other end of a socket may be a client of the daemon.

Always true: a process that a Codex of this daemon started is an agent, and never a client, because
a client answers the agent's approvals. Neither is a process in another user or pid namespace, which
is in a sandbox or a container, nor one that gave up gaining privileges as sandboxes do.

Only what every user may read of a process counts (`stat`, `status` and `uid_map` in /proc), because
a process can hide the rest from its own user. Not found is an agent that Codex runs without a
sandbox and whose process left Codex's tree: it has all rights of the user.
"""

import os
import select
import socket
import struct
from collections.abc import Collection, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, NamedTuple

from trimpoint.processes import RUNNING_CHILDREN
from trimpoint.system import SYSTEM

_SO_PEERPIDFD = 77  # Linux 6.5; this Python may be older
_PARENT_FIELD, _START_TIME_FIELD = 4, 22  # proc(5), counted from 1
_WALKS = 3

_OUTSIDE = (
    "Run it outside of the sandbox or container, as the user and on the system where the daemon "
    "runs."
)


class Distrust(NamedTuple):
    """Why a process may not be a client, and what the person can do.

    `kind` is "agent" if a Codex of this daemon started it, or that cannot be excluded; "user" if
    another user runs it.
    """

    why: str
    hint: str
    kind: Literal["agent", "confined", "user"] = "confined"


ENDED = Distrust("It has ended.", "Keep it running until it has its answer.")


class Credentials(NamedTuple):
    """The process at the other end of a Unix socket, as it was when it connected."""

    pid: int
    uid: int
    gid: int


def peer_credentials(sock: socket.socket) -> Credentials:
    """Reads the peer's credentials from the kernel (Linux)."""
    layout = "iII"
    raw = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize(layout))
    return Credentials(*struct.unpack(layout, raw))


def distrust_of_peer(sock: socket.socket) -> Distrust | None:
    """Returns why the process that connected this Unix socket may not be a client, or None if it
    may.
    """
    pid = peer_credentials(sock).pid
    try:
        with _pidfd_of(sock, pid) as pidfd:
            found = distrust_of(pid)
            # Looked at last: what was read until then was read of this process, and of no later one
            # with the same pid.
            return ENDED if _has_ended(pidfd) else found
    except ProcessLookupError:
        return ENDED


def distrust_of(pid: int) -> Distrust | None:
    """Returns why the process may not be a client, or None if it may. A pid of 0 is that of a
    process which is not visible in this pid namespace.
    """
    if pid == os.getpid():
        return None
    try:
        codex = ancestor_among(pid, RUNNING_CHILDREN)
        confined = confinement(pid)
    except OSError:
        return Distrust(
            f"The process {pid} cannot be looked at in /proc.",
            "Run it where the daemon can see it; a /proc with hidepid hides some programs.",
        )
    if codex is not None:
        return Distrust(
            f"A Codex of this daemon started it (pid {pid}, below Codex's {codex}), and an agent "
            "may not control the daemon that asks the person for approvals.",
            "Run the command in a terminal of your own.",
            kind="agent",
        )
    return Distrust(confined, _OUTSIDE) if confined is not None else None


def confinement(pid: int) -> str | None:
    """Returns how the process is confined more than the daemon is, or None if it is not.

    :raises OSError: when it has ended, or /proc hides it.
    """
    if not pid:
        return "It runs in another pid namespace than the daemon."
    theirs, ours = _bounds_of(pid), _bounds_of(os.getpid())
    if theirs.pids != ours.pids:
        return "It runs in another pid namespace than the daemon."
    if (theirs.uid_map, theirs.user_ns or ours.user_ns) != (ours.uid_map, ours.user_ns):
        return "It runs in another user namespace than the daemon."
    if theirs.gains_nothing and not ours.gains_nothing:
        return "It runs with no_new_privs, as sandboxes do, and the daemon does not."
    return None


def ancestor_among(pid: int, wanted: Collection[int]) -> int | None:
    """Returns the nearest of the `wanted` processes that `pid` descends from or is.

    :raises OSError: when the ancestors cannot be read, because they end faster.
    """
    for walk in range(_WALKS):
        try:
            return _walk_up(pid, wanted) if wanted else None
        except (ProcessLookupError, FileNotFoundError):
            if walk == _WALKS - 1:
                raise
    return None


def _walk_up(pid: int, wanted: Collection[int]) -> int | None:
    child_started = None
    while pid > 0:
        if pid in wanted:
            return pid
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        parent, started = (int(fields[field - 3]) for field in (_PARENT_FIELD, _START_TIME_FIELD))
        if child_started is not None and started > child_started:
            # The parent has ended, and another process has its pid.
            raise ProcessLookupError(pid)
        pid, child_started = parent, started
    return None


class _Bounds(NamedTuple):
    pids: int
    """In how many pid namespaces the process has a pid, from that of /proc on."""
    gains_nothing: bool
    uid_map: bytes
    user_ns: str | None
    """None for a process that hides it."""


def _bounds_of(pid: int) -> _Bounds:
    folder = Path(f"/proc/{pid}")
    lines = (line.partition(b":") for line in (folder / "status").read_bytes().splitlines())
    status = {name: value.split() for name, _, value in lines}
    try:
        user_ns = os.readlink(folder / "ns" / "user")
    except OSError:
        user_ns = None
    return _Bounds(
        len(status.get(b"NSpid", ())),
        status.get(b"NoNewPrivs") == [b"1"],
        (folder / "uid_map").read_bytes(),
        user_ns,
    )


@contextmanager
def _pidfd_of(sock: socket.socket, pid: int) -> Generator[int | None]:
    """Yields a descriptor of the process that connected; of the process that has its pid now, where
    the kernel is too old; None where even that cannot be had.

    :raises ProcessLookupError: when there is no such process.
    """
    pidfd = None
    try:
        pidfd = sock.getsockopt(socket.SOL_SOCKET, _SO_PEERPIDFD)
    except ProcessLookupError:
        raise
    except OSError:
        if pid:
            pidfd = SYSTEM.open_pidfd(pid)
    try:
        yield pidfd
    finally:
        if pidfd is not None:
            os.close(pidfd)


def _has_ended(pidfd: int | None) -> bool:
    if pidfd is None:
        return False
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(0))
