"""Reads a journal piece by piece with little memory. Blocking; may run while a daemon appends, if
the caller gives the durable size.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from trimpoint.journal import framing
from trimpoint.journal.framing import HeaderState
from trimpoint.journal.storage.file_ops import SYSTEM_FILES, FileOperations, read_fully

PIECE_BYTES = 256 * 1024


class Payload(NamedTuple):
    """The payload of one record, with the file offsets of the record's start and end."""

    start_bytes: int
    end_bytes: int
    content: memoryview


def read_piece(
    path: Path, start_bytes: int, durable_bytes: int, files: FileOperations = SYSTEM_FILES
) -> list[Payload]:
    """Returns the next whole records from `start_bytes` on (0 for the first record). Returns an
    empty list at the durable end, or where the file is damaged.

    A piece has about `PIECE_BYTES` bytes, or one record if that is larger.

    :raises OSError: when the file cannot be read or does not exist.
    """
    fd = files.open(path, os.O_RDONLY)
    try:
        start = start_bytes or _end_of_header(files, fd)
        end = min(durable_bytes, start + PIECE_BYTES)
        if start >= end:
            return []
        view = memoryview(read_fully(files, fd, start, end))
        if len(view) > framing.RECORD_OVERHEAD_BYTES:
            needed = framing.declared_end(view, 0)
            if len(view) < needed <= durable_bytes - start:
                view = memoryview(read_fully(files, fd, start, start + needed))
    finally:
        files.close(fd)
    return _records(view, start)


def _end_of_header(files: FileOperations, fd: int) -> int:
    size = files.size(fd)
    head = read_fully(files, fd, 0, min(size, framing.READ_FOR_HEADER_BYTES))
    header = framing.parse_header(head, size)
    return header.size_bytes if header.state is HeaderState.VALID else size


def _records(view: memoryview, start: int) -> list[Payload]:
    whole = view[: framing.scan(view, start).end]
    records: list[Payload] = []
    for content in framing.payloads(whole):
        end = start + framing.RECORD_OVERHEAD_BYTES + len(content)
        records.append(Payload(start, end, content))
        start = end
    return records
