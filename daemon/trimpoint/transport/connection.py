"""One client over any byte stream: decodes received chunks into messages, and sends responses in
the client's framing.

Always true: whatever a client sends can end only its own connection, and bad input does not end
even that, unless the boundaries of messages are lost. No method waits, except `run`.

A client that shuts its writing side still receives its pending responses. Each frame that expects a
response is answered by one call of `Connection.answer` or `Connection.refuse`; `Connection.send` is
for all other messages.
"""

import asyncio
from collections.abc import Callable
from itertools import count
from typing import NoReturn, TypeAlias, assert_never

import structlog
from trimpoint_protocol import jsonrpc
from trimpoint_protocol.errors import Reason
from trimpoint_protocol.jsonrpc.framing import Malformed, TooLarge
from trimpoint_protocol.peer import (
    Answered,
    Asked,
    Peer,
    Refused,
    Unexpected,
    Unreadable,
)

from trimpoint.streams.reader import StreamReader
from trimpoint.streams.writer import DropRule, StreamWriter
from trimpoint.transport.client_stream import Transport
from trimpoint.transport.framing_errors import encode_refusal, malformed, too_large
from trimpoint.transport.inbox import ClientMessage, Inbox, NoMessage
from trimpoint.transport.limits import Limits
from trimpoint.transport.wire import (
    CloseCode,
    Dialect,
    Ended,
    Reply,
    StreamWire,
    Wire,
    frame_lines,
)

# A chunk may hold a hundred thousand tiny frames, and a batch a thousand requests; other clients
# get their turn in between.
_MESSAGES_PER_TURN = 512
# In these dialects the client closes the connection after a close frame (RFC 6455, 5.5.1).
_CLOSED_BY_THE_CLIENT = frozenset({Dialect.WEBSOCKET, Dialect.WEBSOCKET_LINES})

_log = structlog.get_logger("trimpoint.transport.connection")
_numbers = count(1)


OnMessage: TypeAlias = Callable[["Connection", ClientMessage], None]


