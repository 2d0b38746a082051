"""Encodes and checks the bytes of a journal file and of a checked file. Pure.

All knowledge of byte positions is in this module. The format, version 1, little-endian:

    file    = header · record*
    header  = magic (8) · version u16 · header size u16 · reserved (4, zero)
              · CRC-32 of all bytes before it u32
    record  = checksum u32 · word u32 · payload
    word    = payload length in bits 0..27 · zero in bits 28..30
              · bit 31 set on the first record of a batch

- The positions of magic, version and header size, and of the CRC in the last four bytes, are the
  same in every later version. Of a larger header of the same version, the extra bytes are skipped.
- The checksum is the CRC-32 of word and payload, started from the file offset of the record
  (modulo 2**32). Journal bytes inside a payload are therefore not valid at their place, so that
  `damage` can search for records in a file that cannot be parsed.
- A payload has at least one byte, so space filled with zeros is never a record.
- A batch is written by one group commit, and only after all bytes before it are durable. Hence a
  valid record that is the first of a batch proves that everything before it was durable once.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

Buffer = bytes | memoryview

MAGIC: Final = b"\x89TPJ\r\n\x1a\n"
FORMAT_VERSION: Final = 1
MAX_PAYLOAD_BYTES: Final = (1 << 28) - 1

_FIXED = struct.Struct("<8sHH")
_RESERVED = bytes(4)
_U32 = struct.Struct("<I")
_RECORD = struct.Struct("<II")
_OFFSET_MASK = 0xFFFF_FFFF
_FIRST_OF_BATCH = 1 << 31
_LENGTH_MASK = _FIRST_OF_BATCH - 1

# The largest header of a later version. `parse_header` needs this many bytes, or the whole file.
READ_FOR_HEADER_BYTES: Final = 4096

HEADER_BYTES: Final = _FIXED.size + len(_RESERVED) + _U32.size
RECORD_OVERHEAD_BYTES: Final = _RECORD.size


class HeaderState(Enum):
    """The state of a file's first bytes. `TORN`: a crash interrupted the creation of the file."""

    VALID = "valid"
    TORN = "torn"
    DAMAGED = "damaged"
    FOREIGN = "foreign"
    NEWER = "newer"


@dataclass(frozen=True, slots=True)
class Header:
    """The state of a file's header, its size in bytes, and the format version of the file."""

    state: HeaderState
    size_bytes: int = 0
    version: int = 0


@dataclass(frozen=True, slots=True)
class Scan:
    """The number of whole records at the start of a buffer, and the position `end` after the last
    of them.

    `damaged` says whether bytes follow that are no record.
    """

    records: int
    end: int
    damaged: bool


@dataclass(frozen=True, slots=True)
class Candidate:
    """A record with a valid checksum: the position of its end in the buffer, and whether it is the
    first of a batch.
    """

    end: int
    first_of_batch: bool


def encode_header() -> bytes:
    """Returns the header of a new journal file."""
    body = _FIXED.pack(MAGIC, FORMAT_VERSION, HEADER_BYTES) + _RESERVED
    return body + _U32.pack(zlib.crc32(body))


def parse_header(head: Buffer, file_size_bytes: int) -> Header:
    """Returns the header of a file. `head` must have the first `READ_FOR_HEADER_BYTES` bytes of the
    file, or all of them.
    """
    if file_size_bytes <= HEADER_BYTES and _may_be_torn(bytes(head)):
        return Header(HeaderState.TORN)
    if head[: len(MAGIC)] != MAGIC or len(head) < _FIXED.size:
        return Header(HeaderState.FOREIGN)
    _, version, size_bytes = _FIXED.unpack_from(head)
    body, stored = head[: size_bytes - _U32.size], head[size_bytes - _U32.size : size_bytes]
    if not HEADER_BYTES <= size_bytes <= len(head) or _U32.pack(zlib.crc32(body)) != stored:
        return Header(HeaderState.DAMAGED)
    state = HeaderState.NEWER if version > FORMAT_VERSION else HeaderState.VALID
    return Header(state, size_bytes, version)


def _may_be_torn(head: bytes) -> bool:
    """Returns whether a crash while the file was created may have left `head`: the beginning of a
    header, and zeros in place of the rest.
    """
    if head == encode_header():
        return False
    return encode_header().startswith(head.rstrip(b"\0"))


