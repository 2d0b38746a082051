"""Decides whether the process at the other end of a socket may be a client of the daemon.

Always true: a process that a Codex of this daemon started is an agent, and never a client, because
a client answers the agent's approvals. Neither is a process in another user or pid namespace, which
is in a sandbox or a container, nor one that gave up gaining privileges as sandboxes do.

Only what every user may read of a process counts, because a process can hide the rest from its own
user. Not found is an agent that Codex runs without a sandbox and whose process left Codex's tree:
it has all rights of the user. Where the system does not tell who connected, everybody who can is
let in, and only the modes of the socket and its folder keep others out (docs/security.md).
"""

import os
import select
import socket
from collections.abc import Collection, Generator
from contextlib import contextmanager
from typing import Literal, NamedTuple

from trimpoint.processes import RUNNING_CHILDREN
from trimpoint.system import SYSTEM

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


def distrust_of_peer(sock: socket.socket) -> Distrust | None:
    """Returns why the process that connected this Unix socket may not be a client, or None if it
    may.
    """
    peer = SYSTEM.peer(sock)
    if peer is None:
        return None
    try:
        with _pidfd_of(sock, peer.pid) as pidfd:
            found = distrust_of(peer.pid)
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
            f"The process {pid} cannot be looked at.",
            "Run it where the daemon can see it; a mount with hidepid hides some programs.",
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

    :raises OSError: when it has ended, or is hidden.
    """
    if not pid:
        return "It runs in another pid namespace than the daemon."
    theirs, ours = SYSTEM.bounds(pid), SYSTEM.bounds(os.getpid())
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
        except ProcessLookupError:
            if walk == _WALKS - 1:
                raise
    return None


def _walk_up(pid: int, wanted: Collection[int]) -> int | None:
    child_started: int | None = None
    while pid > 0:
        if pid in wanted:
            return pid
        found = SYSTEM.facts(pid)
        # Where a start is hidden, an ended parent whose pid another process has is not noticed.
        if found.started is not None:
            if child_started is not None and found.started > child_started:
                raise ProcessLookupError(pid)
            child_started = found.started
        pid = found.parent
    return None


@contextmanager
def _pidfd_of(sock: socket.socket, pid: int) -> Generator[int | None]:
    """Yields a descriptor of the process that connected; of the process that has its pid now, where
    the kernel is too old; None where even that cannot be had.

    :raises ProcessLookupError: when there is no such process.
    """
    pidfd = SYSTEM.open_pidfd_of_peer(sock)
    if pidfd is None and pid:
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
