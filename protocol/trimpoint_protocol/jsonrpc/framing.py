"""Sans-IO framing: splits a byte stream that arrives in chunks into messages.

Always true: the result depends only on the bytes, not on the chunks; every byte is copied a bounded
number of times; at most `max_message_bytes` and one chunk are held in memory.

A frame is `bytes` (one message, not decoded) or a value that reports an error. A framer serves one
direction of one connection.
"""

from typing import Protocol, TypeAlias

from msgspec import Struct

__all__ = [
    "MAX_HEADER_BYTES",
    "AutoFramer",
    "ContentLengthFramer",
    "Frame",
    "Framer",
    "LineFramer",
    "Malformed",
    "TooLarge",
    "Truncated",
    "encode_content_length",
    "encode_line",
]

MAX_HEADER_BYTES = 8192
"""For all headers of one message together, the line ends included."""

_MAX_LENGTH_DIGITS = 18


class TooLarge(Struct, frozen=True):
    """A message over the limit was skipped; later messages are read.

    `size_bytes` is the length of the line without its line feed (a carriage return counts), or the
    declared length.
    """

    size_bytes: int


class Malformed(Struct, frozen=True):
    """The boundaries of messages are lost, so the caller closes the connection. No frame
    follows.
    """

    reason: str


class Truncated(Struct, frozen=True):
    """The stream ended inside a message. `received` is the beginning of the message (its headers,
    if the body had not begun).

    A last line may be complete except for its line feed; the caller decides whether to accept it.
    """

    received: bytes


Frame: TypeAlias = bytes | TooLarge | Malformed | Truncated


class Framer(Protocol):
    """The framing of a connection: splits bytes into frames, and frames messages."""

    def feed(self, data: bytes) -> list[Frame]:
        """Adds a chunk and returns the frames that it completes, in order."""
        ...

    def eof(self) -> list[Frame]:
        """Ends the stream and returns what is incomplete: nothing or one frame. Nothing may be fed
        afterwards.
        """
        ...

    def encode(self, message: bytes) -> bytes:
        """Frames one message in the form that the peer uses."""
        ...


def encode_line(message: bytes) -> bytes:
    """Frames a JSON message as a line.

    Line feeds are replaced by spaces, because they would end the line too early. In JSON they can
    only be between tokens, so the content does not change.
    """
    if b"\n" in message:
        message = message.replace(b"\n", b" ")
    return message + b"\n"


def encode_content_length(message: bytes) -> bytes:
    """Frames a message with a Content-Length header, as LSP does."""
    return b"Content-Length: %d\r\n\r\n%b" % (len(message), message)


class LineFramer:
    """Frames of one message per line, ended by LF or CRLF.

    Whitespace around a message is removed, and blank lines are ignored. A line over the limit is
    reported when it ends, so that its position and size do not depend on the chunks.
    """

    def __init__(self, max_message_bytes: int) -> None:
        self._max_message_bytes = max_message_bytes
        self._buffered = bytearray()
        self._skipped_bytes = 0

    @property
    def is_skipping(self) -> bool:
        """Returns whether the current line is over the limit and has not ended."""
        return self._skipped_bytes > 0

    def feed(self, data: bytes) -> list[Frame]:
        lines = data.split(b"\n")
        tail = lines.pop()
        if not lines:
            self._buffer(tail)
            return []
        frames = self._finish_buffered(lines.pop(0))
        if len(data) > self._max_message_bytes:
            frames.extend(frame for line in lines for frame in self._frame(line))
        else:
            frames.extend(filter(None, map(bytes.strip, lines)))
        self._buffer(tail)
        return frames

    def eof(self) -> list[Frame]:
        if self._skipped_bytes:
            return [TooLarge(self._skipped_bytes)]
        received = bytes(self._buffered)
        return [Truncated(received)] if received.strip() else []

    def encode(self, message: bytes) -> bytes:
        return encode_line(message)

    def _frame(self, line: bytes) -> list[Frame]:
        if len(line) > self._max_message_bytes:
            return [TooLarge(len(line))]
        message = line.strip()
        return [message] if message else []

    def _finish_buffered(self, end: bytes) -> list[Frame]:
        if not self._buffered and not self._skipped_bytes:
            return self._frame(end)
        self._buffer(end)
        if self._skipped_bytes:
            frames: list[Frame] = [TooLarge(self._skipped_bytes)]
            self._skipped_bytes = 0
            return frames
        line = bytes(self._buffered)
        self._buffered.clear()
        return self._frame(line)

    def _buffer(self, part: bytes) -> None:
        # A bytearray grows in place: a line that comes byte by byte costs no list of them and no
        # re-join.
        size = self._skipped_bytes + len(self._buffered) + len(part)
        if size > self._max_message_bytes:
            self._skipped_bytes = size
            self._buffered.clear()
        else:
            self._buffered += part


