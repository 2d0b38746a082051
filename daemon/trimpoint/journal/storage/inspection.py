"""Reads a journal and reports its state without changing it. Blocking; may run while a daemon
appends.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from trimpoint.journal import framing
from trimpoint.journal.framing import Header, HeaderState
from trimpoint.journal.port import Bookmark, Damage, OpenReport, Position
from trimpoint.journal.storage import damage
from trimpoint.journal.storage.file_ops import SYSTEM_FILES, FileOperations, read_fully

START = Position(framing.HEADER_BYTES, 0)
NOTHING = memoryview(b"")
# A bookmark's digest covers so many bytes: some records, which differ by sequence number, time and
# ids.
BOOKMARKED_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Content:
    """The content of a journal: the report, the whole records from `report.start` on, and the bytes
    to cut off if the tail is torn.

    `headless` says that there is no header, because the file is new or its creation was
    interrupted.
    """

    report: OpenReport
    records: memoryview = NOTHING
    torn: bytes = b""
    headless: bool = False


NEW = Content(OpenReport(Damage.NONE, START, START, framing.FORMAT_VERSION), headless=True)


def digest_before(content: framing.Buffer, end: int) -> bytes:
    """Returns the digest of the last `BOOKMARKED_BYTES` bytes of `content` before `end`."""
    return hashlib.blake2b(content[max(0, end - BOOKMARKED_BYTES) : end], digest_size=16).digest()


def bookmark(path: Path, position: Position, files: FileOperations) -> Bookmark:
    """Returns a bookmark at a durable position of the file.

    :raises OSError: when the file cannot be read.
    """
    fd = files.open(path, os.O_RDONLY)
    try:
        return _bookmark_at(files, fd, position)
    finally:
        files.close(fd)


def inspect(
    path: Path, *, after: Bookmark | None = None, files: FileOperations = SYSTEM_FILES
) -> Content:
    """Returns the content of the file at `path`. With `after`, only later records are read, if the
    file matches the bookmark.

    :raises OSError: when the file cannot be read; `FileNotFoundError` when it does not exist.
    """
    fd = files.open(path, os.O_RDONLY)
    try:
        head, header, size = _beginning(files, fd)
        if header.state is not HeaderState.VALID:
            return _without_records(header, head, size)
        start = Position(header.size_bytes, 0)
        if after is not None and (tail := _tail_after(files, fd, after, size)) is not None:
            return _examine(tail, after.position, header)
        return _examine(read_fully(files, fd, start.offset_bytes, size), start, header)
    finally:
        files.close(fd)


@dataclass(frozen=True, slots=True)
class Piece:
    """Whole records from `start` on, and a bookmark after the last of them. `start` is the
    requested position, or the first record if the file does not match the bookmark.
    """

    start: Position
    records: memoryview
    end: Bookmark


def read_piece(
    path: Path, after: Bookmark | None, max_bytes: int, files: FileOperations = SYSTEM_FILES
) -> Piece | None:
    """Returns the next records of the file, about `max_bytes` bytes and at least one record.
    Returns None if no whole record follows `after`. May run while a daemon appends.

    :raises OSError: when the file cannot be read; `FileNotFoundError` when it does not exist.
    """
    fd = files.open(path, os.O_RDONLY)
    try:
        _, header, size = _beginning(files, fd)
        if header.state is not HeaderState.VALID:
            return None
        start = Position(header.size_bytes, 0)
        if after is not None and _matches_bookmark(files, fd, after, size):
            start = after.position
        return _piece_at(files, fd, start, size, max_bytes)
    finally:
        files.close(fd)


def _beginning(files: FileOperations, fd: int) -> tuple[bytes, framing.Header, int]:
    """Returns the first bytes of a file, its header, and its size in bytes."""
    size = files.size(fd)
    head = read_fully(files, fd, 0, min(size, framing.READ_FOR_HEADER_BYTES))
    return head, framing.parse_header(head, size), size


def _matches_bookmark(files: FileOperations, fd: int, after: Bookmark, size: int) -> bool:
    return after.position.offset_bytes <= size and _bookmark_at(files, fd, after.position) == after


def _bookmark_at(files: FileOperations, fd: int, position: Position) -> Bookmark:
    end = position.offset_bytes
    before = read_fully(files, fd, max(0, end - BOOKMARKED_BYTES), end)
    return Bookmark(position, digest_before(before, len(before)))


def _piece_at(
    files: FileOperations, fd: int, start: Position, size: int, max_bytes: int
) -> Piece | None:
    at = start.offset_bytes
    data = memoryview(read_fully(files, fd, at, min(size, at + max_bytes)))
    found = framing.scan(data, at)
    if not found.records and at < size:
        end = at + framing.declared_end(data, 0)
        if end > min(size, at + framing.MAX_PAYLOAD_BYTES):
            return None
        data = memoryview(read_fully(files, fd, at, end))
        found = framing.scan(data, at)
    if not found.records:
        return None
    end_position = Position(at + found.end, start.records + found.records)
    return Piece(start, data[: found.end], _bookmark_at(files, fd, end_position))


def _tail_after(files: FileOperations, fd: int, after: Bookmark, size: int) -> memoryview | None:
    """Returns all bytes after the bookmark, or None if the file does not match the bookmark."""
    end = after.position.offset_bytes
    if end > size:
        return None
    start = max(0, end - BOOKMARKED_BYTES)
    content = read_fully(files, fd, start, size)
    return (
        memoryview(content)[end - start :]
        if digest_before(content, end - start) == after.digest
        else None
    )


def _without_records(header: Header, head: bytes, size: int) -> Content:
    def report(kind: Damage, reason: str) -> OpenReport:
        return OpenReport(kind, START, START, header.version, reason, damaged_bytes=size)

    match header.state:
        case HeaderState.TORN:
            return Content(
                report(Damage.TORN_TAIL, "the header is not whole"), torn=head, headless=True
            )
        case HeaderState.FOREIGN:
            return Content(report(Damage.FOREIGN, "not a trimpoint journal"))
        case HeaderState.NEWER:
            return Content(
                report(Damage.NEWER_VERSION, f"format {header.version} is not known here")
            )
        case _:
            return Content(report(Damage.DAMAGED_MIDDLE, "the header does not match its checksum"))


def _examine(data: framing.Buffer, start: Position, header: Header) -> Content:
    view = memoryview(data)
    found = framing.scan(view, start.offset_bytes)
    end = Position(start.offset_bytes + found.end, start.records + found.records)
    whole = view[: found.end]
    if not found.damaged:
        return Content(OpenReport(Damage.NONE, start, end, header.version), whole)
    verdict = damage.classify_tail(view, start.offset_bytes, found.end)
    kind = Damage.TORN_TAIL if verdict.torn else Damage.DAMAGED_MIDDLE
    beyond = len(view) - found.end
    report = OpenReport(kind, start, end, header.version, verdict.reason, damaged_bytes=beyond)
    return Content(report, whole, bytes(view[found.end :]) if verdict.torn else b"")
