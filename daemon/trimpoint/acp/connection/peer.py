"""One side of a JSON-RPC connection: lines in, lines out, in order.

Whatever the other side sends, a request is answered once, and `take` does not raise for it.
"""

import asyncio
import itertools
from collections.abc import Callable
from typing import Any, Protocol

import msgspec
from msgspec import Raw
from trimpoint_protocol import jsonrpc
from trimpoint_protocol.framing import LineFramer, Malformed, TooLarge, Truncated

from trimpoint.acp.json_access import as_object

MAX_MESSAGE_BYTES = 64 * 1024 * 1024
METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL = -32601, -32602, -32603


class RpcError(Exception):
    """A request was refused, by the other side or by us."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.data: Any = data

    def __str__(self) -> str:
        return self.message

    def member(self, name: str) -> Any:
        """Returns a member of `data`, None if there is none."""
        return as_object(self.data).get(name)


class Incoming:
    """A request of the other side. The first answer counts, and only that is sent."""

    def __init__(self, peer: "Peer", request: jsonrpc.Request) -> None:
        self.id = request.id
        self.method = request.method
        self.params: Raw = request.params if request.params is not None else Raw(b"{}")
        self.is_answered = False
        self._peer = peer

    def answer(self, result: object) -> None:
        """Send the result."""
        if not self.is_answered:
            self.is_answered = True
            self._peer.send_result(self.id, result)

    def refuse(self, error: RpcError) -> None:
        """Send an error."""
        if not self.is_answered:
            self.is_answered = True
            self._peer.send_error(self.id, error)


class Served(Protocol):
    """What takes the other side's calls. Neither method may wait."""

    def requested(self, request: Incoming) -> None:
        """A request, which is to be answered in time."""
        ...

    def notified(self, method: str, params: Raw) -> None:
        """A notification."""
        ...


OnResult = Callable[[Raw], None]


class _Waiting:
    def __init__(self, future: "asyncio.Future[Raw]", on_result: OnResult | None) -> None:
        self.future = future
        self.on_result = on_result


class Peer:
    """`send` takes a framed message; `versioned`: with the member `jsonrpc`."""

    def __init__(self, served: Served, send: Callable[[bytes], None], *, versioned: bool) -> None:
        self._served = served
        self._send = send
        self._versioned = versioned
        self._framer = LineFramer(MAX_MESSAGE_BYTES)
        self._ids = itertools.count(1)
        self._waiting: dict[int, _Waiting] = {}

    async def request(self, method: str, params: object, on_result: OnResult | None = None) -> Raw:
        """Ask, and return the result.

        :param on_result: is called with it before anything that was sent behind it is looked at.

        :raises RpcError: the other side refused, or is gone.
        """
        request_id = next(self._ids)
        return await self.result_of(self.begin(request_id, method, params, on_result), request_id)

    def begin(
        self, request_id: int, method: str, params: object, on_result: OnResult | None = None
    ) -> "asyncio.Future[Raw]":
        """Send a request under an id of `next_id`."""
        waiting = _Waiting(asyncio.get_running_loop().create_future(), on_result)
        self._waiting[request_id] = waiting
        self._send_line(
            jsonrpc.encode_request(b"%d" % request_id, method, params, versioned=self._versioned)
        )
        return waiting.future

    def next_id(self) -> int:
        """Returns an id for a request."""
        return next(self._ids)

    async def result_of(self, future: "asyncio.Future[Raw]", request_id: int) -> Raw:
        """Return the result of a request; a late one is ignored.

        :raises RpcError: the other side refused, or is gone.
        """
        try:
            return await future
        finally:
            self._waiting.pop(request_id, None)

    def notify(self, method: str, params: object) -> None:
        """Send a notification."""
        self._send_line(jsonrpc.encode_notification(method, params, versioned=self._versioned))

    def send_result(self, request_id: bytes, result: object) -> None:
        """Answer a request."""
        self._send_line(jsonrpc.encode_result(request_id, result, versioned=self._versioned))

    def send_error(self, request_id: bytes, error: RpcError) -> None:
        """Answer a request with an error."""
        line = jsonrpc.encode_error(
            request_id, error.code, error.message, error.data, versioned=self._versioned
        )
        self._send_line(line)

    def take(self, data: bytes) -> None:
        """Take what has been received."""
        for frame in self._framer.feed(data):
            match frame:
                case bytes():
                    if frame.strip():
                        self._take_message(frame)
                case TooLarge(size_bytes=size):
                    self._refuse_line(
                        f"The message has {size:,} bytes; at most {MAX_MESSAGE_BYTES:,} are taken."
                    )
                case Malformed(reason=reason):
                    self._refuse_line(reason)
                case Truncated():
                    pass

    def lost(self, error: RpcError) -> None:
        """Fail all requests that wait for an answer."""
        waiting, self._waiting = list(self._waiting.values()), {}
        for one in waiting:
            if not one.future.done():
                one.future.set_exception(error)

    def _take_message(self, frame: bytes) -> None:
        match jsonrpc.decode(frame):
            case jsonrpc.Request() as request:
                self._served.requested(Incoming(self, request))
            case jsonrpc.Notification(method=method, params=params):
                self._served.notified(method, params if params is not None else Raw(b"{}"))
            case jsonrpc.Response(id=request_id, result=result):
                self._take_result(request_id, result)
            case jsonrpc.ErrorResponse(id=request_id, error=error):
                self._take_error(request_id, error)
            case jsonrpc.Batch():
                self.send_error(
                    jsonrpc.NULL_ID, RpcError(jsonrpc.INVALID_REQUEST, "Batches are not taken.")
                )
            case jsonrpc.Invalid() as invalid:
                if invalid.answerable:
                    self.send_error(invalid.id, RpcError(invalid.code, invalid.message))

    def _take_result(self, request_id: bytes, result: Raw) -> None:
        waiting = self._waited_for(request_id)
        if waiting is not None:
            if waiting.on_result is not None:
                waiting.on_result(result)
            waiting.future.set_result(result)

    def _take_error(self, request_id: bytes, error: Raw) -> None:
        waiting = self._waited_for(request_id)
        if waiting is not None:
            told = jsonrpc.error_object(error) or jsonrpc.ErrorObject(
                INTERNAL, "The error has no message."
            )
            data = msgspec.json.decode(told.data) if isinstance(told.data, Raw) else None
            waiting.future.set_exception(RpcError(told.code, told.message, data))

    def _waited_for(self, request_id: bytes) -> _Waiting | None:
        key = jsonrpc.id_key(request_id)
        waiting = self._waiting.pop(key, None) if isinstance(key, int) else None
        return waiting if waiting is not None and not waiting.future.done() else None

    def _refuse_line(self, problem: str) -> None:
        self.send_error(jsonrpc.NULL_ID, RpcError(jsonrpc.PARSE_ERROR, problem))

    def _send_line(self, line: bytes) -> None:
        self._send(self._framer.encode(line))
