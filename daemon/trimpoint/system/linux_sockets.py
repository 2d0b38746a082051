"""Sockets as Linux has them: who connected, and the tables of the network in /proc."""

import ipaddress
import os
import socket
import struct
from collections.abc import Collection
from pathlib import Path

from trimpoint.system.port import Credentials, TcpEnd

_SO_PEERPIDFD = 77  # Linux 6.5; this Python may be older
_ACCEPTS_CONNECTIONS = 0x10000  # __SO_ACCEPTCON in /proc/net/unix


class LinuxSockets:
    """Uses unix(7) and proc(5)."""

    max_socket_path_bytes = 107
    sees_tcp_peers = True
    connect_attempts = 1

    def bind(self, listener: socket.socket, path: str) -> None:
        # Before bind, which gives the mode to the file.
        os.fchmod(listener.fileno(), 0o600)
        listener.bind(path)

    def peer(self, sock: socket.socket) -> Credentials | None:
        layout = "iII"
        raw = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize(layout))
        return Credentials(*struct.unpack(layout, raw))

    def open_pidfd_of_peer(self, sock: socket.socket) -> int | None:
        try:
            return sock.getsockopt(socket.SOL_SOCKET, _SO_PEERPIDFD)
        except ProcessLookupError:
            raise
        except OSError:
            return None

    def tcp_end(self, peer: tuple[str, int], ours: tuple[str, int]) -> TcpEnd | None:
        wanted = {_as_in_proc(version, (peer, ours)) for version in (4, 6)}
        for table in ("tcp", "tcp6"):
            try:
                lines = Path(f"/proc/net/{table}").read_text(encoding="ascii").splitlines()[1:]
            except OSError:
                continue
            for line in lines:
                fields = line.split()
                if (fields[1], fields[2]) in wanted:
                    return TcpEnd(uid=int(fields[7]), inode=int(fields[9]))
        return None

    def holds_socket(self, pid: int, inode: int) -> bool:
        wanted, folder = f"socket:[{inode}]", f"/proc/{pid}/fd"
        try:
            return any(os.readlink(f"{folder}/{name}") == wanted for name in os.listdir(folder))
        except OSError:
            return False  # it has ended, or hides them

    def hides_files(self, pid: int) -> bool:
        try:
            os.listdir(f"/proc/{pid}/fd")
        except FileNotFoundError:
            return False  # it has ended
        except OSError:
            return True
        return False

    def is_listening(self, path: Path) -> bool | None:
        try:
            lines = Path("/proc/net/unix").read_text(errors="replace").splitlines()[1:]
        except OSError:
            return None
        for line in lines:
            words = line.split(maxsplit=7)
            accepts = len(words) == 8 and int(words[3], 16) & _ACCEPTS_CONNECTIONS
            if accepts and words[7] == str(path):
                return True
        return False


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