class ContentLengthFramer:
    """The framing of LSP. Header names are case-insensitive, and headers other than Content-Length
    are ignored.

    A bare LF as line end and blank lines before the headers are accepted. A message over the limit
    is reported as soon as its headers are read.
    """

    def __init__(self, max_message_bytes: int) -> None:
        self._max_message_bytes = max_message_bytes
        self._is_lost = False
        self._skips_body = False
        # Kept until the message is whole: all there is to show of one whose body never began.
        self._headers = bytearray()
        self._line_start = 0
        self._declared_bytes: int | None = None
        self._body = bytearray()
        self._missing_bytes = 0

    def feed(self, data: bytes) -> list[Frame]:
        frames: list[Frame] = []
        position = 0
        while position < len(data) and not self._is_lost:
            take = self._feed_body if self._missing_bytes else self._feed_header_line
            position = take(data, position, frames)
        return frames

    def eof(self) -> list[Frame]:
        return [Truncated(bytes(self._body or self._headers))] if self._headers.strip() else []

    def encode(self, message: bytes) -> bytes:
        return encode_content_length(message)

    def _feed_header_line(self, data: bytes, start: int, frames: list[Frame]) -> int:
        end = data.find(b"\n", start) + 1
        self._headers += data[start : end or None]
        if len(self._headers) > MAX_HEADER_BYTES:
            self._mark_lost(f"the headers are longer than {MAX_HEADER_BYTES} bytes", frames)
        elif end:
            line = bytes(self._headers[self._line_start :]).strip()
            self._line_start = len(self._headers)
            if line:
                self._read_header(line, frames)
            else:
                self._end_headers(frames)
        return end or len(data)

    def _read_header(self, line: bytes, frames: list[Frame]) -> None:
        name, colon, value = line.partition(b":")
        if not colon:
            self._mark_lost("a header line has no colon", frames)
        elif name.strip().lower() == b"content-length":
            self._read_length(value.strip(), frames)

    def _read_length(self, digits: bytes, frames: list[Frame]) -> None:
        if not digits.isdigit() or len(digits) > _MAX_LENGTH_DIGITS:
            self._mark_lost("Content-Length is not a number of bytes", frames)
        elif self._declared_bytes not in (None, int(digits)):
            self._mark_lost("Content-Length is given twice", frames)
        else:
            self._declared_bytes = int(digits)

    def _end_headers(self, frames: list[Frame]) -> None:
        if self._headers.isspace():
            self._start_over()
        elif self._declared_bytes is None:
            self._mark_lost("Content-Length is missing", frames)
        elif self._declared_bytes == 0:
            frames.append(b"")
            self._start_over()
        else:
            self._start_body(self._declared_bytes, frames)

    def _start_body(self, declared_bytes: int, frames: list[Frame]) -> None:
        self._missing_bytes = declared_bytes
        if declared_bytes > self._max_message_bytes:
            frames.append(TooLarge(declared_bytes))
            self._skips_body = True
            self._headers.clear()

    def _feed_body(self, data: bytes, start: int, frames: list[Frame]) -> int:
        end = min(start + self._missing_bytes, len(data))
        self._missing_bytes -= end - start
        if not self._skips_body:
            self._body += data[start:end]
        if not self._missing_bytes:
            if not self._skips_body:
                frames.append(bytes(self._body))
            self._start_over()
        return end

    def _start_over(self) -> None:
        self._skips_body = False
        self._headers.clear()
        self._line_start = 0
        self._declared_bytes = None
        self._body.clear()

    def _mark_lost(self, reason: str, frames: list[Frame]) -> None:
        frames.append(Malformed(reason))
        self._is_lost = True
        self._start_over()


class AutoFramer:
    """Detects the peer's framing by its first byte that is not whitespace.

    `C` or `c` begins a Content-Length header, anything else a line. Before the peer's first byte,
    messages are sent as lines.
    """

    def __init__(self, max_message_bytes: int) -> None:
        self._max_message_bytes = max_message_bytes
        self._chosen: LineFramer | ContentLengthFramer | None = None

    @property
    def speaks_lines(self) -> bool:
        """Returns whether messages are sent as lines."""
        return not isinstance(self._chosen, ContentLengthFramer)

    def feed(self, data: bytes) -> list[Frame]:
        if self._chosen is None:
            data = data.lstrip()
            if not data:
                return []
            kind = ContentLengthFramer if data[:1] in (b"C", b"c") else LineFramer
            self._chosen = kind(self._max_message_bytes)
        return self._chosen.feed(data)

    def eof(self) -> list[Frame]:
        return self._chosen.eof() if self._chosen else []

    def encode(self, message: bytes) -> bytes:
        return self._chosen.encode(message) if self._chosen else encode_line(message)