def check_payload(payload: bytes) -> None:
    """Checks the length of a payload.

    :raises ValueError: when it is empty or longer than `MAX_PAYLOAD_BYTES`.
    """
    if not 1 <= len(payload) <= MAX_PAYLOAD_BYTES:
        raise ValueError(
            f"a journal record holds 1 to {MAX_PAYLOAD_BYTES} bytes, not {len(payload)}"
        )


def encode_batch(payloads: Sequence[Buffer], offset_bytes: int) -> bytes:
    """Returns the encoded records of one batch. It must be written at `offset_bytes`, and only
    after all bytes before are durable.
    """
    parts: list[Buffer] = []
    flag = _FIRST_OF_BATCH
    for payload in payloads:
        word = _U32.pack(len(payload) | flag)
        checksum = zlib.crc32(payload, zlib.crc32(word, offset_bytes & _OFFSET_MASK))
        parts += (_U32.pack(checksum), word, payload)
        offset_bytes += RECORD_OVERHEAD_BYTES + len(payload)
        flag = 0
    return b"".join(parts)


def batch_size_bytes(payloads: Sequence[bytes]) -> int:
    """Returns the number of bytes that `encode_batch` returns for `payloads`."""
    return sum(map(len, payloads)) + RECORD_OVERHEAD_BYTES * len(payloads)


def scan(view: memoryview, base: int) -> Scan:
    """Checks the records from the start of `view`, whose first byte is at file offset `base`."""
    unpack, crc32, size = _RECORD.unpack_from, zlib.crc32, len(view)
    position = records = 0
    # Inlined copy of `candidate_at`: a call per record would halve the rate of replay.
    while position + 8 < size:
        stored, word = unpack(view, position)
        start = position + 8
        end = start + (word & _LENGTH_MASK)
        if end > size or end == start:
            break
        if crc32(view[position + 4 : end], (base + position) & _OFFSET_MASK) != stored:
            break
        position = end
        records += 1
    return Scan(records, position, position < size)


def candidate_at(view: memoryview, base: int, position: int) -> Candidate | None:
    """Returns the record at `position` of `view`, or None if there is no valid record."""
    start = position + RECORD_OVERHEAD_BYTES
    if start >= len(view):
        return None
    stored, word = _RECORD.unpack_from(view, position)
    end = start + (word & _LENGTH_MASK)
    if end > len(view) or end == start:
        return None
    if zlib.crc32(view[position + _U32.size : end], (base + position) & _OFFSET_MASK) != stored:
        return None
    return Candidate(end, bool(word & _FIRST_OF_BATCH))


def declared_end(view: memoryview, position: int) -> int:
    """Returns the end of the record at `position` according to its length, or the end of its header
    if `view` ends before that.
    """
    start = position + RECORD_OVERHEAD_BYTES
    if start > len(view):
        return start
    _, word = _RECORD.unpack_from(view, position)
    return start + int(word & _LENGTH_MASK)


def payloads(view: memoryview) -> Iterator[memoryview]:
    """Yields the payloads of a buffer as slices of it. The buffer must consist of whole records, as
    found by `scan`; nothing is checked again.
    """
    unpack, size = _U32.unpack_from, len(view)
    position = 0
    while position < size:
        start = position + 8
        position = start + (unpack(view, position + 4)[0] & _LENGTH_MASK)
        yield view[start:position]


_CHECKED_MAGIC = b"\x89TPC\r\n\x1a\n"
_CHECKED = struct.Struct("<8sQI")


def seal(payload: Iterable[Buffer]) -> bytes:
    """Returns the header of a checked file with this payload: magic · length u64 · CRC-32 of the
    payload. `payload` may be given in parts.
    """
    length = checksum = 0
    for part in payload:
        length, checksum = length + len(part), zlib.crc32(part, checksum)
    return _CHECKED.pack(_CHECKED_MAGIC, length, checksum)


def unseal(content: Buffer) -> memoryview | None:
    """Returns the payload of a checked file as a slice of `content`, or None if it is damaged."""
    if len(content) < _CHECKED.size:
        return None
    magic, length, checksum = _CHECKED.unpack_from(content)
    payload = memoryview(content)[_CHECKED.size :]
    intact = magic == _CHECKED_MAGIC and length == len(payload) and checksum == zlib.crc32(payload)
    return payload if intact else None
