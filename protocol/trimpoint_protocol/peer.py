"""One end of a JSON-RPC connection, without I/O: received bytes become events, and requests become
bytes to send.

Always true: there is no clock, socket or task in this module. The caller passes the time as a
number, sends the returned bytes in their order, and feeds the bytes that it reads. Events are
returned one at a time in the order of the stream, so that one is handled before the next is
decoded. Each call ends at most once: by an `Answered` or `Refused` event, by `expire`, or by
`close`; an abandoned call ends by none of them. Each `Asked` event needs one answer.
"""

from collections.abc import Callable, Generator
from heapq import heapify, heappop, heappush
from itertools import count, islice
from typing import Generic, TypeAlias, TypeVar, cast

import msgspec
from msgspec import Raw, Struct

from trimpoint_protocol import jsonrpc
from trimpoint_protocol.jsonrpc.framing import (
    Frame,
    Framer,
    LineFramer,
    Malformed,
    TooLarge,
    Truncated,
)

__all__ = [
    "DEFAULT_MAX_MESSAGE_BYTES",
    "Answered",
    "Asked",
    "Batch",
    "Call",
    "Event",
    "Message",
    "Peer",
    "Refused",
    "Run",
    "Unexpected",
    "Unreadable",
    "wants_answer",
]

T = TypeVar("T")
Decode: TypeAlias = Callable[[bytes], jsonrpc.Decoded]

DEFAULT_MAX_MESSAGE_BYTES = 512 * 1024 * 1024
# Deadlines of calls that have ended are dropped when they outnumber the others.
_MIN_STALE_DEADLINES = 64


class Call(Struct, Generic[T], frozen=True):
    """A request that was sent. `context` and the clock of `deadline` belong to the caller."""

    id: int
    method: str
    deadline: float | None
    context: T


class Answered(Struct, Generic[T], frozen=True):
    """The peer answered a call."""

    call: Call[T]
    result: Raw


class Refused(Struct, Generic[T], frozen=True):
    """The peer answered a call with an error, which `jsonrpc.error_object` decodes."""

    call: Call[T]
    error: Raw


class Unexpected(Struct, frozen=True):
    """A response without a pending call: it was too late, repeated, or has an unknown id."""

    message: jsonrpc.Response | jsonrpc.ErrorResponse


class Batch:
    """Collects the answers to the members of one batch, which must be sent together."""

    def __init__(self, expected: int) -> None:
        self._expected = expected
        self._answers: list[bytes] = []

    def add(self, answer: bytes) -> bytes | None:
        """Adds an answer. Returns the message with all answers when it was the last one, otherwise
        None.
        """
        self._answers.append(answer)
        if len(self._answers) < self._expected:
            return None
        return jsonrpc.encode_batch(self._answers)


class Asked(Struct, frozen=True):
    """A request of the peer; it must be passed to `Peer.answer` or `Peer.refuse` once."""

    request: jsonrpc.Request
    batch: Batch | None = None


class Unreadable(Struct, frozen=True):
    """Invalid input. `Peer.refuse` answers it if `is_owed`."""

    problem: jsonrpc.Invalid
    batch: Batch | None = None

    @property
    def is_owed(self) -> bool:
        """Returns whether the sender expects an answer."""
        return self.problem.answerable


class Run(Struct, frozen=True):
    """Consecutive messages with the same beginning, not decoded; see `Peer.next_event`."""

    lines: list[bytes]


Message: TypeAlias = (
    Asked | jsonrpc.Notification | Answered[T] | Refused[T] | Unexpected | Unreadable
)
"""What one message, or a member of a batch, means."""
Event: TypeAlias = Message[T] | Run | TooLarge | Malformed | Truncated


