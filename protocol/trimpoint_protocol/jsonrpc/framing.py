"""Sans-IO framing: chunks of a byte stream in, whole messages out, in whatever pieces the chunks
come.

Always true: what is reported depends on the bytes alone, never on where the stream was cut into
chunks; every byte is copied a bounded number of times; and no more than `max_message_bytes` and one
chunk are ever held.

A frame is `bytes` (one message, unparsed) or an event that says what is wrong. Framers are for
one connection and one direction each; the caller reads, decodes and answers.
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
    """A message over the limit was skipped; the stream goes on behind it.

    `size_bytes` is the line without its newline (a carriage return counts), or the declared
    length.
    """

    size_bytes: int


class Malformed(Struct, frozen=True):
    """Message boundaries are lost: the caller closes the connection. Nothing follows this frame."""

    reason: str


class Truncated(Struct, frozen=True):
    """The stream ended inside a message; `received` is what came (its headers, if its body never
    began).

    A last line may be whole and lack only its newline: the caller decides whether to take it as a
    message.
    """

    received: bytes


Frame: TypeAlias = bytes | TooLarge | Malformed | Truncated


class Framer(Protocol):
    """The framing of a connection: bytes to frames and back."""

    def feed(self, data: bytes) -> list[Frame]:
        """Take the next chunk; give the frames it completes, in order."""
        ...

    def eof(self) -> list[Frame]:
        """Say what the end of the stream left unfinished: nothing or one frame. Feed nothing
        afterwards.
        """
        ...

    def encode(self, message: bytes) -> bytes:
        """Frame one message as the peer expects it."""
        ...


def encode_line(message: bytes) -> bytes:
    """Frame a JSON message as a line.

    In JSON a raw newline can only stand between tokens, so a pretty-printed message is put on one
    line without touching its content; left in, it would tear the frame.
    """
    if b"\n" in message:
        message = message.replace(b"\n", b" ")
    return message + b"\n"


def encode_content_length(message: bytes) -> bytes:
    """Frame a message as LSP does."""
    return b"Content-Length: %d\r\n\r\n%b" % (len(message), message)


class LineFramer:
    """One message a line, ended by LF or CRLF.

    Whitespace around a message is not part of it, blank lines are nothing. An over-long line is
    reported when it ends, so that its place among the messages and its size do not depend on the
    chunks.
    """

    def __init__(self, max_message_bytes: int) -> None:
        self._max_message_bytes = max_message_bytes
        self._buffered = bytearray()
        self._skipped_bytes = 0

    @property
    def is_skipping(self) -> bool:
        """Returns whether a line is over the limit and has not ended yet."""
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
    """LSP framing. Header names are case-insensitive, headers other than Content-Length are
    ignored.

    Bare LF as a line end and blank lines before the headers are tolerated. An over-long message is
    reported as soon as its headers are read.
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
    """Detects the peer's framing by its first byte that is not blank.

    `C` or `c` begins a Content-Length header, all else a line. Until the peer speaks, it is
    sent lines.
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
