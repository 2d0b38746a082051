"""Decides whether the process at the other end of a TCP connection may be a client.

The kernel tells who is at the other end of a Unix socket, but of TCP only which user and which
socket. The process is therefore looked for among all that have this socket open. A program that
cannot be looked into, such as sshd, is trusted only if no agent in a sandbox can be it: an agent
can hide itself, too. Where the system shows no processes of connections, the token alone decides.
"""

import ipaddress
import os
import time
from collections.abc import Collection

from trimpoint.processes import RUNNING_CHILDREN
from trimpoint.system import SYSTEM
from trimpoint.transport.client_stream import Endpoints
from trimpoint.transport.peer_process import (
    ENDED,
    Distrust,
    ancestor_among,
    confinement,
    distrust_of,
)

_ROUNDS = 20
_PAUSE_S = 0.1

_UNCERTAIN = Distrust(
    "The program that connected cannot be looked at, and agents in sandboxes with the network run "
    "commands that could be it.",
    "Try again; if that does not help, wait until the agents' commands have ended.",
    kind="agent",
)


class TcpProcesses:
    """Finds the processes at the other ends of TCP connections. Its methods block for some
    milliseconds, and may be called on any thread.
    """

    def __init__(self) -> None:
        self._last_holder = 0

    def distrust_of(self, endpoints: Endpoints) -> Distrust | None:
        """Returns why the process that connected may not be a client, or None if it may, or is not
        of this user or this machine.
        """
        if not SYSTEM.sees_tcp_peers:
            return None
        ends = endpoints.peer, endpoints.ours
        # A table that changes may lack a line once.
        row = SYSTEM.tcp_end(*ends) or SYSTEM.tcp_end(*ends)
        if row is None:
            return ENDED if ipaddress.ip_address(endpoints.peer[0]).is_loopback else None
        if row.inode == 0:
            return ENDED
        if row.uid != os.geteuid():
            return _of_other_user(row.uid)
        for _ in range(_ROUNDS):
            agents = _agents()
            if (holder := self._holder(row.inode)) is not None:
                return distrust_of(holder)
            # A process that hands its socket on to a child and ends may be missed, but then the
            # lists differ.
            if not any(map(SYSTEM.hides_files, agents)) and agents == _agents():
                return None
            time.sleep(_PAUSE_S)
        return _UNCERTAIN

    def _holder(self, inode: int) -> int | None:
        pids = (pid for pid in (self._last_holder, *SYSTEM.pids()) if pid)
        holder = next((pid for pid in pids if SYSTEM.holds_socket(pid, inode)), None)
        self._last_holder = holder or self._last_holder
        return holder


def _of_other_user(uid: int) -> Distrust | None:
    if uid == 0:  # root may do everything anyway, and forwards ports for others
        return None
    return Distrust(
        f"Another user runs it (uid {uid}).",
        "A proxy that runs as another user is let in by the names in hosts, in the [http] table of "
        "the configuration.",
        kind="user",
    )


def _agents() -> frozenset[int]:
    """Returns the sandboxed processes below a Codex of ours that can have a socket of this network
    namespace.
    """
    codexes = frozenset(RUNNING_CHILDREN)
    if not codexes:
        return frozenset()
    return frozenset(pid for pid in SYSTEM.pids() if _is_networked_agent(pid, codexes))


def _is_networked_agent(pid: int, codexes: Collection[int]) -> bool:
    try:
        if ancestor_among(pid, codexes) is None or confinement(pid) is None:
            return False
    except OSError:
        return False  # it has ended
    try:
        theirs, ours = SYSTEM.bounds(pid).network, SYSTEM.bounds(os.getpid()).network
    except OSError:
        return True
    return theirs is None or theirs == ours
