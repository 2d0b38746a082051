"""Decides whether the process at the other end of a TCP connection may be a client.

The kernel tells who is at the other end of a Unix socket, but of TCP only which user and which
socket. The process is therefore looked for among all that have this socket open. A program that
cannot be looked into, such as sshd, is trusted only if no agent in a sandbox can be it: an agent
can hide itself, too.
"""

import ipaddress
import os
import socket
import struct
import time
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from trimpoint.processes import RUNNING_CHILDREN
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


class _Row(NamedTuple):
    """A line of /proc/net/tcp."""

    uid: int
    inode: int


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
        row = _row(endpoints) or _row(endpoints)  # a table that changes may lack a line once
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
            if not any(map(_is_hidden, agents)) and agents == _agents():
                return None
            time.sleep(_PAUSE_S)
        return _UNCERTAIN

    def _holder(self, inode: int) -> int | None:
        wanted = f"socket:[{inode}]"
        pids = (pid for pid in (self._last_holder, *_processes()) if pid)
        holder = next((pid for pid in pids if wanted in _open_files(pid)), None)
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


def _row(endpoints: Endpoints) -> _Row | None:
    """Returns the line of the other end's socket; None if it is closed or on another machine."""
    ends = (endpoints.peer, endpoints.ours)
    wanted = {_as_in_proc(version, ends) for version in (4, 6)}
    for table in ("tcp", "tcp6"):
        try:
            lines = Path(f"/proc/net/{table}").read_text(encoding="ascii").splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            if (fields[1], fields[2]) in wanted:
                return _Row(uid=int(fields[7]), inode=int(fields[9]))
    return None


def _as_in_proc(version: int, ends: Collection[tuple[str, int]]) -> tuple[str, ...]:
    """Returns how the table of this IP version shows these addresses."""
    return tuple(f"{_hexadecimal(version, host)}:{port:04X}" for host, port in ends)


def _hexadecimal(version: int, host: str) -> str:
    address = ipaddress.ip_address(host.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    packed = address.packed
    if version == 6 and isinstance(address, ipaddress.IPv4Address):
        packed = socket.inet_pton(socket.AF_INET6, f"::ffff:{address}")
    # Words of the machine's own byte order.
    return "".join(f"{word:08X}" for (word,) in struct.iter_unpack("=I", packed))


def _agents() -> frozenset[int]:
    """Returns the sandboxed processes below a Codex of ours that can have a socket of this network
    namespace.
    """
    codexes = frozenset(RUNNING_CHILDREN)
    if not codexes:
        return frozenset()
    return frozenset(pid for pid in _processes() if _is_networked_agent(pid, codexes))


def _is_networked_agent(pid: int, codexes: Collection[int]) -> bool:
    try:
        if ancestor_among(pid, codexes) is None or confinement(pid) is None:
            return False
    except OSError:
        return False  # it has ended
    try:
        return os.readlink(f"/proc/{pid}/ns/net") == os.readlink("/proc/self/ns/net")
    except OSError:
        return True


def _is_hidden(pid: int) -> bool:
    try:
        os.listdir(f"/proc/{pid}/fd")
    except FileNotFoundError:
        return False  # it has ended
    except OSError:
        return True
    return False


def _processes() -> Iterator[int]:
    return (int(name) for name in os.listdir("/proc") if name.isdigit())


def _open_files(pid: int) -> Iterator[str]:
    try:
        for name in os.listdir(f"/proc/{pid}/fd"):
            yield os.readlink(f"/proc/{pid}/fd/{name}")
    except OSError:
        return  # it has ended, or hides them