class Connection:
    """A connected client. `on_message(connection, message)` is called for each message, in order,
    and must not raise.

    Each `Asked`, and each `Unreadable` with `is_owed`, has to be answered once, with `answer` or
    `refuse`. A connection is created on the running asyncio loop, and reads nothing before `run`.
    """

    def __init__(
        self, transport: Transport, limits: Limits, on_message: OnMessage, wire: Wire | None = None
    ) -> None:
        self.id = f"c{next(_numbers)}"
        """The connection's id, unique in this process."""
        self.peer, self.folder = transport.peer, transport.folder
        self.closed_because: str | None = None
        """The reason why the connection has ended or is ending; None while it is open."""
        self._loop = asyncio.get_running_loop()
        self._transport = transport
        self._limits = limits
        self._on_message = on_message
        self.is_local = wire is None
        """Whether the client connected over the Unix socket or stdio, not over HTTP."""
        self._wire = wire or StreamWire(limits.max_message_bytes)
        self._peer: Peer[NoReturn] = Peer(encode=self._wire.encode)
        self._inbox = Inbox(self._peer, self._on_odd_frame, self._on_decoded)
        self._next_turn: asyncio.Handle | None = None
        self._pending_replies = 0
        self._has_eof = False
        self._lingers = False
        self._grace: asyncio.TimerHandle | None = None
        self._closed = asyncio.Event()
        self.last_received_at = self._loop.time()
        """When the client last sent bytes, in seconds of the loop's clock."""
        self._reader = StreamReader(transport.source, self._on_chunk, self._on_end_of_input)
        self._outbox = StreamWriter(
            transport.sink,
            on_sent=self._update_io,
            on_end=self._shut,
            drop_rule=DropRule(limits.max_outbox_bytes, self._last_words_to_slow_reader),
        )

    @property
    def dropped_because(self) -> str | None:
        """Returns why the client was dropped for not reading, or None if it was not dropped."""
        return self._outbox.dropped_because

    @property
    def queued_bytes(self) -> int:
        """Returns how many bytes are queued for the client's socket."""
        return self._outbox.queued_bytes

    @property
    def is_behind(self) -> bool:
        """Returns whether more than half of `max_outbox_bytes` is queued for the client."""
        return self._is_full

    @property
    def has_caught_up(self) -> bool:
        """Returns whether less than a quarter of `max_outbox_bytes` is queued, or the connection
        has ended.
        """
        is_low = self._outbox.queued_bytes < self._limits.max_outbox_bytes // 4
        return is_low or self._closed.is_set()

    @property
    def sent_bytes(self) -> int:
        """Returns how many bytes the client's socket has accepted."""
        return self._outbox.sent_bytes

    @property
    def dialect(self) -> Dialect:
        """Returns the framing that the client uses."""
        return self._wire.dialect

    def send(self, message: bytes) -> None:
        """Sends one JSON message in the client's framing. Ignored once the connection is ending."""
        if self.closed_because is None:
            self._outbox.append(self._wire.encode(message))

    @property
    def versioned(self) -> bool:
        """Returns whether the client's messages carry the member `jsonrpc`."""
        return self._peer.versioned

    def answer(self, asked: Asked, result: object) -> None:
        """Sends the result of a request. In a batch, the results are sent together once the last
        request is answered.

        :raises TypeError: when the result cannot be encoded; the request still has to be answered.
        """
        self._settle(self._peer.answer(asked, result))

    def refuse(self, asked: Asked | Unreadable, error: bytes) -> None:
        """Sends an error object, which is JSON already, in place of a result."""
        self._settle(self._peer.refuse_with(asked, error))

    def _settle(self, framed: bytes) -> None:
        if framed:  # empty while other requests of the same batch are unanswered
            self.send_framed(framed)
        self._pending_replies -= 1

    def send_encoded_lines(self, lines: bytes) -> None:
        """Sends JSON messages, each of which ends with its only newline."""
        self.send_framed(frame_lines(lines, self.dialect))

    def send_framed(self, framed: bytes) -> None:
        """Sends messages that are already framed in this client's dialect.

        Clients share the bytes object, so that a message to many clients is not copied.
        """
        if self.closed_because is None:
            self._outbox.append(framed)

    def close(self, reason: str, code: CloseCode = CloseCode.NORMAL) -> None:
        """Reads no more messages, sends the queued ones, and closes the connection after at most
        `close_grace_s` seconds.
        """
        if self.closed_because is None:
            if last_words := self._wire.farewell(code, reason):
                self._outbox.append(last_words)
            self._begin_end(reason, lingers=self.dialect in _CLOSED_BY_THE_CLIENT)
            self._update_io()

    async def run(self) -> None:
        """Reads and answers the client until the connection has ended; cancelling ends the
        connection.
        """
        try:
            _log.info("client_connected", client=self.id, peer=self.peer, dialect=self.dialect)
            if self._transport.received:
                self._feed(self._transport.received)
                self._handle_messages()
            self._update_io()
            await self._closed.wait()
        finally:
            self._end_with_daemon()

    def _on_chunk(self, data: bytes) -> None:
        if not self._lingers:  # after our close frame, further bytes of the client are ignored
            self._feed(data)
            self._handle_messages()

    def _on_end_of_input(self, error: OSError | None) -> None:
        if error is not None:
            self._shut(f"the client is gone: {error.strerror}")
        elif self._lingers:
            self._shut("the client closed it")
        else:
            self._end_input()
            self._handle_messages()

    def _feed(self, data: bytes) -> None:
        self.last_received_at = self._loop.time()
        self._inbox.add(self._wire.feed(data))

    def _end_input(self) -> None:
        if self._transport.is_peer_gone:
            self._shut("the client closed it")
            return
        self._has_eof = True
        self._inbox.add(self._wire.eof())
        self._start_grace(
            self._limits.half_close_grace_s, "the client waited too long for its answers"
        )

    def _handle_messages(self) -> None:
        self._next_turn = None
        for _ in range(_MESSAGES_PER_TURN):
            if not self._inbox or self._is_full:
                break
            try:
                if self._inbox.step_into_large():
                    break
                if (message := self._inbox.pop()) is not None:
                    self._on_message(self, message)
            except Exception:
                # A defect closes this connection only, because its request would wait forever.
                _log.exception("message_not_handled", client=self.id)
                self.close("internal error", CloseCode.INTERNAL_ERROR)
        self._update_io()

    def _on_decoded(self, messages: list[ClientMessage]) -> None:
        self._pending_replies += sum(map(_is_owed, messages))
        self._peer.versioned = self._peer.versioned or any(map(_is_versioned, messages))

    def _on_odd_frame(self, frame: NoMessage) -> None:
        match frame:
            case TooLarge(size_bytes):
                self._refuse(*too_large(size_bytes, self._limits.max_message_bytes))
            case Malformed(reason):
                self._refuse(*malformed(reason))
                self.close(f"it sent no message: {reason}")
            case Reply(data):
                self._outbox.append(data)
            case Ended(reason):
                self.close(reason)

    def _refuse(self, reason: Reason, message: str, hint: str) -> None:
        self.send(encode_refusal(reason, message, hint, versioned=self._peer.versioned))

    def _update_io(self) -> None:
        """Starts or stops reading, and ends the output, to fit the present state. Called after each
        change.
        """
        is_ending = self.closed_because is not None
        if self._inbox and not self._is_full and self._next_turn is None:
            self._next_turn = self._loop.call_soon(self._handle_messages)
        if self._inbox or (is_ending and not self._lingers) or self._has_eof:
            self._reader.pause()
        else:
            self._reader.resume()
        is_answered = self._has_eof and not self._inbox and not self._pending_replies
        if (is_ending or is_answered) and not self._outbox.queued_bytes:
            self._end_output()

    def _end_output(self) -> None:
        """Ends the output after all is sent. A client that was sent a close frame gets time to read
        it.

        If a socket is closed while unread bytes are in it, TCP discards the close frame.
        """
        if self._lingers and not self._has_eof:
            self._transport.sink.finish()
        else:
            self._shut("the client closed it")

    def _last_words_to_slow_reader(self, reason: str) -> bytes:
        _log.warning(
            "client_dropped",
            client=self.id,
            queued_bytes=self._outbox.queued_bytes,
            max_outbox_bytes=self._limits.max_outbox_bytes,
        )
        if last_words := self._wire.farewell(CloseCode.TRY_AGAIN_LATER, "it does not read"):
            self._begin_end(reason, lingers=True)
        return last_words

    def _begin_end(self, reason: str, *, lingers: bool) -> None:
        self.closed_because, self._lingers = reason, lingers
        self._inbox.clear()
        self._start_grace(self._limits.close_grace_s, reason)

    def _end_with_daemon(self) -> None:
        last_words = self._wire.farewell(CloseCode.SERVICE_RESTART, "the daemon ends")
        if last_words and self.closed_because is None:
            self._outbox.append(last_words)
        self._outbox.flush()
        self._shut("the daemon ends it")

    @property
    def _is_full(self) -> bool:
        return self._outbox.queued_bytes > self._limits.max_outbox_bytes // 2

    def _start_grace(self, grace_s: float, reason: str) -> None:
        if self._grace is not None:
            self._grace.cancel()
        self._grace = self._loop.call_later(grace_s, self._shut, reason)

    def _shut(self, reason: str) -> None:
        """Closes the connection at once. Only the first reason is kept."""
        if self._closed.is_set():
            return
        self.closed_because = self.closed_because or reason
        self._closed.set()
        if self._grace is not None:
            self._grace.cancel()
        self._inbox.clear()
        self._reader.close()
        self._outbox.close()
        self._transport.close()
        _log.info("client_disconnected", client=self.id, reason=self.closed_because)


def _is_owed(message: ClientMessage) -> bool:
    return isinstance(message, Asked) or (isinstance(message, Unreadable) and message.is_owed)


def _is_versioned(message: ClientMessage) -> bool:
    match message:
        case Asked(request):
            return request.versioned
        case Unexpected(answer):
            return answer.versioned
        case Unreadable(problem):
            return problem.versioned
        case jsonrpc.Notification():
            return message.versioned
        case Answered() | Refused():
            return False
        case _:
            assert_never(message)
