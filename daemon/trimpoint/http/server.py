"""Answers HTTP requests, and passes WebSockets to the gateway."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import NamedTuple

import anyio
import h11
import msgspec
import structlog
from anyio import to_thread

from trimpoint.gateway.session.login_codes import LoginCodes
from trimpoint.http.access.admission import Admission
from trimpoint.http.access.credentials import Credentials
from trimpoint.http.access.login_page import login_page
from trimpoint.http.channel import BodyTooLarge, HttpChannel
from trimpoint.http.documents import PREFIX, document
from trimpoint.http.exchange import JSON, Request, Response
from trimpoint.http.problems import HttpReason, Problem, as_response, problem
from trimpoint.http.rest.api import Api, Exchange, Refused, decoded_body
from trimpoint.http.rest.operations import LoggedIn, LoginBody, match
from trimpoint.http.static_files import StaticFiles
from trimpoint.http.websocket import MAX_FRAME_BYTES, UpgradeRefused, accept_upgrade, wants_upgrade
from trimpoint.transport.client_stream import Transport
from trimpoint.transport.wire import Wire

HEAD_DEADLINE_S = 10.0
BODY_DEADLINE_S = 30.0
MAX_BODY_BYTES = 1024 * 1024
WEBSOCKET_PATHS = frozenset({"/", "/rpc"})
UNFRAGMENTED = "x-codex-websocket-max-unfragmented-message-bytes"

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"

log = structlog.get_logger()

ServeMessages = Callable[[Transport, Wire, str | None], Awaitable[None]]


class Login(NamedTuple):
    """The parts that a browser's login needs; the Unix socket needs none."""

    codes: LoginCodes
    credentials: Credentials


class HttpServer:
    """The HTTP server. `serve_messages` serves a JSON-RPC client over a wire, in the Codex home of
    its login; `metrics` returns the text for Prometheus.
    """

    def __init__(
        self,
        api: Api,
        pages: StaticFiles,
        serve_messages: ServeMessages,
        metrics: Callable[[], str],
        max_message_bytes: int,
    ) -> None:
        self._api = api
        self._pages = pages
        self._serve_messages = serve_messages
        self._metrics = metrics
        self._max_message_bytes = max_message_bytes
        self._frame_limits = {UNFRAGMENTED: str(min(max_message_bytes, MAX_FRAME_BYTES))}

    async def serve(
        self, transport: Transport, admission: Admission, login: Login | None = None
    ) -> None:
        """Serves the requests of one connection until it is closed."""
        channel = HttpChannel(transport)
        try:
            while (request := await _next_head(channel)) is not None:
                refusal = admission.refusal(request, int(time.time()))
                if refusal is not None:
                    response = _refused(request, refusal)
                    await channel.send(response, close=True, with_body=request.method != "HEAD")
                    return
                if wants_upgrade(request):
                    home = _home_of_login(request, login)
                    await self._serve_websocket(transport, channel, request, home)
                    return
                await self._answer(transport, channel, request, login)
                if not channel.is_reusable:
                    return
        except h11.RemoteProtocolError as error:
            await _answer_bad_request(channel, error)
        except OSError as error:
            detail = error.strerror or "it took no more"
            log.info("http_client_gone", peer=transport.peer, detail=detail)

    async def _answer(
        self, transport: Transport, channel: HttpChannel, request: Request, login: Login | None
    ) -> None:
        try:
            with anyio.fail_after(BODY_DEADLINE_S):
                request = request._replace(body=await channel.body(MAX_BODY_BYTES))
        except BodyTooLarge as error:
            details = problem(
                HttpReason.BODY_TOO_LARGE, f"The body is larger than {error.max_bytes} bytes."
            )
            await channel.send(as_response(details), close=True)
            return
        except TimeoutError:
            return
        response = await self._response(transport, request, login)
        if response is not None:
            await channel.send(response, with_body=request.method != "HEAD")

    async def _response(
        self, transport: Transport, request: Request, login: Login | None
    ) -> Response | None:
        page = self._pages.response(request) or login_page(request)
        if page is None and request.path.startswith(PREFIX):
            # Beside the loop: other clients would wait while a long page is made.
            page = await to_thread.run_sync(document, request)
        if page is not None:
            return page
        found = match(request.method, request.path)
        if isinstance(found, frozenset):
            return _no_such_operation(request, found)
        match found.operation.id:
            case "readHealth" | "readReadiness":
                return Response(200)
            case "readMetrics":
                return Response(200, self._metrics().encode(), METRICS_TYPE)
            case "login":
                return _logged_in(request, login, transport.peer)
            case operation:
                try:
                    return await self._api.handlers[operation](
                        Exchange(request, found.parameters, transport)
                    )
                except Refused as refused:
                    return as_response(refused.details)

    async def _serve_websocket(
        self, transport: Transport, channel: HttpChannel, request: Request, home: str | None
    ) -> None:
        if request.path not in WEBSOCKET_PATHS and not request.path.startswith("/rpc/"):
            details = problem(
                HttpReason.NOT_FOUND, "There is no WebSocket here.", "WebSockets are at /rpc."
            )
            await channel.send(as_response(details), close=True)
            return
        received = await channel.switch()
        try:
            wire, response = accept_upgrade(request, self._max_message_bytes, self._frame_limits)
        except UpgradeRefused as refused:
            await channel.send(refused.response, close=True)
            return
        await channel.send_raw(response)
        await self._serve_messages(replace(transport, received=received), wire, home)


