"""Accepts the clients of one listening socket, each in its own task."""

import asyncio
import errno
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import NamedTuple, TypeAlias

import anyio
import structlog
from anyio.lowlevel import checkpoint

from trimpoint.streams.ends import SocketEnd
from trimpoint.transport.client_stream import Endpoints, Transport
from trimpoint.transport.peer_process import Distrust

# Fewer, larger writes (measured: 1.4 times the deliveries to 32 clients). The kernel may give less.
_SEND_BUFFER_BYTES = 512 * 1024

# The client disconnected, or a resource is exhausted for now; any other error is a defect.
_PASSING_ERRORS = frozenset(
    {
        errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.ECONNABORTED, errno.EPROTO,
        errno.EPERM,
    }
)  # fmt: skip

_log = structlog.get_logger("trimpoint.transport.listeners")


class Peer(NamedTuple):
    """The connected program, described for people, and its working directory, or None if that is
    unknown. `distrust` tells why it may not be a client, and `endpoints` is set for TCP.
    """

    name: str
    folder: str | None = None
    distrust: Distrust | None = None
    endpoints: Endpoints | None = None


class AcceptLimits(NamedTuple):
    """The limits of a listener.

    `refusal` is sent to a client beyond `max_clients`. After a failed accept, the next attempt
    follows after `retry_s` seconds, or when a client disconnects.
    """

    max_clients: int
    refusal: bytes
    retry_s: float = 1.0


Accept: TypeAlias = Callable[[Transport], Awaitable[None]]
Admit: TypeAlias = Callable[[socket.socket], Peer | None]


class Acceptor:
    """Accepts clients of a listening socket.

    `admit` returns the peer, or None to close the connection without a message. `accept` is awaited
    for each client; the client stays connected until it returns.
    """

    def __init__(
        self, listener: socket.socket, accept: Accept, admit: Admit, limits: AcceptLimits
    ) -> None:
        self._listener = listener
        self._accept = accept
        self._admit = admit
        self._limits = limits
        self._clients = 0
        self._departure = anyio.Event()

    async def serve(self) -> None:
        """Accepts clients until cancelled."""
        async with anyio.create_task_group() as tasks:
            while True:
                sock = await self._next_socket()
                if sock is not None and (peer := self._admitted(sock)) is not None:
                    self._clients += 1
                    end = SocketEnd(sock)
                    transport = Transport(end, end, *peer)
                    tasks.start_soon(self._serve_client, transport)
                # A flood of new clients must not starve the connected ones.
                await checkpoint()

    async def _next_socket(self) -> socket.socket | None:
        try:
            sock, _ = await asyncio.get_running_loop().sock_accept(self._listener)
        except OSError as error:
            if error.errno not in _PASSING_ERRORS:
                raise
            _log.warning("accept_failed", error=error.strerror, clients=self._clients)
            with anyio.move_on_after(self._limits.retry_s):
                await self._departure.wait()
            return None
        return sock

    def _admitted(self, sock: socket.socket) -> Peer | None:
        try:
            peer = self._admit(sock)
        except OSError as error:  # some systems tell nothing of a client that has left
            _log.info("client_left", error=error.strerror)
            peer = None
        if peer is None:
            sock.close()
            return None
        if self._clients >= self._limits.max_clients:
            _log.warning("too_many_clients", max_clients=self._limits.max_clients, peer=peer.name)
            with suppress(OSError), sock:
                sock.send(self._limits.refusal, socket.MSG_DONTWAIT)
            return None
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER_BYTES)
        return peer

    async def _serve_client(self, transport: Transport) -> None:
        try:
            await self._accept(transport)
        except Exception:
            # A defect in serving one client must not end the others.
            _log.exception("client_not_served", peer=transport.peer)
        finally:
            transport.close()
            self._clients -= 1
            self._departure.set()
            self._departure = anyio.Event()
