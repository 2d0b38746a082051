"""The conversation with one Codex child: requests matched with their replies, everything else
handed over.

The law is wire order. One line is dealt with completely before the next is looked at, on the loop's
own thread, without an await in between: a notification's handler has returned before a later reply
is delivered. So whoever awaits a reply sees every effect of the notifications before it, and
perhaps of some after it. Whoever needs the reply at its very place in the stream (to pass both on
to a client) uses `begin`, whose callback runs in the reader.

Handlers and callbacks are therefore plain functions and must be cheap. They may call `begin`,
`notify`, `respond` and `respond_error`, which never wait; to await a reply they start a task.
"""

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import anyio
import msgspec
import structlog
from msgspec import UNSET, Raw, UnsetType

from trimpoint.codex.appserver.errors import (
    ProviderError,
    ProviderExited,
    ProviderFailure,
    ProviderOverloaded,
    ProviderTimeout,
)
from trimpoint.codex.appserver.initialize import InitializeResult, initialize_result
from trimpoint.codex.appserver.lines import MAX_LINE_BYTES, LineSplitter, LineTooLong, Traffic
from trimpoint.codex.appserver.process import ChildExit, CodexChild

__all__ = [
    "MAX_UNSENT_BYTES",
    "InitializeResult",
    "Outcome",
    "Peer",
    "PeerHandler",
    "ProviderError",
    "ProviderExited",
    "ProviderFailure",
    "ProviderOverloaded",
    "ProviderTimeout",
]

_log = structlog.get_logger("trimpoint.codex.appserver.peer")

MAX_UNSENT_BYTES = 64 * 1024 * 1024
_INTERNAL_ERROR = -32603
_NO_PARAMS = Raw()


class FastPath(NamedTuple):
    """Lines that begin so are notifications which are only passed on: `forward` takes a run of them
    as they are.
    """

    prefix: bytes
    forward: Callable[[list[bytes]], None]


class PeerHandler(Protocol):
    """Receives Codex's notifications and requests. The module's docstring says what the methods may
    do.

    `params` is empty (`Raw()`) when there were none. A Raw keeps the whole line alive; `copy()` it
    to keep a part.
    """

    @property
    def fast_path(self) -> FastPath | None:
        """Lines that need not be decoded at present. Most of what Codex sends are deltas."""
        ...

    def on_notification(self, method: str, params: Raw, line: bytes) -> None:
        """`line` is the whole message as it came, without the newline."""
        ...

    def on_server_request(self, request_id: Raw, method: str, params: Raw) -> None:
        """To be answered, some time, with `respond` or `respond_error` and the very same id."""
        ...


Outcome = Raw | ProviderFailure
"""A result, or why there is none. From the wire: ProviderError; otherwise ProviderTimeout or
ProviderExited.
"""


class _Envelope(msgspec.Struct, gc=False):
    id: Raw | UnsetType = UNSET
    method: str | UnsetType = UNSET
    params: Raw = _NO_PARAMS
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


class _ErrorObject(msgspec.Struct):
    code: int
    message: str
    data: Raw | UnsetType = UNSET


class _Pending(msgspec.Struct):
    method: str
    deadline_s: float
    on_outcome: Callable[[Outcome], None]
    timer: asyncio.TimerHandle


class _Expiry(msgspec.Struct):
    deadline_s: float
    at: float
    """On the loop's clock."""


_decode_envelope = msgspec.json.Decoder(_Envelope).decode


