"""One end of a JSON-RPC connection on asyncio; the protocol itself is `trimpoint_protocol.peer`.

Always true: each request of the peer is answered once, and `take` does not raise whatever the peer
sends.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import msgspec
from msgspec import Raw
from trimpoint_protocol import jsonrpc, peer
from trimpoint_protocol.jsonrpc.framing import LineFramer, Malformed, TooLarge, Truncated
from trimpoint_protocol.lenient import as_dict

log = logging.getLogger(__name__)

FAULT = "trimpoint failed internally; its log has the details."
MAX_MESSAGE_BYTES = 64 * 1024 * 1024
METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL = -32601, -32602, -32603
OnResult = Callable[[Raw], None]


class RpcError(Exception):
    """Raised when a request was refused, by the peer or by us."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.data: Any = data

    def __str__(self) -> str:
        return self.message

    def member(self, name: str) -> Any:
        """Returns the member `name` of `data`, or None if it is missing."""
        return as_dict(self.data).get(name)


class Incoming:
    """A request of the peer. Only the first answer is sent; later ones are ignored."""

    def __init__(self, connection: "Peer", request: jsonrpc.Request) -> None:
        self.id = request.id
        self.method = request.method
        self.params: Raw = request.params if request.params is not None else Raw(b"{}")
        self.is_answered = False
        self._connection = connection

    def answer(self, result: object) -> None:
        """Sends the result, unless the request was answered before."""
        if not self.is_answered:
            self.is_answered = True
            self._connection.send_result(self.id, result)

    def refuse(self, error: RpcError) -> None:
        """Sends an error, unless the request was answered before."""
        if not self.is_answered:
            self.is_answered = True
            self._connection.send_error(self.id, error)


class Served(Protocol):
    """Handles the peer's requests and notifications. Neither method may block."""

    def requested(self, request: Incoming) -> None:
        """Handles a request, which must be answered eventually."""
        ...

    def notified(self, method: str, params: Raw) -> None:
        """Handles a notification."""
        ...


class Waiting(NamedTuple):
    """A request that waits for its answer."""

    future: "asyncio.Future[Raw]"
    on_result: OnResult | None


class Sent(NamedTuple):
    """A request that was sent: its id, and the future of its result."""

    id: int
    future: "asyncio.Future[Raw]"


class Peer:
    """One end of a JSON-RPC connection. `send` is called with framed messages; `versioned` tells
    whether messages have the member `jsonrpc`.
    """

    def __init__(self, served: Served, send: Callable[[bytes], None], *, versioned: bool) -> None:
        self._served = served
        self._send = send
        self._versioned = versioned
        self._wire: peer.Peer[Waiting] = peer.Peer(
            LineFramer(MAX_MESSAGE_BYTES), versioned=versioned
        )

    async def request(self, method: str, params: object, on_result: OnResult | None = None) -> Raw:
        """Sends a request and returns its result.

        :param on_result: called with the result before any later message is processed.

        :raises RpcError: when the peer refused the request, or the connection was lost.
        """
        return await self.result_of(self.begin(method, params, on_result))

    def begin(self, method: str, params: object, on_result: OnResult | None = None) -> Sent:
        """Sends a request; its result is awaited with `result_of`."""
        waiting = Waiting(asyncio.get_running_loop().create_future(), on_result)
        call_id, data = self._wire.call(method, params, context=waiting)
        self._send(data)
        return Sent(call_id, waiting.future)

    async def result_of(self, sent: Sent) -> Raw:
        """Waits for the result of a request. If the wait is cancelled, a late answer is ignored.

        :raises RpcError: when the peer refused the request, or the connection was lost.
        """
        try:
            return await sent.future
        finally:
            self._wire.abandon(sent.id)

    def notify(self, method: str, params: object) -> None:
        """Sends a notification."""
        self._send(self._wire.notify(method, params))

    def send_result(self, request_id: bytes, result: object) -> None:
        """Sends the result of the peer's request `request_id`."""
        line = jsonrpc.encode_result(request_id, result, versioned=self._versioned)
        self._send(self._wire.encode(line))

    def send_error(self, request_id: bytes, error: RpcError) -> None:
        """Sends an error for the peer's request `request_id`."""
        members = error.code, error.message, error.data
        line = jsonrpc.encode_error(request_id, *members, versioned=self._versioned)
        self._send(self._wire.encode(line))

    def take(self, data: bytes) -> None:
        """Processes received bytes. A message that cannot be processed does not end the
        connection.
        """
        self._wire.feed(data)
        while (event := self._wire.next_event()) is not None:
            try:
                self._take_event(event)
            except (
                Exception
            ):  # the boundary: one message that cannot be dealt with ends no connection
                log.exception("message_not_handled")
                if isinstance(event, peer.Asked):
                    self.send_error(event.request.id, RpcError(INTERNAL, FAULT))

    def lost(self, error: RpcError) -> None:
        """Fails all requests that wait for an answer with `error`."""
        for call in self._wire.close():
            _fail(call.context, error)

    def _take_event(self, event: peer.Event[Waiting]) -> None:
        match event:
            case jsonrpc.Notification(method=method, params=params):
                self._served.notified(method, params if params is not None else Raw(b"{}"))
            case peer.Asked(request=request, batch=None):
                self._served.requested(Incoming(self, request))
            case peer.Answered(call=call, result=result):
                _succeed(call.context, result)
            case peer.Refused(call=call, error=error):
                _fail(call.context, _rpc_error(error))
            case peer.Asked() as asked:
                problem = "Batches are not supported; send each request alone."
                self._send(self._wire.refuse(asked, jsonrpc.INVALID_REQUEST, problem))
            case peer.Unreadable(problem=problem) as unreadable:
                if unreadable.is_owed:
                    self.send_error(problem.id, RpcError(problem.code, problem.message))
            case TooLarge(size_bytes=size):
                text = (
                    f"The message has {size:,} bytes; at most {MAX_MESSAGE_BYTES:,} are accepted."
                )
                self.send_error(jsonrpc.NULL_ID, RpcError(jsonrpc.PARSE_ERROR, text))
            case Malformed() | Truncated() | peer.Unexpected() | peer.Run():
                pass


def _succeed(waiting: Waiting, result: Raw) -> None:
    if not waiting.future.done():
        if waiting.on_result is not None:
            waiting.on_result(result)
        waiting.future.set_result(result)


def _fail(waiting: Waiting, error: RpcError) -> None:
    if not waiting.future.done():
        waiting.future.set_exception(error)


def _rpc_error(error: Raw) -> RpcError:
    found = jsonrpc.error_object(error)
    if found is None:
        return RpcError(INTERNAL, "The request was refused without a reason.")
    data = msgspec.json.decode(found.data) if isinstance(found.data, Raw) else None
    return RpcError(found.code, found.message, data)
