"""Tells what each client speaks, and hands it to the gateway or to the HTTP server.

The HTTP server and what it needs are imported when the first client speaks HTTP: a daemon without such clients
is spared their memory.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

import anyio

from trimpoint.gateway.gateway import Gateway
from trimpoint.gateway.transport.connection import Connection, Limits
from trimpoint.gateway.transport.first_bytes import Speech, speech_of
from trimpoint.gateway.transport.streams import Transport
from trimpoint.gateway.transport.wire import Wire

if TYPE_CHECKING:
    from trimpoint.http.server import HttpServer

_FIRST_READ_BYTES = 64 * 1024


class Front:
    """`handshake_deadline_s` is how long a client may take to introduce itself."""

    def __init__(self, gateway: Gateway, limits: Limits, handshake_deadline_s: float) -> None:
        self._gateway = gateway
        self._limits = limits
        self._handshake_deadline_s = handshake_deadline_s
        self._http: HttpServer | None = None

    async def serve(self, transport: Transport) -> None:
        """Talk to one client of the Unix socket until it is gone."""
        began = anyio.current_time()
        received, speech = await self._first_bytes(transport)
        transport = replace(transport, received=received)
        if speech is Speech.HTTP:
            await self._http_server().serve(transport)
            return
        left_s = max(0.0, began + self._handshake_deadline_s - anyio.current_time())
        await self._serve_messages(transport, None, left_s)

    async def serve_owner(self, transport: Transport) -> None:
        """As `serve`, for the client that this daemon was started by, which may take its time."""
        await self._serve_messages(transport, None, None)

    async def _first_bytes(self, transport: Transport) -> tuple[bytes, Speech | None]:
        """Return what a client sends first; what came and None at the end of the stream and after the deadline."""
        received, speech = b"", None
        with anyio.move_on_after(self._handshake_deadline_s):
            while speech is None:
                try:
                    chunk = transport.source.read(_FIRST_READ_BYTES)
                except BlockingIOError:
                    await anyio.wait_readable(transport.source.fileno())
                    continue
                except OSError:
                    break  # the connection finds the same, and says so
                if not chunk:
                    break
                received += chunk
                speech = speech_of(received)
        return received, speech

    async def _serve_messages(self, transport: Transport, wire: Wire | None, deadline_s: float | None) -> None:
        connection = Connection(transport, self._limits, self._gateway.on_message, wire)
        await self._gateway.serve(connection, deadline_s)

    async def _serve_websocket(self, transport: Transport, wire: Wire) -> None:
        from trimpoint.http.websocket import WebSocketWire, keep_alive

        assert isinstance(wire, WebSocketWire)
        connection = Connection(transport, self._limits, self._gateway.on_message, wire)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(keep_alive, connection, wire)
            await self._gateway.serve(connection, self._handshake_deadline_s)
            tasks.cancel_scope.cancel()

    def _http_server(self) -> "HttpServer":
        if self._http is None:
            from trimpoint.http.server import HttpServer

            self._http = HttpServer(self._serve_websocket, self._limits.max_message_bytes)
        return self._http
