"""A scripted model on loopback: the part of the Responses API that Codex uses.

The real Codex runs against it without an account (`trimpoint.testkit.codex_home` has the
configuration). Listens on 127.0.0.1 only.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from itertools import count
from types import TracebackType
from typing import Any, Self, TypeAlias

import anyio
import h11
import msgspec
from anyio.abc import ByteStream, SocketAttribute

from trimpoint.testkit import sse
from trimpoint.testkit.loopback_http import HttpConnection, HttpRequest
from trimpoint.testkit.model_request import ModelRequest
from trimpoint.testkit.replies import CutOff, Refused, Reply, Stalled, StreamEnding, http_error

#: Decides what the model answers. An exception of it is answered with HTTP 500 and raised
#: again when the `async with` block of the model ends.
Respond: TypeAlias = Callable[[ModelRequest], Reply | Awaitable[Reply]]

_NO_MODELS = msgspec.json.encode({"object": "list", "data": [], "models": []})


class ScriptedModel:
    """`async with ScriptedModel(respond) as model:` serves until the block ends, even if replies
    hang.

    `requests` holds every model request in order of arrival, including unanswered ones.
    `websocket_attempts` counts the refused WebSocket requests of the built-in provider.
    """

    def __init__(self, respond: Respond) -> None:
        self.requests: list[ModelRequest] = []
        self.websocket_attempts = 0
        self._respond = respond
        self._script_errors: list[Exception] = []
        self._arrived = anyio.Event()
        self._numbers = count(1)
        self._port: int | None = None
        self._running = AsyncExitStack()

    @property
    def base_url(self) -> str:
        """Returns `http://127.0.0.1:PORT/v1`.

        :raises RuntimeError: outside the `async with` block.
        """
        if self._port is None:
            raise RuntimeError("the scripted model is not running: use `async with`")
        return f"http://127.0.0.1:{self._port}/v1"

    def turn_requests(self) -> list[ModelRequest]:
        """Returns the requests that belong to turns; the result of a tool call is sent in a request
        of its own.
        """
        return [request for request in self.requests if request.kind == "turn"]

    async def wait_for_request(
        self, wanted: Callable[[ModelRequest], bool] | int = 1
    ) -> ModelRequest:
        """Returns the first request that `wanted` accepts, or the `wanted`-th of all, including
        past ones.

        Waits without a deadline; the caller sets one (`anyio.fail_after`).
        """
        while (found := self._find(wanted)) is None:
            await self._arrived.wait()
        return found

    def _find(self, wanted: Callable[[ModelRequest], bool] | int) -> ModelRequest | None:
        if isinstance(wanted, int):
            return self.requests[wanted - 1] if len(self.requests) >= wanted else None
        return next((request for request in self.requests if wanted(request)), None)

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as starting:
            listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
            starting.push_async_callback(listener.aclose)
            tasks = await starting.enter_async_context(anyio.create_task_group())
            starting.callback(tasks.cancel_scope.cancel)
            tasks.start_soon(listener.serve, self._serve)
            self._port = listener.extra(SocketAttribute.local_port)
            self._running = starting.pop_all()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._port = None
        if isinstance(exc, Exception):
            # Given to the task group, the test's own error would come out wrapped in an
            # ExceptionGroup.
            await self._running.aclose()
        else:
            await self._running.__aexit__(exc_type, exc, trace)
        if not self._script_errors:
            return
        if exc is None:
            raise self._script_errors[0]
        exc.add_note(f"the scripted model's respond had failed before: {self._script_errors[0]!r}")

    async def _serve(self, stream: ByteStream) -> None:
        async with stream:
            try:
                await self._serve_requests(HttpConnection(stream))
            except (anyio.BrokenResourceError, anyio.ClosedResourceError, h11.RemoteProtocolError):
                # Codex drops the connection when a turn is interrupted, and when it exits.
                return

    async def _serve_requests(self, http: HttpConnection) -> None:
        while (request := await http.next_request()) is not None:
            match request.method, request.path:
                case "POST", "/v1/responses":
                    if not await self._answer(http, request):
                        return
                case "GET", "/v1/responses":
                    self.websocket_attempts += 1
                    # Codex POSTs at once; after a 404 it tries the WebSocket for 6 s more
                    # (measured: 0.163).
                    await http.send_response(426, b"")
                case "GET", "/v1/models":
                    await http.send_response(200, _NO_MODELS)
                case _:
                    await http.send_response(404, b"")

    async def _answer(self, http: HttpConnection, request: HttpRequest) -> bool:
        """Answers a request; returns whether the connection can serve another one."""
        if encoding := request.headers.get("content-encoding"):
            # Measured: Codex compresses nothing for an API key or a custom provider, at any size.
            await http.send_response(
                415, f"the scripted model reads no {encoding}".encode(), "text/plain"
            )
            return True
        try:
            body = msgspec.json.decode(request.body, type=dict[str, Any])
        except msgspec.MsgspecError as error:
            await http.send_response(400, f"not a JSON object: {error}".encode(), "text/plain")
            return True
        return await self._send(http, await self._reply_to(ModelRequest(body, request.headers)))

    async def _reply_to(self, request: ModelRequest) -> Reply:
        self.requests.append(request)
        self._arrived.set()
        self._arrived = anyio.Event()
        try:
            reply = self._respond(request)
            return await reply if inspect.isawaitable(reply) else reply
        except Exception as error:
            # The boundary to the script: a broken one must fail the test, not leave Codex waiting.
            self._script_errors.append(error)
            return http_error(500, "the scripted model's respond failed")

    async def _send(self, http: HttpConnection, reply: Reply) -> bool:
        if reply.held_until is not None:
            await reply.held_until.wait()
        if isinstance(reply.ending, Refused):
            await http.send_response(reply.ending.status, reply.ending.body)
            return True
        await self._stream(http, sse.numbered(reply, self._numbers), reply.ending)
        return not isinstance(reply.ending, CutOff)

    async def _stream(self, http: HttpConnection, reply: Reply, ending: StreamEnding) -> None:
        response_id = f"resp_{next(self._numbers)}"
        await http.start_stream("text/event-stream")
        for frame in sse.opening(reply, response_id):
            await http.send_chunk(frame)
        if isinstance(ending, Stalled):
            await ending.until.wait()
        for frame in sse.closing(reply, ending, response_id):
            await http.send_chunk(frame)
        if not isinstance(ending, CutOff):
            await http.end_stream()
