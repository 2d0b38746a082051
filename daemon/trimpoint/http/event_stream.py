"""Server-sent events to one client.

The events go through a connection like those of any client: what is sent to many is encoded once,
and a client that does not read costs no more than its outbox limit, then it is dropped.
"""

from collections.abc import Awaitable, Callable

import anyio

from trimpoint.gateway.transport.client_stream import Transport
from trimpoint.gateway.transport.connection import ClientMessage, Connection, Limits
from trimpoint.gateway.transport.wire import CloseCode, Dialect, Ended, Received, encode_event
from trimpoint.http.exchange import EVENT_STREAM, SECURITY_HEADERS

PING_S = 15.0
_PING = b": still here\n\n"
_HEAD = "HTTP/1.1 200 OK\r\n" + "".join(
    f"{name}: {value}\r\n"
    for name, value in (("Content-Type", EVENT_STREAM), ("Connection", "close"), *SECURITY_HEADERS)
)


class EventStreamWire:
    """A `Wire` that only sends: what a client says after its request is not read."""

    @property
    def dialect(self) -> Dialect:
        return Dialect.EVENT_STREAM

    def feed(self, data: bytes) -> list[Received]:
        del data
        return []

    def eof(self) -> list[Received]:
        return [Ended("the client closed it")]

    def encode(self, message: bytes) -> bytes:
        return encode_event(message)

    def farewell(self, code: CloseCode, reason: str) -> bytes:
        del code, reason
        return b""


def event_connection(transport: Transport, limits: Limits) -> Connection:
    """Returns a connection that sends events. Call `begin` before anything else is sent."""
    return Connection(transport, limits, _nothing_comes, EventStreamWire())


def begin(connection: Connection) -> None:
    """Sends the head of the response."""
    connection.send_framed(f"{_HEAD}\r\n".encode())


async def run(connection: Connection, produce: Callable[[], Awaitable[None]]) -> None:
    """Runs `produce` while the client listens, and pings the client; returns when both have ended.

    A client that leaves does not end `produce`: a command that was begun is carried out.
    """
    async with anyio.create_task_group() as tasks:

        async def listen() -> None:
            async with anyio.create_task_group() as while_listening:
                while_listening.start_soon(_ping, connection)
                await connection.run()
                while_listening.cancel_scope.cancel()

        tasks.start_soon(listen)
        await produce()


async def _ping(connection: Connection) -> None:
    """Sends a comment from time to time, so that proxies keep the stream open."""
    while True:
        await anyio.sleep(PING_S)
        connection.send_framed(_PING)


def _nothing_comes(connection: Connection, message: ClientMessage) -> None:
    """Never called: the wire reads nothing."""