class Peer:
    """Requests, notifications and answers over one child, from construction until the child is
    gone.
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
        self._splitter = LineSplitter(max_line_bytes, traffic)
        self._max_unsent_bytes = max_unsent_bytes
        self._pending: dict[int, _Pending] = {}
        self._last_id = 0
        self._exit_reason: str | None = None
        self.dropped_lines = 0
        """Lines that were no message, and replies that nobody waits for (late ones, above all)."""
        self._loop = asyncio.get_running_loop()
        child.attach(self)

    @property
    def in_flight(self) -> int:
        """Requests without an outcome yet."""
        return len(self._pending)

    async def closed(self) -> ChildExit:
        """Wait until the child has ended, all it said was handled, and every request in flight has
        failed.
        """
        return await self._child.closed()

    async def request(self, method: str, params: Any = None, *, deadline_s: float) -> Raw:
        """Ask and await the result. Cancelling forgets the request; Codex may still act on it.

        :param params: JSON-ready, or a Raw to send as it is; None sends no params
        :raises ProviderError: Codex refused
        :raises ProviderTimeout: no reply within `deadline_s`, waiting for room to send included
        :raises ProviderExited: the child ended first
        :raises ProviderOverloaded: too much is unsent
        """
        outcome = await self.request_raw(method, params, deadline_s=deadline_s)
        if isinstance(outcome, ProviderError):
            raise outcome
        return outcome

    async def request_raw(
        self, method: str, params: Any = None, *, deadline_s: float
    ) -> Raw | ProviderError:
        """Sends a request and returns the answer, or Codex's error as a value. Other failures are
        raised.
        """
        expires_at = self._loop.time() + deadline_s
        await self._room_within(method, deadline_s)
        arriving: asyncio.Future[Outcome] = self._loop.create_future()
        expiry = _Expiry(deadline_s, expires_at)
        request_id = self._begin(method, params, expiry, _settle(arriving))
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
        """Ask without waiting; `on_outcome` is called once, at the reply's place in the stream.

        :returns: a number for `abandon`
        :raises ProviderExited: the child has ended or is being stopped
        :raises ProviderOverloaded: too much is unsent
        """
        expiry = _Expiry(deadline_s, self._loop.time() + deadline_s)
        return self._begin(method, params, expiry, on_outcome)

    def abandon(self, request_id: int) -> None:
        """Forget a request: its callback is not called any more, its reply is dropped."""
        self._pop_pending(request_id)

    def notify(self, method: str, params: Any = None) -> None:
        """Send a notification, without waiting.

        :raises ProviderExited: the child has ended or is being stopped
        :raises ProviderOverloaded: too much is unsent
        """
        self._send(b'{"method":%b%b}' % (msgspec.json.encode(method), _params_member(params)))

    def respond(self, request_id: Raw, result: Any) -> None:
        """Answer a server request, without waiting. Raises as `notify` does."""
        self._send(b'{"id":%b,"result":%b}' % (bytes(request_id), _encode(result)))

    def respond_error(self, request_id: Raw, code: int, message: str) -> None:
        """Refuse a server request, without waiting. To Codex that is an answer. Raises as `notify`
        does.
        """
        error = {"code": code, "message": message}
        self._send(b'{"id":%b,"error":%b}' % (bytes(request_id), msgspec.json.encode(error)))

    async def initialize(
        self, client_info: Any, *, capabilities: Any = None, deadline_s: float = 30.0
    ) -> InitializeResult:
        """Open the conversation: `initialize`, then `initialized`. Once per child, before anything
        else.

        :param client_info: JSON-ready, `{"name", "title"?, "version"}`; Codex puts the name into
            its user agent
        :param capabilities: JSON-ready; None asks for the experimental API, without which half the
            methods are refused
        :raises ProviderFailure: as `request` does
        """
        params = {
            "clientInfo": client_info,
            "capabilities": capabilities or {"experimentalApi": True},
        }
        raw = await self.request("initialize", params, deadline_s=deadline_s)
        self.notify("initialized")
        return initialize_result(raw)

    def on_chunk(self, data: bytes) -> None:
        """The child's sink: bytes of stdout."""
        if self._exit_reason is not None:
            return
        try:
            lines = self._splitter.feed(data)
        except LineTooLong as too_long:
            self._abort(f"it sent {too_long}")
            return
        self._read_lines(lines)

    def on_exit(self, exit_: ChildExit) -> None:
        """The child's sink: nothing more will come."""
        self._exit_reason = self._exit_reason or f"it {exit_}"
        while self._pending:
            self._resolve(next(iter(self._pending)), self._exited())

    def _begin(
        self, method: str, params: Any, expiry: _Expiry, on_outcome: Callable[[Outcome], None]
    ) -> int:
        request_id = self._last_id + 1
        encoded_method = msgspec.json.encode(method)
        self._send(
            b'{"id":%d,"method":%b%b}' % (request_id, encoded_method, _params_member(params))
        )
        self._last_id = request_id
        timer = self._loop.call_at(expiry.at, self._expire, request_id)
        self._pending[request_id] = _Pending(method, expiry.deadline_s, on_outcome, timer)
        return request_id

    def _read_lines(self, lines: list[bytes]) -> None:
        at = 0
        while at < len(lines):
            fast_path = self._handler.fast_path
            end = at if fast_path is None else _run_end(lines, at, fast_path.prefix)
            if fast_path is not None and end > at:
                self._forward(fast_path, lines[at:end])
                at = end
            else:
                self._read_line(lines[at])
                at += 1

    def _forward(self, fast_path: FastPath, lines: list[bytes]) -> None:
        try:
            fast_path.forward(lines)
        except Exception:  # the same boundary as below
            _log.exception("codex_message_handler_failed", method="express", messages=len(lines))

    def _read_line(self, line: bytes) -> None:
        try:
            message = _decode_envelope(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            self.dropped_lines += bool(line)
            return
        # A named boundary: whatever goes wrong with one message, the next one is read.
        try:
            self._dispatch(message, line)
        except Exception:
            _log.exception("codex_message_handler_failed", method=message.method)

    def _dispatch(self, message: _Envelope, line: bytes) -> None:
        if message.method is UNSET:
            self._resolve_reply(message)
        elif message.id is UNSET:
            self._handler.on_notification(message.method, message.params, line)
        else:
            self._dispatch_request(message.id, message.method, message.params)

    def _dispatch_request(self, request_id: Raw, method: str, params: Raw) -> None:
        try:
            self._handler.on_server_request(request_id, method, params)
        except Exception:
            # Unanswered, it would block the turn for ever: Codex has no time-out for these.
            self.respond_error(request_id, _INTERNAL_ERROR, "internal error")
            raise

    def _resolve_reply(self, message: _Envelope) -> None:
        request_id = _own_id(message.id)
        if request_id not in self._pending:
            self.dropped_lines += 1
        elif message.error is UNSET:
            self._resolve(request_id, Raw(b"null") if message.result is UNSET else message.result)
        else:
            self._resolve(request_id, _provider_error(message.error))

    def _resolve(self, request_id: int, outcome: Outcome) -> None:
        pending = self._pop_pending(request_id)
        if pending is not None:
            try:
                pending.on_outcome(outcome)
            except Exception:
                # A named boundary: one request's callback must not keep the others from theirs.
                _log.exception("codex_outcome_callback_failed", method=pending.method)

    def _pop_pending(self, request_id: int) -> _Pending | None:
        pending = self._pending.pop(request_id, None)
        if pending is not None:
            pending.timer.cancel()
        return pending

    def _expire(self, request_id: int) -> None:
        pending = self._pending[request_id]
        self._resolve(request_id, ProviderTimeout(pending.method, pending.deadline_s))

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
        # A newline in JSON is white space between tokens (inside a string it is escaped); here it
        # would end the frame.
        self._child.write(message.replace(b"\n", b" ") + b"\n")

    def _abort(self, reason: str) -> None:
        self._exit_reason = self._exit_reason or reason
        self._child.kill()

    def _exited(self) -> ProviderExited:
        return ProviderExited(
            self._exit_reason or "it takes no more input", self._child.stderr_tail()
        )


def _run_end(lines: list[bytes], at: int, prefix: bytes) -> int:
    """The index after the last of the lines from `at` on that begin with `prefix`, without a
    gap.
    """
    while at < len(lines) and lines[at].startswith(prefix):
        at += 1
    return at


def _settle(future: asyncio.Future[Outcome]) -> Callable[[Outcome], None]:
    def settle(outcome: Outcome) -> None:
        if not future.done():
            future.set_result(outcome)

    return settle


def _encode(value: Any) -> bytes:
    return bytes(value) if isinstance(value, Raw) else msgspec.json.encode(value)


def _params_member(params: Any) -> bytes:
    encoded = b"" if params is None else _encode(params)
    return b',"params":' + encoded if encoded else b""


def _own_id(request_id: Raw | UnsetType) -> int:
    """Returns the number of one of our requests; 0, which none has, for anything else."""
    digits = b"" if request_id is UNSET else bytes(request_id)
    return int(digits) if digits.isdigit() else 0


def _provider_error(raw: Raw) -> ProviderError:
    try:
        error = msgspec.json.decode(raw, type=_ErrorObject)
    except msgspec.MsgspecError:
        return ProviderError(_INTERNAL_ERROR, "Codex sent an error that is none", None, raw)
    return ProviderError(
        error.code, error.message, None if error.data is UNSET else error.data, raw
    )
