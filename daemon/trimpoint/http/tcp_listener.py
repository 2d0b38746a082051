"""TCP listeners for HTTP."""

import socket
from contextlib import closing
from typing import NamedTuple

import anyio
import structlog
from anyio.abc import TaskStatus

from trimpoint.transport.acceptor import Accept, AcceptLimits, Acceptor, Peer
from trimpoint.transport.client_stream import Endpoints

MAX_CONNECTIONS = 100
_BACKLOG = 128
_OVERLOADED = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

log = structlog.get_logger()


class Address(NamedTuple):
    """An address to listen on."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def bind(address: Address) -> socket.socket:
    """Returns a listening socket.

    :raises OSError: when the address cannot be used.
    """
    family, kind, _, _, place = socket.getaddrinfo(
        address.host, address.port, type=socket.SOCK_STREAM
    )[0]
    listener = socket.socket(family, kind)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(place)
        listener.listen(_BACKLOG)
    except BaseException:
        listener.close()
        raise
    return listener


def address_of(listener: socket.socket) -> Address:
    """Returns the address of a listening socket, with the port that the system chose."""
    host, port = listener.getsockname()[:2]
    return Address(host, port)


async def serve_tcp(
    listener: socket.socket,
    accept: Accept,
    *,
    task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
) -> None:
    """Serves clients until it is cancelled, then closes the socket; signals `task_status` when
    clients can connect.
    """
    with closing(listener):
        listener.setblocking(False)
        limits = AcceptLimits(MAX_CONNECTIONS, _OVERLOADED)
        task_status.started()
        await Acceptor(listener, accept, _admit, limits).serve()


def _admit(sock: socket.socket) -> Peer | None:
    """Returns the peer of a connection; whether it is allowed is decided for each of its
    requests.
    """
    try:
        peer, ours = sock.getpeername()[:2], sock.getsockname()[:2]
    except OSError:  # it is gone already
        return None
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return Peer(f"tcp {Address(*peer)}", endpoints=Endpoints(peer, ours))
