"""Answers HTTP requests and carries WebSockets to the gateway."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

import anyio
import h11
import structlog

from trimpoint.gateway.transport.streams import Transport
from trimpoint.gateway.transport.wire import Wire
from trimpoint.http.channel import BodyTooLarge, HttpChannel
from trimpoint.http.exchange import Request, Response
from trimpoint.http.websocket import (
    MAX_FRAME_BYTES,
    UpgradeRefused,
    accept_upgrade,
    wants_upgrade,
)

HEAD_DEADLINE_S = 10.0
MAX_BODY_BYTES = 1024 * 1024
WEBSOCKET_PATHS = frozenset({"/", "/rpc"})
UNFRAGMENTED = "x-codex-websocket-max-unfragmented-message-bytes"

log = structlog.get_logger()

ServeMessages = Callable[[Transport, Wire], Awaitable[None]]


class HttpServer:
    """`serve_messages` talks JSON-RPC to a client over the wire it is given."""

    def __init__(self, serve_messages: ServeMessages, max_message_bytes: int) -> None:
        self._serve_messages = serve_messages
        self._max_message_bytes = max_message_bytes

    async def serve(self, transport: Transport) -> None:
        """Answer the requests of one connection until it is gone."""
        channel = HttpChannel(transport)
        try:
            while (request := await self._next_head(channel)) is not None:
                if wants_upgrade(request):
                    await self._serve_websocket(transport, channel, request)
                    return
                await self._answer(channel, request)
                if not channel.is_reusable:
                    return
        except h11.RemoteProtocolError as error:
            if channel.may_respond:
                await channel.send(Response(error.error_status_hint, b"This is no HTTP request.\n"), close=True)
        except (OSError, h11.LocalProtocolError) as error:
            log.info("http_client_gone", peer=transport.peer, detail=str(error))

    async def _next_head(self, channel: HttpChannel) -> Request | None:
        with anyio.move_on_after(HEAD_DEADLINE_S):
            return await channel.next_head()
        return None

    async def _answer(self, channel: HttpChannel, request: Request) -> None:
        try:
            request = request._replace(body=await channel.body(MAX_BODY_BYTES))
        except BodyTooLarge:
            await channel.send(Response(413), close=True)
            return
        response = self._response(request)
        await channel.send(response, with_body=request.method != "HEAD")

    def _response(self, request: Request) -> Response:
        match request.path:
            case "/healthz" | "/readyz":
                return Response(200)
            case _:
                return Response(404, b"There is nothing here.\n")

    async def _serve_websocket(self, transport: Transport, channel: HttpChannel, request: Request) -> None:
        if request.path not in WEBSOCKET_PATHS and not request.path.startswith("/rpc/"):
            await channel.send(Response(404, b"WebSockets are at /rpc.\n"), close=True)
            return
        received = await channel.switch()
        try:
            wire, response = accept_upgrade(request, self._max_message_bytes, {UNFRAGMENTED: str(MAX_FRAME_BYTES)})
        except UpgradeRefused as refused:
            await channel.send(refused.response, close=True)
            return
        await channel.send_raw(response)
        await self._serve_messages(replace(transport, received=received), wire)
