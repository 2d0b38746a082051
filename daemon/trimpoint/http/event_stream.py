"""Sends server-sent events to a client.

The events use a connection like that of any client: an event for several clients is encoded once,
and a client that does not read is disconnected when its outbox is full.
"""

from collections.abc import Awaitable, Callable

import anyio

from trimpoint.http.exchange import EVENT_STREAM, SECURITY_HEADERS
from trimpoint.transport.client_stream import Transport
from trimpoint.transport.connection import Connection
from trimpoint.transport.inbox import ClientMessage
from trimpoint.transport.limits import Limits
from trimpoint.transport.wire import CloseCode, Dialect, Ended, Received, encode_event

PING_S = 15.0
_PING = b": still here\n\n"
_HEAD = "HTTP/1.1 200 OK\r\n" + "".join(
    f"{name}: {value}\r\n"
    for name, value in (("Content-Type", EVENT_STREAM), ("Connection", "close"), *SECURITY_HEADERS)
)


class EventStreamWire:
    """A `Wire` that only sends; bytes that the client sends after its request are ignored."""

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
    """Returns a connection that sends events. `begin` must be called before anything else is
    sent.
    """
    return Connection(transport, limits, _nothing_comes, EventStreamWire())


def begin(connection: Connection) -> None:
    """Sends the head of the response."""
    connection.send_framed(f"{_HEAD}\r\n".encode())


async def run(connection: Connection, produce: Callable[[], Awaitable[None]]) -> None:
    """Runs `produce` and sends its events and pings; returns when `produce` and the connection have
    ended.

    If the client disconnects, `produce` continues, so that a command that has begun is carried out.
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
    """Sends comments at intervals, so that proxies keep the stream open."""
    while True:
        await anyio.sleep(PING_S)
        connection.send_framed(_PING)


def _nothing_comes(connection: Connection, message: ClientMessage) -> None:
    """Does nothing: it is never called, because the wire reads nothing."""
