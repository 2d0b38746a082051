"""Encodes a thread's state as a snapshot, so that opening a thread does not replay its whole
journal.

Pure, except that it reads the source code of the package:

    snapshot  = directory length u32 · directory · parts
    directory = msgpack of `Directory`, with the lengths of the parts of each field, in order

A snapshot is derived. It is used only by code that is equal to the code that wrote it, and only for
the journal that it was written for; otherwise it is ignored. This module names no field of the
state: a field declared as `MutableSequence` or `MutableMapping` is stored in chunks, which a loaded
state decodes on access; so are the turns and entries of an `UndoState`. A dict is stored in parts,
and any other field as a whole.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator, MutableMapping, MutableSequence
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from itertools import chain, islice
from types import GenericAlias
from typing import Any, NamedTuple, get_args, get_origin

import msgspec

from trimpoint import __version__
from trimpoint.core.model.ledger import Entry, Turn
from trimpoint.core.model.state import ThreadState, UndoState
from trimpoint.journal.codec.lazy_list import (
    CHUNK_ITEMS,
    Buffer,
    LazyIndex,
    LazyList,
    pack_index,
    pack_list,
)
from trimpoint.journal.port import Bookmark, Position

FORMAT = 1
DICT_ITEMS = 64
_LENGTH = struct.Struct("<I")
_encode = msgspec.msgpack.Encoder().encode


class _Field(msgspec.Struct, array_like=True):
    """A field of the state. `count` is the number of items in its parts, or 0 if the field is
    stored as a whole.
    """

    name: str
    count: int
    lengths: list[int]


class Directory(msgspec.Struct, array_like=True):
    """The directory of a snapshot. `folded_by` is the `fingerprint` of the code that wrote it.
    `offset_bytes`, `records` and `digest` are the bookmark of the journal up to which records are
    included.
    """

    format: int
    folded_by: bytes
    thread_id: str
    offset_bytes: int
    records: int
    digest: bytes
    fields: list[_Field]


class _Reverted(msgspec.Struct, array_like=True):
    """What a revert removed, without its turns and entries, and how many of them there are."""

    past: UndoState
    turns: int
    entries: int


class Snapshot(NamedTuple):
    """A state, and the bookmark after the last record that it includes."""

    state: ThreadState
    bookmark: Bookmark


_decode_turns = msgspec.msgpack.Decoder(list[Turn])
_decode_entries = msgspec.msgpack.Decoder(list[Entry])


class _Shape(NamedTuple):
    kind: type[Any] | None
    decoder: msgspec.msgpack.Decoder[Any]


class SnapshotWriter:
    """Encodes a state in small parts: iterate over the parts, then call `head` for the bytes that
    must be written before them.

    An empty part only returns control to the caller. The state must not change until the last part
    was yielded.
    """

    def __init__(self, thread_id: str, state: ThreadState, bookmark: Bookmark) -> None:
        self._state = state
        place = bookmark.position
        self._directory = Directory(
            FORMAT, fingerprint(), thread_id, place.offset_bytes, place.records, bookmark.digest, []
        )  # fmt: skip

    def __iter__(self) -> Iterator[Buffer]:
        for name, shape in _shapes().items():
            value = getattr(self._state, name)
            field = _Field(name, _count(value, shape), [])
            self._directory.fields.append(field)
            for part in _disassembled(value, shape):
                if part:
                    field.lengths.append(len(part))
                yield part

    def head(self) -> bytes:
        """Returns the bytes of the snapshot before the parts. Call it after the last part."""
        directory = _encode(self._directory)
        return _LENGTH.pack(len(directory)) + directory


def decode_snapshot(payload: memoryview | None, thread_id: str) -> Snapshot | None:
    """Returns the snapshot in the payload of a checked file, or None if there is none, or it is for
    another thread or by other code.
    """
    if payload is None or len(payload) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack_from(payload)
    at = _LENGTH.size + length
    try:
        directory = msgspec.msgpack.decode(payload[_LENGTH.size : at], type=Directory)
        if (directory.format, directory.folded_by, directory.thread_id) != (
            FORMAT,
            fingerprint(),
            thread_id,
        ):
            return None
        state = _assembled(directory, payload[at:])
    except msgspec.MsgspecError:
        return None
    return Snapshot(
        state, Bookmark(Position(directory.offset_bytes, directory.records), directory.digest)
    )


@cache
def fingerprint() -> bytes:
    """Returns a digest of the code that applies events to a state and that encodes the state.

    The core imports nothing outside its package, so its source files and those of the journal are
    all of this code.
    """
    sources = [
        source
        for package in ("trimpoint.core", "trimpoint.journal")
        for source in _sources(files(package))
    ]
    # The version too: an installation may have no sources.
    digest = hashlib.blake2b(__version__.encode(), digest_size=16)
    for source in sorted(sources, key=str):
        digest.update(source.read_bytes())
    return digest.digest()


def _sources(folder: Traversable) -> Iterator[Traversable]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _sources(entry)
        elif entry.name.endswith(".py"):
            yield entry


@cache
def _shapes() -> dict[str, _Shape]:
    return {field.name: _shape(field.type) for field in msgspec.structs.fields(ThreadState)}


def _shape(declared: Any) -> _Shape:
    kind: Any = get_origin(declared)
    arguments: Any = get_args(declared)
    if kind is MutableSequence:
        return _Shape(LazyList, msgspec.msgpack.Decoder(GenericAlias(list, arguments)))
    if kind is MutableMapping:
        return _Shape(LazyIndex, msgspec.msgpack.Decoder(GenericAlias(dict, arguments)))
    if kind is dict:
        return _Shape(dict, msgspec.msgpack.Decoder(GenericAlias(dict, arguments)))
    if UndoState in arguments:
        return _Shape(UndoState, msgspec.msgpack.Decoder(_Reverted))
    return _Shape(None, msgspec.msgpack.Decoder(declared))


def _disassembled(value: Any, shape: _Shape) -> Iterator[Buffer]:
    if shape.kind is LazyList:
        return pack_list(value)
    if shape.kind is dict:
        return _sliced(value)
    if shape.kind is UndoState:
        return _reverted_parts(value)
    return pack_index(value) if shape.kind is LazyIndex else iter((_encode(value),))


def _count(value: Any, shape: _Shape) -> int:
    """Returns the number of items of a list or an index; 0 for a field of another kind."""
    return len(value) if shape.kind in (LazyList, LazyIndex) else 0


def _sliced(value: dict[str, Any]) -> Iterator[Buffer]:
    """Yields a dict in parts, in its order: a receipt may hold a record of megabytes."""
    items = iter(value.items())
    while part := dict(islice(items, DICT_ITEMS)):
        yield _encode(part)


def _reverted_parts(past: UndoState | None) -> Iterator[Buffer]:
    """Yields what a revert removed in parts, because that may be most of the thread."""
    if past is not None:
        bare = msgspec.structs.replace(past, turns=[], entries=[])
        yield _encode(_Reverted(bare, len(past.turns), len(past.entries)))
        yield from pack_list(past.turns)
        yield from pack_list(past.entries)


def _reverted(head: _Reverted, parts: list[memoryview]) -> UndoState:
    chunks = -(-head.turns // CHUNK_ITEMS)
    head.past.turns = LazyList(parts[:chunks], head.turns, _decode_turns)
    head.past.entries = LazyList(parts[chunks:], head.entries, _decode_entries)
    return head.past


def _assembled(directory: Directory, parts: memoryview) -> ThreadState:
    """Returns the state that the parts encode.

    :raises MsgspecError: when the parts cannot be decoded.
    """
    state, at, shapes = ThreadState(), 0, _shapes()
    for field in directory.fields:
        shape, slices = shapes[field.name], list[memoryview]()
        for length in field.lengths:
            slices.append(parts[at : at + length])
            at += length
        setattr(state, field.name, _restored(shape, field.count, slices))
    return state


def _restored(shape: _Shape, count: int, slices: list[memoryview]) -> Any:
    if shape.kind is LazyList:
        return LazyList(slices, count, shape.decoder)
    if shape.kind is dict:
        return dict(chain.from_iterable(shape.decoder.decode(one).items() for one in slices))
    if shape.kind is UndoState:
        return _reverted(shape.decoder.decode(slices[0]), slices[1:]) if slices else None
    return (
        LazyIndex(slices, count, shape.decoder)
        if shape.kind is LazyIndex
        else shape.decoder.decode(slices[0])
    )
