"""Detects the protocol of each client, and passes it to the gateway or to the HTTP server.

The HTTP server is imported when the first HTTP client connects, so that a daemon without such
clients needs less memory.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import anyio

from trimpoint.gateway.gateway import Gateway
from trimpoint.gateway.session.clients import Clients
from trimpoint.gateway.transport.acceptor import Accept
from trimpoint.gateway.transport.client_stream import Transport
from trimpoint.gateway.transport.connection import Connection
from trimpoint.gateway.transport.first_bytes import Speech, speech_of
from trimpoint.gateway.transport.limits import Limits
from trimpoint.gateway.transport.wire import Wire
from trimpoint.streams.waiting import receive_some

if TYPE_CHECKING:
    from trimpoint.gateway.session.login_codes import LoginCodes
    from trimpoint.http.server import HttpServer

_FIRST_READ_BYTES = 64 * 1024


class FrontDeps(NamedTuple):
    """The servers that clients are passed to; `metrics` returns the text for Prometheus."""

    gateway: Gateway
    clients: Clients
    metrics: Callable[[], str]


class Front:
    """Accepts clients. `handshake_deadline_s` limits the time until a client's first bytes."""

    def __init__(self, deps: FrontDeps, limits: Limits, handshake_deadline_s: float) -> None:
        self._deps = deps
        self._limits = limits
        self._handshake_deadline_s = handshake_deadline_s
        self._http: HttpServer | None = None

    async def serve(self, transport: Transport) -> None:
        """Serves one client of the Unix socket until it disconnects."""
        began = anyio.current_time()
        received, speech = await self._first_bytes(transport)
        transport = replace(transport, received=received)
        if speech is Speech.HTTP:
            from trimpoint.http.access.admission import UnixAdmission

            await self._http_server().serve(transport, UnixAdmission())
            return
        gateway = self._deps.gateway
        connection = Connection(transport, self._limits, gateway.on_message)
        await gateway.serve(connection, self._handshake_deadline_s, began)

    def tcp_clients(self, token: str, hosts: frozenset[str], codes: "LoginCodes") -> Accept:
        """Returns the function that serves clients of a TCP listener; they need `token`."""
        from trimpoint.http.access.admission import TcpAdmission
        from trimpoint.http.access.credentials import Credentials
        from trimpoint.http.server import Login

        credentials = Credentials(token)
        admission, login = TcpAdmission(credentials, hosts), Login(codes, credentials)

        async def serve(transport: Transport) -> None:
            await self._http_server().serve(transport, admission, login)

        return serve

    async def serve_metrics(self, transport: Transport) -> None:
        """Serves one client of the metrics listener."""
        from trimpoint.http.access.admission import MetricsAdmission

        await self._http_server().serve(transport, MetricsAdmission())

    async def _first_bytes(self, transport: Transport) -> tuple[bytes, Speech | None]:
        """Returns the client's first bytes and the protocol that they begin; None as the protocol
        if the stream ended or the deadline passed.
        """
        received, speech = b"", None
        with anyio.move_on_after(self._handshake_deadline_s):
            while speech is None:
                try:
                    chunk = await receive_some(transport.source, _FIRST_READ_BYTES)
                except OSError:
                    break  # the connection finds the same, and says so
                if not chunk:
                    break
                received += chunk
                speech = speech_of(received)
        return received, speech

    async def _serve_websocket(self, transport: Transport, wire: Wire, home: str | None) -> None:
        from trimpoint.http.websocket import WebSocketWire, keep_alive

        assert isinstance(wire, WebSocketWire)
        gateway = self._deps.gateway
        connection = Connection(transport, self._limits, gateway.on_message, wire)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(keep_alive, connection, wire)
            await gateway.serve(connection, self._handshake_deadline_s, codex_home=home)
            tasks.cancel_scope.cancel()

    def _http_server(self) -> "HttpServer":
        if self._http is None:
            from trimpoint.http.rest import openapi
            from trimpoint.http.rest.api import Api
            from trimpoint.http.server import HttpServer
            from trimpoint.http.static_files import StaticFiles, default_folder

            deps, limits = self._deps, self._limits
            api = Api(deps.gateway, deps.clients, limits, openapi.encoded)
            pages = StaticFiles(default_folder())
            self._http = HttpServer(
                api, pages, self._serve_websocket, deps.metrics, limits.max_message_bytes
            )
        return self._http
