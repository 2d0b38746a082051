"""Detects the protocol of each client, and passes it to the gateway or to the HTTP server.

The HTTP server is imported when the first HTTP client connects, so that a daemon without such
clients needs less memory.
"""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import anyio
import structlog
from anyio import to_thread
from trimpoint_protocol.errors import Reason
from trimpoint_protocol.peer import Asked

from trimpoint.gateway.gateway import Gateway
from trimpoint.gateway.session.clients import Clients
from trimpoint.gateway.session.requests.errors import wire_error
from trimpoint.streams.waiting import receive_some
from trimpoint.transport.acceptor import Accept
from trimpoint.transport.client_stream import Transport
from trimpoint.transport.connection import Connection
from trimpoint.transport.inbox import ClientMessage
from trimpoint.transport.limits import Limits
from trimpoint.transport.peer_process import ENDED, Distrust
from trimpoint.transport.wire import Wire

if TYPE_CHECKING:
    from trimpoint.gateway.session.login_codes import LoginCodes
    from trimpoint.http.access.credentials import Credentials
    from trimpoint.http.access.token_file import CurrentCredentials
    from trimpoint.http.server import HttpServer

_FIRST_READ_BYTES = 64 * 1024
_MAX_REFUSING = 16
_MAX_OF_OTHER_USERS = 50
_REFUSAL_DEADLINE_S = 1.0
_LOG_EVERY_S = 60.0
_TOKEN_LOOKED_AT_EVERY_S = 1.0

log = structlog.get_logger()


_METHODS = (b"GET ", b"HEAD ", b"POST ", b"PUT ", b"PATCH ", b"DELETE ", b"OPTIONS ", b"TRACE ")
# CONNECT is left out: `C` begins a Content-Length header, and the daemon is not a proxy.


class Speech(StrEnum):
    """The protocol of a client: HTTP, or JSON messages in lines or Content-Length frames."""

    HTTP = "http"
    MESSAGES = "messages"


def speech_of(received: bytes) -> Speech | None:
    """Returns the protocol that `received` begins, or None while more bytes could still make it
    HTTP.

    No JSON text begins with a capital letter.
    """
    begun = received.lstrip(b"\r\n")  # RFC 9112, 2.2: a server ignores empty lines before a request
    if any(begun.startswith(method) for method in _METHODS):
        return Speech.HTTP
    if any(method.startswith(begun) for method in _METHODS):
        return None
    return Speech.MESSAGES


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
        self._refusing = 0
        self._next_log_s = 0.0

    async def serve(self, transport: Transport) -> None:
        """Serves one client of the Unix socket until it disconnects."""
        if transport.distrust is not None:
            await self._refuse(transport, transport.distrust)
            return
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

    def tcp_clients(
        self, tokens: "CurrentCredentials", hosts: frozenset[str], codes: "LoginCodes"
    ) -> Accept:
        """Returns the function that serves clients of a TCP listener. They need the current token,
        or a login made with it, and are disconnected when there is another one.
        """
        from trimpoint.http.access.admission import TcpAdmission
        from trimpoint.http.server import Login
        from trimpoint.http.tcp_process import TcpProcesses

        processes = TcpProcesses()
        # Other users of the machine must not take all connections.
        others = anyio.CapacityLimiter(_MAX_OF_OTHER_USERS)

        async def serve(transport: Transport) -> None:
            assert transport.endpoints is not None
            distrust = await to_thread.run_sync(processes.distrust_of, transport.endpoints)
            if distrust is not None and distrust.kind == "agent":
                await self._refuse(transport, distrust)
                return
            is_other = distrust is not None and distrust.kind == "user"
            if is_other and others.borrowed_tokens == others.total_tokens:
                return
            credentials = tokens.get()
            admission = TcpAdmission(credentials, hosts, distrust)
            async with others if is_other else nullcontext(), anyio.create_task_group() as tasks:
                tasks.start_soon(_cancel_when_replaced, tokens, credentials, tasks.cancel_scope)
                login = Login(codes, credentials)
                await self._http_server().serve(transport, admission, login)
                tasks.cancel_scope.cancel()

        return serve

    async def serve_metrics(self, transport: Transport) -> None:
        """Serves one client of the metrics listener."""
        from trimpoint.http.access.admission import MetricsAdmission

        await self._http_server().serve(transport, MetricsAdmission())

    async def _refuse(self, transport: Transport, distrust: Distrust) -> None:
        """Tells a process why it is not served, in the protocol that it speaks. Few are told at a
        time, so that they do not take the places of clients.
        """
        if self._refusing >= _MAX_REFUSING:
            return
        self._log_refusal(transport, distrust)
        self._refusing += 1
        try:
            with anyio.move_on_after(_REFUSAL_DEADLINE_S):
                received, speech = await self._first_bytes(transport)
                transport = replace(transport, received=received)
                if speech is Speech.HTTP:
                    from trimpoint.http.access.admission import UntrustedAdmission

                    await self._http_server().serve(transport, UntrustedAdmission(distrust))
                    return
                refuse = partial(_refuse_message, distrust)
                await Connection(transport, self._limits, refuse).run()
        finally:
            self._refusing -= 1

    def _log_refusal(self, transport: Transport, distrust: Distrust) -> None:
        """Logs a refusal, at most one a minute: whoever is refused must not fill the disk."""
        now_s = anyio.current_time()
        if distrust is not ENDED and now_s >= self._next_log_s:
            self._next_log_s = now_s + _LOG_EVERY_S
            log.warning("client_refused", peer=transport.peer, detail=distrust.why)

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


async def _cancel_when_replaced(
    tokens: "CurrentCredentials", credentials: "Credentials", scope: anyio.CancelScope
) -> None:
    # Another process writes the file, and no event tells.
    while tokens.get() is credentials:  # noqa: ASYNC110
        await anyio.sleep(_TOKEN_LOOKED_AT_EVERY_S)
    scope.cancel()


def _refuse_message(distrust: Distrust, connection: Connection, message: ClientMessage) -> None:
    """Answers a process's first request with the reason why it is not served, and disconnects."""
    if isinstance(message, Asked):
        error = wire_error(Reason.UNTRUSTED_CLIENT, distrust.why, distrust.hint)
        connection.refuse(message, error.encode())
        connection.close(distrust.why)
