"""Splits a stream into lines, in constant memory. Pure, except for reading the stream.

Always true: only ` ` ends a line, and no returned line is longer than `MAX_LINE_BYTES`. A longer
one is read to its end, and the content of its strings beyond a limit is cut out: image data
completely, other text in steps of a megabyte. So the rest of the line is still valid JSON.
"""

import io
import re
from collections.abc import Iterator
from functools import cache
from itertools import chain
from typing import Protocol

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
CHUNK_BYTES = 256 * 1024
BATCH_BYTES = 64 * 1024
PLAIN_LINE_BYTES = 2 * 1024 * 1024
MAX_LINE_BYTES = 12 * 1024 * 1024
LONG_TEXT_BYTES = 1024 * 1024
SHORT_TEXT_BYTES = 256
CUT = b"[cut while reading]"
OVERLONG = b'{"type":"overlong line"}'
# What stands in a string, up to its end.
_INSIDE = re.compile(rb'(?:[^"\\]++|\\.)*+', re.DOTALL)
# The same in whole characters: no escape, and no pair of escapes, is cut in two.
_WHOLE = re.compile(
    rb"(?:[^\\]++|\\[^u]|\\u(?![dD][89abAB])[0-9a-fA-F]{4}"
    rb"|\\u[dD][89abAB][0-9a-fA-F]{2}(?:\\u[0-9a-fA-F]{4}|(?=[^\\])))*+",
    re.DOTALL,
)
# What can be taken as it is outside of strings: strings that are short and whole, and all between
# them.
_PLAIN = rb'(?:[^"]++|"(?!data:image/)(?:[^"\\]|\\.){0,%d}+")*+'
_LAST_ESCAPE = re.compile(rb"\\(?:u[0-9a-fA-F]{0,3})?\Z")


class LineSource(Protocol):
    """The part of a buffered binary file that is needed here."""

    def read(self, size: int = -1, /) -> bytes:
        """Reads `size` bytes, fewer only at the end."""
        ...

    def readline(self, size: int = -1, /) -> bytes:
        """Reads up to a line feed, at most `size` bytes."""
        ...


def lines_of(source: LineSource) -> Iterator[bytes]:
    """Yields each line with its `\n`; the last one lacks it if it is incomplete."""
    return chain.from_iterable(batches_of(source))


def batches_of(source: LineSource) -> Iterator[list[bytes]]:
    """Yields the lines in lists of about `BATCH_BYTES`; splitting so many at once takes little."""
    mark = BYTE_ORDER_MARK
    while block := source.read(BATCH_BYTES):
        block, mark = block.removeprefix(mark), b""
        lines = io.BytesIO(block).readlines()
        if block and not block.endswith(b"\n"):
            lines[-1] = _completed(lines[-1], source)
        yield lines


def _completed(begun: bytes, source: LineSource) -> bytes:
    """Returns the line that begins with `begun`, read to its end."""
    line = begun + source.readline(PLAIN_LINE_BYTES - len(begun))
    if len(line) < PLAIN_LINE_BYTES or line.endswith(b"\n"):
        return line
    return _long_line(line, source)


def _long_line(head: bytes, source: LineSource) -> bytes:
    shrinker = Shrinker()
    shrinker.feed(head)
    while not head.endswith(b"\n"):
        head = source.readline(CHUNK_BYTES)
        if not head:
            return shrinker.result()
        shrinker.feed(head)
    return shrinker.result()


class Shrinker:
    """Shortens long strings of one JSON line that comes in pieces."""

    def __init__(self) -> None:
        self._kept: list[bytes] = []
        self._size = 0
        self._in_string = False
        self._held = b""
        self._plain = _plain(CHUNK_BYTES)
        self._string_size = 0
        self._limit = LONG_TEXT_BYTES
        self._is_data = False
        self._overlong = False

    def feed(self, piece: bytes) -> None:
        """Takes the next piece of the line. An escape that its end cuts in two is held back."""
        if self._overlong:
            return
        piece = self._held + piece
        whole = len(piece) - _unfinished_bytes(piece)
        piece, self._held = piece[:whole], piece[whole:]
        at, end = 0, len(piece)
        while at < end:
            at = self._string(piece, at) if self._in_string else self._between(piece, at)

    def _between(self, piece: bytes, at: int) -> int:
        """Takes what stands before the next long string; returns where that begins."""
        plain = self._plain.match(piece, at)
        assert plain is not None  # it matches nothing, too
        stop = min(plain.end() + 1, len(piece))
        self._keep(piece[at:stop])
        if plain.end() < len(piece):
            self._in_string, self._string_size = True, 0
            self._is_data = piece.startswith(b"data:image/", stop)
        return stop

    def _string(self, piece: bytes, at: int) -> int:
        """Takes what belongs to a string; returns where it goes on."""
        end = self._end_of_string(piece, at)
        stop = len(piece) if end is None else end
        limit = SHORT_TEXT_BYTES if self._is_data else self._limit
        room = limit - self._string_size
        if room > 0:
            fits = stop - at <= room
            self._keep(piece[at:stop] if fits else _whole_characters(piece[at : at + room]) + CUT)
        self._string_size += stop - at
        if end is None:
            return stop
        self._keep(b'"')
        self._in_string = False
        return end + 1

    def _end_of_string(self, piece: bytes, at: int) -> int | None:
        inside = _INSIDE.match(piece, at)
        assert inside is not None  # it matches nothing, too
        return inside.end() if inside.end() < len(piece) else None

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        self._kept.append(part)
        if self._size > MAX_LINE_BYTES:
            self._overlong = True
            self._kept.clear()
        elif self._size > MAX_LINE_BYTES // 2:
            self._limit, self._plain = SHORT_TEXT_BYTES, _plain(SHORT_TEXT_BYTES)

    def result(self) -> bytes:
        r"""Returns the line. One that is too long without its strings is replaced by a row of a
        kind that no reader knows.
        """
        return OVERLONG + b"\n" if self._overlong else b"".join((*self._kept, self._held))


@cache
def _plain(longest: int) -> re.Pattern[bytes]:
    return re.compile(_PLAIN % longest, re.DOTALL)


def _unfinished_bytes(piece: bytes) -> int:
    """Returns how many bytes at the end begin an escape that goes on."""
    escape = _LAST_ESCAPE.search(piece, max(0, len(piece) - 5))
    if escape is None:
        return 0
    before = piece[: escape.start()]
    is_escaped = (len(before) - len(before.rstrip(b"\\"))) % 2 == 1
    return 0 if is_escaped else len(piece) - escape.start()


def _whole_characters(part: bytes) -> bytes:
    """Returns `part` without an escape or a character that its end cuts in two."""
    found = _WHOLE.match(part)
    assert found is not None  # it matches nothing, too
    part = part[: found.end()]
    head, tail = part[:-4], part[-4:]
    return head + tail.decode("utf-8", "ignore").encode() if part[-1:] >= b"\x80" else part