class Peer(Generic[T]):
    """Our end of one connection. `T` is the type of the context that is stored with each call."""

    def __init__(
        self,
        framer: Framer | None = None,
        *,
        decode: Decode = jsonrpc.decode,
        encode: Callable[[bytes], bytes] | None = None,
        versioned: bool = False,
    ) -> None:
        """Creates a peer that uses lines and checks all input, unless the arguments say otherwise.

        :param decode: `jsonrpc.decode_trusted` for a trusted peer, which is faster.
        :param encode: frames a message, for callers that do the framing themselves and use `read`.
        :param versioned: whether our own calls have the member `jsonrpc`.
        """
        self.versioned = versioned
        self._framer = framer or LineFramer(DEFAULT_MAX_MESSAGE_BYTES)
        self._decode = decode
        self._encode = encode or self._framer.encode
        self._ids = count(1)
        self._calls: dict[int, Call[T]] = {}
        self._deadlines: list[tuple[float, int]] = []
        self._frames: list[Frame] = []
        self._position = 0
        self._members: list[Message[T]] = []

    # --- what we send ---------------------------------------------------------------------------

    @property
    def calls_in_flight(self) -> int:
        """Returns the number of pending calls."""
        return len(self._calls)

    def call(
        self, method: str, params: object = None, *, context: T, deadline: float | None = None
    ) -> tuple[int, bytes]:
        """Begins a call; returns its id and the bytes to send.

        :param params: bytes and Raw are JSON text; None means no parameters; anything else is
            encoded.
        """
        call_id = next(self._ids)
        message = jsonrpc.encode_request(b"%d" % call_id, method, params, versioned=self.versioned)
        self._calls[call_id] = Call(call_id, method, deadline, context)
        if deadline is not None:
            heappush(self._deadlines, (deadline, call_id))
        return call_id, self._encode(message)

    def abandon(self, call_id: int) -> Call[T] | None:
        """Removes a call and returns it; its answer will be `Unexpected`. Returns None if the call
        had ended.
        """
        return self._calls.pop(call_id, None)

    def notify(self, method: str, params: object = None) -> bytes:
        """Returns the bytes of a notification; `params` as in `call`."""
        message = jsonrpc.encode_notification(method, params, versioned=self.versioned)
        return self._encode(message)

    def encode(self, message: bytes) -> bytes:
        """Frames a message that the caller has encoded."""
        return self._encode(message)

    def answer(self, asked: Asked, result: object) -> bytes:
        """Returns the bytes of an answer; none while other members of the same batch are
        unanswered.
        """
        request = asked.request
        answer = jsonrpc.encode_result(request.id, result, versioned=request.versioned)
        return self._encode_owed(answer, asked.batch)

    def refuse(
        self, asked: Asked | Unreadable, code: int, message: str, data: object = None
    ) -> bytes:
        """Returns the bytes of an error, as `answer` does."""
        owed = asked.request if isinstance(asked, Asked) else asked.problem
        error = jsonrpc.encode_error(owed.id, code, message, data, versioned=owed.versioned)
        return self._encode_owed(error, asked.batch)

    def refuse_with(self, asked: Asked | Unreadable, error: bytes) -> bytes:
        """Returns the bytes of an answer whose error object is JSON text, as `answer` does."""
        owed = asked.request if isinstance(asked, Asked) else asked.problem
        answer = jsonrpc.encode_error_object(owed.id, error, versioned=owed.versioned)
        return self._encode_owed(answer, asked.batch)

    def _encode_owed(self, answer: bytes, batch: Batch | None) -> bytes:
        message = answer if batch is None else batch.add(answer)
        return b"" if message is None else self._encode(message)

    # --- what we read ---------------------------------------------------------------------------

    def feed(self, data: bytes) -> None:
        """Adds received bytes; `next_event` then returns their events."""
        self._frames = [*self._frames[self._position :], *self._framer.feed(data)]
        self._position = 0

    def feed_eof(self) -> None:
        """Ends the stream. Nothing may be fed afterwards."""
        self._frames = [*self._frames[self._position :], *self._framer.eof()]
        self._position = 0

    def next_event(self, run_prefix: bytes | None = None) -> Event[T] | None:
        """Returns the next event, or None until more is fed.

        :param run_prefix: messages with this beginning are not decoded; consecutive ones are
            returned as one `Run`. For messages that are only passed on.
        """
        if self._members:
            return self._members.pop(0)
        if self._position == len(self._frames):
            self._frames, self._position = [], 0
            return None
        frame = self._frames[self._position]
        if not isinstance(frame, bytes):
            self._position += 1
            return frame
        if run_prefix is not None and frame.startswith(run_prefix):
            return self._next_run(run_prefix)
        self._position += 1
        decoded = self._decode(frame)
        if isinstance(decoded, jsonrpc.Batch):
            first, *self._members = self._batch_events(decoded)
            return first
        return self._event(decoded)

    def read(self, message: bytes) -> list[Message[T]]:
        """Returns the events of one message, for callers that do the framing themselves."""
        return self._messages(self._decode(message))

    def read_in_steps(self, message: bytes) -> Generator[None, None, list[Message[T]]]:
        """Returns the events as `read` does, in steps between which the caller can return control
        to the event loop.
        """
        return self._messages((yield from jsonrpc.decode_in_steps(message)))

    def _messages(self, decoded: jsonrpc.Decoded) -> list[Message[T]]:
        if isinstance(decoded, jsonrpc.Batch):
            return self._batch_events(decoded)
        return [self._event(decoded)]

    def _next_run(self, prefix: bytes) -> Run:
        lines: list[bytes] = []
        for frame in islice(self._frames, self._position, None):
            if not isinstance(frame, bytes) or not frame.startswith(prefix):
                break
            lines.append(frame)
        self._position += len(lines)
        return Run(lines)

    def _batch_events(self, decoded: jsonrpc.Batch) -> list[Message[T]]:
        batch = Batch(sum(map(wants_answer, decoded.members)))
        return [self._event(member, batch) for member in decoded.members]

    def _event(self, message: jsonrpc.Message, batch: Batch | None = None) -> Message[T]:
        # One after the other instead of `match`, which is slower, and the most frequent first.
        if isinstance(message, jsonrpc.Notification):
            return message
        if isinstance(message, jsonrpc.Response | jsonrpc.ErrorResponse):
            return self._answered(message)
        if isinstance(message, jsonrpc.Request):
            return Asked(message, batch)
        return Unreadable(message, batch)

    def _answered(self, message: jsonrpc.Response | jsonrpc.ErrorResponse) -> Message[T]:
        call = self._call_of(message.id)
        if call is None:
            return Unexpected(message)
        if isinstance(message, jsonrpc.Response):
            return Answered(call, message.result)
        return Refused(call, message.error)

    def _call_of(self, id_text: bytes) -> Call[T] | None:
        try:
            key = jsonrpc.id_key(id_text)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return None  # what was not checked can be a string that is not UTF-8
        # An equal number that is written otherwise (1.0) finds its call; a string does not.
        return self._calls.pop(cast("int", key), None)

    # --- time and the end -----------------------------------------------------------------------

    @property
    def next_deadline(self) -> float | None:
        """Returns the earliest deadline of a pending call, or None."""
        deadlines = self._deadlines
        if len(deadlines) > 2 * len(self._calls) + _MIN_STALE_DEADLINES:
            deadlines[:] = [entry for entry in deadlines if entry[1] in self._calls]
            heapify(deadlines)
        while deadlines and deadlines[0][1] not in self._calls:
            heappop(deadlines)
        return deadlines[0][0] if deadlines else None

    def expire(self, now: float) -> list[Call[T]]:
        """Ends the calls whose deadline has passed, and returns them, the earliest first."""
        expired: list[Call[T]] = []
        while (deadline := self.next_deadline) is not None and deadline <= now:
            expired.append(self._calls.pop(heappop(self._deadlines)[1]))
        return expired

    def close(self) -> list[Call[T]]:
        """Ends all pending calls, because no answer can arrive, and returns them, the oldest
        first.
        """
        calls = list(self._calls.values())
        self._calls.clear()
        self._deadlines.clear()
        return calls


def wants_answer(message: jsonrpc.Message) -> bool:
    """Returns whether the sender of a message expects an answer."""
    if isinstance(message, jsonrpc.Invalid):
        return message.answerable
    return isinstance(message, jsonrpc.Request)
