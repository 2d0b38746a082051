"""Exchanges JSON-RPC messages with one Codex child: matches responses to requests, and passes all
other messages to a handler.

Always true: messages are handled in the order in which Codex sent them. Each line is handled
completely before the next one, on the event loop's thread and without an await in between: a
notification's handler has returned before a later response is delivered. So a task that awaits a
response sees the effects of all notifications before it, and perhaps of some after it. A caller
that needs the response at its exact place in the stream uses `Peer.begin`, whose callback runs in
the reader.

Handlers and callbacks are therefore plain functions and must be fast. They may call `Peer.begin`,
`Peer.notify`, `Peer.respond` and `Peer.respond_error`, which never wait. To await a response they
start a task.
"""

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import anyio
import structlog
from msgspec import Raw
from trimpoint_protocol import jsonrpc, peer
from trimpoint_protocol.jsonrpc.framing import LineFramer, TooLarge

from trimpoint.codex.appserver.errors import (
    INTERNAL_ERROR,
    ProviderError,
    ProviderExited,
    ProviderFailure,
    ProviderOverloaded,
    ProviderTimeout,
)
from trimpoint.codex.appserver.initialize import InitializeResult, initialize_result
from trimpoint.codex.appserver.process import ChildExit, CodexChild

_log = structlog.get_logger("trimpoint.codex.appserver.peer")

MAX_UNSENT_BYTES = 64 * 1024 * 1024
MAX_LINE_BYTES = 512 * 1024 * 1024
_NO_PARAMS = Raw()


class FastPath(NamedTuple):
    """Notifications that are passed on without decoding: `forward` receives a run of lines that
    begin with `prefix`.
    """

    prefix: bytes
    forward: Callable[[list[bytes]], None]


class PeerHandler(Protocol):
    """Handles Codex's notifications and requests; the module's docstring says what the methods may
    do.

    `params` is empty (`Raw()`) for a message without parameters. A `Raw` keeps the whole line in
    memory; use `copy()` to keep only a part.
    """

    @property
    def fast_path(self) -> FastPath | None:
        """Returns the notifications that need not be decoded at present, or None. Most of Codex's
        messages are deltas.
        """
        ...

    def on_notification(self, method: str, params: Raw, line: bytes) -> None:
        """Handles a notification; `line` is the whole message without its newline."""
        ...

    def on_server_request(self, request_id: Raw, method: str, params: Raw) -> None:
        """Handles a request of Codex, which has to be answered with `respond` or `respond_error`
        and the same id.
        """
        ...


Outcome = Raw | ProviderFailure
"""The result of a request, or its failure: ProviderError if Codex sent an error, otherwise
ProviderTimeout or ProviderExited.
"""


class Traffic:
    """Counters of received lines and bytes."""

    def __init__(self) -> None:
        self.messages = 0
        self.size_bytes = 0


class _Waiting(NamedTuple):
    """The deadline and the callback of a request under way."""

    deadline_s: float
    on_outcome: Callable[[Outcome], None]