async def _next_head(channel: HttpChannel) -> Request | None:
    """Returns the next request; None if none arrives before the deadline, or the client has
    disconnected.
    """
    with anyio.move_on_after(HEAD_DEADLINE_S):
        return await channel.next_head()
    return None


async def _answer_bad_request(channel: HttpChannel, error: h11.RemoteProtocolError) -> None:
    if not channel.may_respond:
        return
    details = problem(HttpReason.BAD_REQUEST, "This is not a valid HTTP request.")
    with anyio.move_on_after(HEAD_DEADLINE_S):
        try:
            await channel.send(
                as_response(details)._replace(status=error.error_status_hint), close=True
            )
        except OSError:
            return  # the client has left


def _no_such_operation(request: Request, allowed: frozenset[str]) -> Response:
    if not allowed:
        return as_response(
            problem(HttpReason.NOT_FOUND, "There is nothing here.", "See /api/v1/openapi.json.")
        )
    shown = ", ".join(sorted(allowed))
    details = problem(
        HttpReason.METHOD_NOT_ALLOWED,
        f"{request.method} is not allowed here.",
        f"Allowed: {shown}.",
    )
    return as_response(details, ("Allow", shown))


def _refused(request: Request, refusal: Problem) -> Response:
    proof = (("WWW-Authenticate", "Bearer"),) if refusal.status == 401 else ()
    return as_response(refusal, *proof)


def _home_of_login(request: Request, login: Login | None) -> str | None:
    """Returns the Codex home of an allowed request's login; None for the daemon's own, which
    clients with a token use.
    """
    proof = login.credentials.login_of(request, int(time.time())) if login is not None else None
    return proof.codex_home if proof is not None else None


def _logged_in(request: Request, login: Login | None, peer: str) -> Response:
    try:
        code = decoded_body(request, LoginBody).code
    except Refused as refused:
        return as_response(refused.details)
    now_s = time.monotonic()
    used = login.codes.use(code, now_s) if login is not None else None
    if login is None or used is None:
        since_s = login.codes.used_since_s(code, now_s) if login is not None else None
        return as_response(_bad_code(since_s, peer))
    value = login.credentials.new_login(int(time.time()), used.codex_home)
    return Response(200, msgspec.json.encode(LoggedIn(value)), JSON)


def _bad_code(used_since_s: float | None, peer: str) -> Problem:
    if used_since_s is None:
        hint = "Ask for another with `trimpoint open`."
        return problem(HttpReason.UNAUTHORIZED, "This code is unknown, or has expired.", hint)
    log.warning("login_code_used_twice", peer=peer, first_use_s_ago=round(used_since_s))
    return problem(
        HttpReason.UNAUTHORIZED,
        f"This code was used already, {used_since_s:.0f} s ago.",
        "If that was not your browser, somebody else is logged in: end all logins with `trimpoint "
        "daemon token --new`. Ask for another code with `trimpoint open`.",
    )
