"""Frames messages on a byte stream: as lines, behind Content-Length headers, in WebSocket frames,
as server-sent events.

A `Wire` is sans-IO: bytes in, `Received` out; messages in, bytes out. It belongs to one connection.
"""

from enum import IntEnum, StrEnum
from typing import Protocol, TypeAlias, assert_never

import msgspec
from msgspec import Raw, Struct
from trimpoint_protocol.framing import (
    AutoFramer,
    Frame,
    Malformed,
    TooLarge,
    Truncated,
    encode_content_length,
)


class Dialect(StrEnum):
    """The framing that a client speaks."""

    LINES = "lines"
    CONTENT_LENGTH = "content-length"
    WEBSOCKET = "websocket"
    WEBSOCKET_LINES = "websocket-lines"
    EVENT_STREAM = "event-stream"


class CloseCode(IntEnum):
    """The reason why a connection ends, as a WebSocket close code (RFC 6455, 7.4.1); other framings
    cannot say it.
    """

    NORMAL = 1000
    UNSUPPORTED_DATA = 1003
    POLICY_VIOLATION = 1008
    INTERNAL_ERROR = 1011
    SERVICE_RESTART = 1012
    TRY_AGAIN_LATER = 1013


class Reply(Struct, frozen=True):
    """Bytes that go back to the peer as they are: a pong, the answer to a close."""

    data: bytes


class Ended(Struct, frozen=True):
    """The peer ended the conversation, or broke its rules; nothing follows."""

    reason: str


OddFrame: TypeAlias = TooLarge | Malformed | Truncated | Reply | Ended
"""What is no message."""
Received: TypeAlias = Frame | Reply | Ended


class Wire(Protocol):
    """The framing of a connection."""

    @property
    def dialect(self) -> Dialect:
        """Returns the framing that messages are sent in from now on."""
        ...

    def feed(self, data: bytes) -> list[Received]:
        """Take the next bytes; return what they complete, in order."""
        ...

    def eof(self) -> list[Received]:
        """Return what the end of the stream left unfinished. Feed nothing afterwards."""
        ...

    def encode(self, message: bytes) -> bytes:
        """Frame one message."""
        ...

    def farewell(self, code: CloseCode, reason: str) -> bytes:
        """Return the last bytes to send; empty where the framing has no word for an end."""
        ...


class StreamWire:
    """Lines or Content-Length frames, whichever the peer's first bytes are."""

    def __init__(self, max_message_bytes: int) -> None:
        self._framer = AutoFramer(max_message_bytes)

    @property
    def dialect(self) -> Dialect:
        return Dialect.LINES if self._framer.speaks_lines else Dialect.CONTENT_LENGTH

    def feed(self, data: bytes) -> list[Received]:
        return [*self._framer.feed(data)]

    def eof(self) -> list[Received]:
        return [*self._framer.eof()]

    def encode(self, message: bytes) -> bytes:
        return self._framer.encode(message)

    def farewell(self, code: CloseCode, reason: str) -> bytes:
        del code, reason
        return b""


def frame_lines(lines: bytes, dialect: Dialect) -> bytes:
    """Frame JSON messages, each of which ends in its only newline, for all clients of one
    dialect.
    """
    match dialect:
        case Dialect.LINES:
            return lines
        case Dialect.CONTENT_LENGTH:
            return b"".join(map(encode_content_length, lines[:-1].split(b"\n")))
        case Dialect.WEBSOCKET:
            return b"".join(map(encode_text_frame, lines[:-1].split(b"\n")))
        case Dialect.WEBSOCKET_LINES:
            return encode_text_frame(lines[:-1])
        case Dialect.EVENT_STREAM:
            return b"".join(map(encode_event, lines[:-1].split(b"\n")))
        case _:
            assert_never(dialect)


NUMBERED_EVENTS = frozenset({"orchestration/event", "orchestration/synchronized", "snapshot"})
"""What a client of an event stream can go on from: the parameters have a `sequence`."""


class _Sequenced(Struct):
    sequence: int | None = None


class _Notification(Struct):
    method: str
    params: Raw


def encode_event(message: bytes) -> bytes:
    """Frame a notification as a server-sent event: its method as the type, its sequence as the id
    where it has one.
    """
    notification = msgspec.json.decode(message, type=_Notification)
    has_sequence = notification.method in NUMBERED_EVENTS
    sequence = (
        msgspec.json.decode(notification.params, type=_Sequenced).sequence if has_sequence else None
    )
    event_id = b"" if sequence is None else b"id: %d\n" % sequence
    data = bytes(notification.params).replace(b"\n", b" ")
    return b"event: %b\n%bdata: %b\n\n" % (notification.method.encode(), event_id, data)


_FINAL_TEXT = 0x81


def encode_text_frame(message: bytes) -> bytes:
    """Frame a message as one WebSocket text frame of a server (RFC 6455, 5.2).

    A server's frames are not masked, so all clients can be sent the same bytes.
    """
    size = len(message)
    if size < 126:
        return b"%c%c%b" % (_FINAL_TEXT, size, message)
    if size < 1 << 16:
        return b"%c\x7e%b%b" % (_FINAL_TEXT, size.to_bytes(2, "big"), message)
    return b"%c\x7f%b%b" % (_FINAL_TEXT, size.to_bytes(8, "big"), message)