class Peer:
    """The connection to one child: requests, notifications and responses, until the child has
    ended.
    """

    def __init__(
        self,
        child: CodexChild,
        handler: PeerHandler,
        *,
        max_line_bytes: int = MAX_LINE_BYTES,
        max_unsent_bytes: int = MAX_UNSENT_BYTES,
        traffic: Traffic | None = None,
    ) -> None:
        self._child = child
        self._handler = handler
        self._framer = LineFramer(max_line_bytes)
        self._rpc: peer.Peer[_Waiting] = peer.Peer(self._framer, decode=jsonrpc.decode_trusted)
        self._max_line_bytes = max_line_bytes
        self._max_unsent_bytes = max_unsent_bytes
        self._traffic = traffic or Traffic()
        self._exit_reason: str | None = None
        self._expiry: asyncio.TimerHandle | None = None
        self.dropped_lines = 0
        """The number of lines that were no message, and of responses that came too late."""
        self._loop = asyncio.get_running_loop()
        child.attach(self)

    @property
    def in_flight(self) -> int:
        """Returns the number of requests without an outcome."""
        return self._rpc.calls_in_flight

    def pause_reading(self) -> None:
        """Stops reading Codex's messages, responses included, until `resume_reading`."""
        self._child.pause_reading()

    def resume_reading(self) -> None:
        """Reads Codex's messages again."""
        self._child.resume_reading()

    async def closed(self) -> ChildExit:
        """Waits until the child has ended, its whole output was handled, and every request under
        way has failed.
        """
        return await self._child.closed()

    async def request(self, method: str, params: Any = None, *, deadline_s: float) -> Raw:
        """Sends a request and returns its result. Cancelling only forgets the request; Codex may
        still act on it.

        :param params: a value to encode as JSON, a `Raw` to send unchanged, or None for no
            parameters.
        :raises ProviderError: when Codex answered with an error.
        :raises ProviderTimeout: when there was no response within `deadline_s` seconds, including
            the time until the request could be sent.
        :raises ProviderExited: when the child ended first.
        :raises ProviderOverloaded: when too many bytes are unsent.
        """
        outcome = await self.request_raw(method, params, deadline_s=deadline_s)
        if isinstance(outcome, ProviderError):
            raise outcome
        return outcome

    async def request_raw(
        self, method: str, params: Any = None, *, deadline_s: float
    ) -> Raw | ProviderError:
        """Sends a request and returns its result, or Codex's error as a value. Raises other
        failures as `request` does.
        """
        expires_at = self._loop.time() + deadline_s
        await self._room_within(method, deadline_s)
        arriving: asyncio.Future[Outcome] = self._loop.create_future()
        waiting = _Waiting(deadline_s, _settle(arriving))
        request_id = self._begin(method, params, waiting, expires_at)
        try:
            outcome = await arriving
        finally:
            self.abandon(request_id)
        if isinstance(outcome, ProviderFailure) and not isinstance(outcome, ProviderError):
            raise outcome
        return outcome

    def begin(
        self,
        method: str,
        params: Any = None,
        *,
        deadline_s: float,
        on_outcome: Callable[[Outcome], None],
    ) -> int:
        """Sends a request without waiting. `on_outcome` is called once, when the response is read
        or the request fails.

        :returns: a number for `abandon`.
        :raises ProviderExited: when the child has ended or is being stopped.
        :raises ProviderOverloaded: when too many bytes are unsent.
        """
        waiting = _Waiting(deadline_s, on_outcome)
        return self._begin(method, params, waiting, self._loop.time() + deadline_s)

    def abandon(self, request_id: int) -> None:
        """Forgets a request: its callback is no longer called, and its response is dropped."""
        self._rpc.abandon(request_id)

    def notify(self, method: str, params: Any = None) -> None:
        """Sends a notification, without waiting.

        :raises ProviderExited: when the child has ended or is being stopped.
        :raises ProviderOverloaded: when too many bytes are unsent.
        """
        self._send(self._rpc.notify(method, _or_none(params)))

    def respond(self, request_id: Raw, result: Any) -> None:
        """Answers a request of Codex with a result, without waiting. Raises as `notify` does."""
        self._send(self._rpc.encode(jsonrpc.encode_result(request_id, result, versioned=False)))

    def respond_error(self, request_id: Raw, code: int, message: str) -> None:
        """Answers a request of Codex with an error, without waiting. Codex takes that as an answer.
        Raises as `notify` does.
        """
        self._send(
            self._rpc.encode(jsonrpc.encode_error(request_id, code, message, versioned=False))
        )

    async def initialize(
        self, client_info: Any, *, capabilities: Any = None, deadline_s: float = 30.0
    ) -> InitializeResult:
        """Sends `initialize` and `initialized`, once for each child and before any other message.

        :param client_info: `{"name", "title"?, "version"}`; Codex puts the name into its user
            agent.
        :param capabilities: the capabilities to request; None requests the experimental API,
            without which Codex refuses half the methods.
        :raises ProviderFailure: as `request` does.
        """
        params = {
            "clientInfo": client_info,
            "capabilities": capabilities or {"experimentalApi": True},
        }
        raw = await self.request("initialize", params, deadline_s=deadline_s)
        self.notify("initialized")
        return initialize_result(raw)

    def on_chunk(self, data: bytes) -> None:
        """Handles received bytes of the child's stdout."""
        if self._exit_reason is not None:
            return
        self._traffic.size_bytes += len(data)
        self._rpc.feed(data)
        if self._framer.is_skipping:
            self._abort_too_long()
            return
        while self._exit_reason is None:
            fast_path = self._handler.fast_path
            event = self._rpc.next_event(fast_path.prefix if fast_path is not None else None)
            if event is None:
                return
            if isinstance(event, peer.Run):
                assert fast_path is not None
                self._forward(fast_path, event.lines)
            else:
                self._on_event(event)

    def on_exit(self, exit_: ChildExit) -> None:
        """Fails every request under way, because the child has ended."""
        self._exit_reason = self._exit_reason or f"it {exit_}"
        for call in self._rpc.close():
            self._resolve(call, self._exited())

    def _begin(self, method: str, params: Any, waiting: _Waiting, deadline: float) -> int:
        request_id, data = self._rpc.call(
            method, _or_none(params), context=waiting, deadline=deadline
        )
        try:
            self._send(data)
        except ProviderFailure:
            self._rpc.abandon(request_id)
            raise
        self._schedule_expiry()
        return request_id

    def _forward(self, fast_path: FastPath, lines: list[bytes]) -> None:
        self._traffic.messages += len(lines)
        try:
            fast_path.forward(lines)
        except Exception:
            # A defect in the fast path must not stop the reading of the next lines.
            _log.exception("codex_message_handler_failed", method="express", messages=len(lines))

    def _on_event(self, event: peer.Event[_Waiting]) -> None:
        self._traffic.messages += 1
        match event:
            case peer.Answered(call, result):
                self._resolve(call, result)
            case peer.Refused(call, error):
                self._resolve(call, ProviderError.read(error))
            case jsonrpc.Notification() | peer.Asked():
                # A defect in handling one message must not stop the reading of the next one.
                try:
                    self._dispatch(event)
                except Exception:
                    _log.exception("codex_message_handler_failed", method=_method_of(event))
            case TooLarge():
                self._abort_too_long()
            case _:
                self.dropped_lines += 1

    def _dispatch(self, event: jsonrpc.Notification | peer.Asked) -> None:
        if isinstance(event, peer.Asked):
            self._dispatch_request(event.request)
        else:
            params = _NO_PARAMS if event.params is None else event.params
            self._handler.on_notification(event.method, params, event.wire)

    def _dispatch_request(self, request: jsonrpc.Request) -> None:
        request_id = Raw(request.id)
        params = _NO_PARAMS if request.params is None else request.params
        try:
            self._handler.on_server_request(request_id, request.method, params)
        except Exception:
            # Codex has no timeout, so without an answer its turn would hang.
            self.respond_error(request_id, INTERNAL_ERROR, "internal error")
            raise

    def _resolve(self, call: peer.Call[_Waiting], outcome: Outcome) -> None:
        try:
            call.context.on_outcome(outcome)
        except Exception:
            # A defect in one callback must not stop the other callbacks.
            _log.exception("codex_outcome_callback_failed", method=call.method)

    def _schedule_expiry(self) -> None:
        """Schedules `_expire` for the earliest deadline."""
        deadline = self._rpc.next_deadline
        if self._expiry is not None:
            if deadline is not None and self._expiry.when() <= deadline:
                return
            self._expiry.cancel()
            self._expiry = None
        if deadline is not None:
            self._expiry = self._loop.call_at(deadline, self._expire)

    def _expire(self) -> None:
        self._expiry = None
        for call in self._rpc.expire(self._loop.time()):
            self._resolve(call, ProviderTimeout(call.method, call.context.deadline_s))
        self._schedule_expiry()

    async def _room_within(self, method: str, deadline_s: float) -> None:
        if self._child.has_room:
            return
        with anyio.move_on_after(deadline_s) as scope:
            await self._child.room()
        if scope.cancelled_caught:
            raise ProviderTimeout(method, deadline_s)

    def _send(self, message: bytes) -> None:
        if self._exit_reason is not None or not self._child.accepts_input:
            raise self._exited()
        unsent_bytes = self._child.unsent_bytes
        if unsent_bytes + len(message) > self._max_unsent_bytes and unsent_bytes > 0:
            raise ProviderOverloaded(unsent_bytes, self._max_unsent_bytes)
        self._child.write(message)

    def _abort_too_long(self) -> None:
        self._exit_reason = f"it sent a line of more than {self._max_line_bytes} bytes"
        self._child.kill()

    def _exited(self) -> ProviderExited:
        return ProviderExited(
            self._exit_reason or "it takes no more input", self._child.stderr_tail()
        )


def _settle(future: asyncio.Future[Outcome]) -> Callable[[Outcome], None]:
    def settle(outcome: Outcome) -> None:
        if not future.done():
            future.set_result(outcome)

    return settle


def _or_none(params: Any) -> Any:
    """Returns None for an empty `Raw`, which stands for no parameters."""
    return None if isinstance(params, Raw) and not params else params


def _method_of(event: jsonrpc.Notification | peer.Asked) -> str:
    return event.request.method if isinstance(event, peer.Asked) else event.method
