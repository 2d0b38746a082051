"""Journals in files, and damage to them."""

# Tests look at the files themselves; nothing else waits for their loop.
# ruff: noqa: ASYNC240
from pathlib import Path

from trimpoint.journal import (
    FileJournal,
    framing,
)

from tests.journal.contract import (
    write,
)


def record_offset(path: Path, records: int) -> int:
    """Returns the offset of the record after this many records."""
    view = memoryview(path.read_bytes())
    offset = framing.HEADER_BYTES
    for _ in range(records):
        offset = framing.declared_end(view, offset)
    return offset


def flip(path: Path, offset: int) -> None:
    data = bytearray(path.read_bytes())
    data[offset] ^= 1
    path.write_bytes(data)


async def filled(path: Path, *records: bytes) -> bytes:
    journal = await FileJournal.open(path)
    await write(journal, *records)
    await journal.close()
    return path.read_bytes()
