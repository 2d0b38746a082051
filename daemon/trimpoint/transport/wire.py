"""Frames messages on a byte stream: as lines, with Content-Length headers, in WebSocket frames, or
as server-sent events.

A `Wire` does no I/O: it turns received bytes into `Received` frames, and messages into bytes. Each
connection has its own.
"""

from enum import IntEnum, StrEnum
from typing import Protocol, TypeAlias, assert_never

import msgspec
from msgspec import Raw, Struct
from trimpoint_protocol.jsonrpc.framing import (
    AutoFramer,
    Frame,
    encode_content_length,
)


class Dialect(StrEnum):
    """The framing that a client uses."""

    LINES = "lines"
    CONTENT_LENGTH = "content-length"
    WEBSOCKET = "websocket"
    WEBSOCKET_LINES = "websocket-lines"
    EVENT_STREAM = "event-stream"


class CloseCode(IntEnum):
    """Why a connection ends, as a WebSocket close code (RFC 6455, 7.4.1). Other framings cannot
    send it.
    """

    NORMAL = 1000
    UNSUPPORTED_DATA = 1003
    POLICY_VIOLATION = 1008
    INTERNAL_ERROR = 1011
    SERVICE_RESTART = 1012
    TRY_AGAIN_LATER = 1013


class Reply(Struct, frozen=True):
    """Bytes that are sent back to the peer unchanged, such as a pong or the answer to a close
    frame.
    """

    data: bytes


class Ended(Struct, frozen=True):
    """The peer closed the connection or broke the protocol; no frame follows."""

    reason: str


Received: TypeAlias = Frame | Reply | Ended


class Wire(Protocol):
    """The framing of one connection."""

    @property
    def dialect(self) -> Dialect:
        """Returns the framing in which messages are sent from now on."""
        ...

    def feed(self, data: bytes) -> list[Received]:
        """Takes received bytes, and returns the frames that they complete, in order."""
        ...

    def eof(self) -> list[Received]:
        """Returns the unfinished frame at the end of the stream, if there is one. Feed no bytes
        afterwards.
        """
        ...

    def encode(self, message: bytes) -> bytes:
        """Returns one message in this framing."""
        ...

    def farewell(self, code: CloseCode, reason: str) -> bytes:
        """Returns the bytes that announce the end of the connection; empty where the framing has
        none.
        """
        ...


class StreamWire:
    """Frames messages as lines or with Content-Length headers, whichever the peer's first bytes
    use.
    """

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
    """Returns JSON messages, each of which ends with its only newline, framed for one dialect."""
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
"""The notifications whose parameters have a `sequence`, from which a client can resume."""


class _Sequenced(Struct):
    sequence: int | None = None


class _Notification(Struct):
    method: str
    params: Raw


def encode_event(message: bytes) -> bytes:
    """Returns a notification as a server-sent event: the method is the event's type, the
    `sequence`, if it has one, its id.
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
    """Returns a message as one WebSocket text frame of a server (RFC 6455, 5.2).

    A server's frames are not masked, so the same bytes can be sent to all clients.
    """
    size = len(message)
    if size < 126:
        return b"%c%c%b" % (_FINAL_TEXT, size, message)
    if size < 1 << 16:
        return b"%c\x7e%b%b" % (_FINAL_TEXT, size.to_bytes(2, "big"), message)
    return b"%c\x7f%b%b" % (_FINAL_TEXT, size.to_bytes(8, "big"), message)
