"""Dispatches trimpoint's own methods through jsonrpcserver; no other module imports it.

jsonrpcserver 5.0.9 would put `str(exc)` into responses, validate parameters a second time, and
encode results a second time. It is therefore given a decoded request, and endpoints that never
raise (`tests/gateway/session/test_dispatch.py` tests that contract).
"""

import warnings
from collections.abc import Awaitable, Callable
from functools import cache
from threading import Lock
from typing import Any, NamedTuple, Protocol

import anyio.to_thread
import msgspec
from msgspec import Raw
from trimpoint_protocol.errors import Reason
from trimpoint_protocol.methods import METHODS, Params, Result
from trimpoint_protocol.readmodel import WireStruct

from trimpoint.gateway.session.requests.errors import WireError, as_wire_error, wire_error

_importing = Lock()


@cache
def _jsonrpcserver() -> Any:
    """Imports it when it is needed. It imports jsonschema and an HTTP server, which nothing here
    uses: a tenth of the start of a daemon, and too long for the event loop.
    """
    with _importing, warnings.catch_warnings():
        # It reads its schema with importlib.resources.read_text, deprecated since Python 3.11.
        warnings.simplefilter("ignore", DeprecationWarning)
        import jsonrpcserver
    return jsonrpcserver


async def get_ready() -> None:
    """Imports beside the loop what calls need, so that the first one need not wait for it."""
    if not _jsonrpcserver.cache_info().currsize:
        await anyio.to_thread.run_sync(_jsonrpcserver)


class Caller(Protocol):
    """The caller of a method: a client, or a request over HTTP.

    `followed` maps the threads whose events the caller is sent to the number of the last event
    that it had when it subscribed. `has_notices`: whether it is sent the notices of all threads.
    `launch` is its launch request, encoded as in journals, and `folder` its working directory if
    that is known.
    """

    followed: dict[str, int]
    has_notices: bool
    launch: bytes

    @property
    def folder(self) -> str | None:
        """Returns the working directory of the caller's process, or None if it is not known."""
        ...

    def notify(self, method: str, params: Any) -> None:
        """Sends a notification to the caller."""
        ...

    def join(self, thread_id: str, *, raw_events: bool = False) -> None:
        """Subscribes the caller to a thread."""
        ...


class Call:
    """One request to one of trimpoint's own methods. The functions in `after` run once the response
    has been sent.
    """

    def __init__(self, client: Caller) -> None:
        self.client = client
        self.after: list[Callable[[], None]] = []


Handler = Callable[[Call, Any], Awaitable[Result | WireStruct]]


class Answer(NamedTuple):
    """The outcome of a method: either a result or an error, the other is None."""

    result: Result | WireStruct | None
    error: WireError | None


class ExtensionMethods:
    """Dispatches each method of `METHODS` to its handler."""

    def __init__(self, handlers: dict[str, Handler]) -> None:
        missing = METHODS.keys() - handlers.keys()
        assert not missing, f"methods without a handler: {missing}"
        self._endpoints = {
            name: _endpoint(METHODS[name].params, handler) for name, handler in handlers.items()
        }

    def owns(self, method: str) -> bool:
        """Returns whether the method is one of trimpoint's own rather than one of Codex's."""
        return method in self._endpoints

    async def call(self, method: str, params: Raw | None, call: Call) -> Answer:
        """Runs one method and returns its result or error. Raises nothing but cancellation."""
        await get_ready()
        # Around this function, jsonrpcserver decodes and encodes, and runs each request of a batch
        # in a task of its own: three turns of the loop, which are long when Codex has much to say.
        request = _jsonrpcserver().request.Request(method, [params], 0)
        dispatch = _jsonrpcserver().async_dispatcher.dispatch_request
        _, response = await dispatch(self._endpoints, call, request)
        outcome: Answer = response._value.result  # every endpoint succeeds
        return outcome


@cache
def _decoder(params_type: type[Params]) -> msgspec.json.Decoder[Params]:
    """Returns the decoder of a method's parameters, which the methods of each Codex share."""
    return msgspec.json.Decoder(params_type)


def _endpoint(params_type: type[Params], handler: Handler) -> Callable[..., Awaitable[Any]]:
    decode = _decoder(params_type).decode

    async def endpoint(call: Call, params: Raw | None) -> Any:
        success = _jsonrpcserver().Success
        try:
            decoded = decode(b"{}" if params is None or bytes(params) == b"null" else params)
        except msgspec.MsgspecError as error:
            return success(Answer(None, wire_error(Reason.INVALID_PARAMS, _error_message(error))))
        try:
            return success(Answer(await handler(call, decoded), None))
        except Exception as error:  # the boundary where exceptions of handlers become error objects
            return success(Answer(None, as_wire_error(error)))

    return endpoint


def _error_message(error: msgspec.MsgspecError) -> str:
    return f"The parameters are invalid: {error}."
