"""Lists and indexes of a snapshot that stay encoded until an item is read. Pure.

A decoded part stays decoded, because the caller that got an object may change it. Parts that were
never read are still encoded bytes, and are written to the next snapshot unchanged.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, MutableMapping, MutableSequence, Sequence
from itertools import chain
from typing import Any, Generic, TypeVar, cast, overload

import msgspec

Buffer = bytes | memoryview

CHUNK_ITEMS = 256
BUCKET_ITEMS = 128
# A part of so much of an index is a good part.
MANY = 8
# The number of items that are sorted into buckets before control returns to the caller.
YIELD_EVERY_ITEMS = 4096

T = TypeVar("T")
_encode = msgspec.msgpack.Encoder().encode


class LazyList(MutableSequence[T]):
    """A list whose first `CHUNK_ITEMS * len(chunks)` items are chunks that `pack_list` encoded;
    `decoder` decodes a chunk.
    """

    def __init__(
        self, chunks: list[memoryview], count: int, decoder: msgspec.msgpack.Decoder[list[T]]
    ) -> None:
        self._decoder = decoder
        whole = count // CHUNK_ITEMS
        self._packed: list[memoryview | list[T]] = list(chunks[:whole])
        self._materialized: list[T] = decoder.decode(chunks[whole]) if count % CHUNK_ITEMS else []

    def __len__(self) -> int:
        return len(self._packed) * CHUNK_ITEMS + len(self._materialized)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        if isinstance(index, slice):
            return self._slice(*index.indices(len(self)))
        at = self._place(index)
        chunk = at // CHUNK_ITEMS
        if chunk < len(self._packed):
            return self._chunk(chunk)[at % CHUNK_ITEMS]
        return self._materialized[at - len(self._packed) * CHUNK_ITEMS]

    @overload
    def __setitem__(self, index: int, value: T) -> None: ...
    @overload
    def __setitem__(self, index: slice, value: Iterable[T]) -> None: ...
    def __setitem__(self, index: Any, value: Any) -> None:
        self._materialized[self._materialize(index)] = value

    def __delitem__(self, index: int | slice) -> None:
        del self._materialized[self._materialize(index)]

    def __iter__(self) -> Iterator[T]:
        # Copies of a long ledger are made on the event loop: no Python runs for each item.
        packed = map(self._chunk, range(len(self._packed)))
        return chain(chain.from_iterable(packed), self._materialized)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, list | LazyList):
            return False
        others = cast("Sequence[Any]", other)
        return len(self) == len(others) and list(self) == list(others)

    __hash__ = None  # type: ignore[assignment]

    def insert(self, index: int, value: T) -> None:
        at = max(0, min(index if index >= 0 else index + len(self), len(self)))
        self._materialized.insert(self._materialize_from(at), value)

    def append(self, value: T) -> None:
        self._materialized.append(value)

    def extend(self, values: Iterable[T]) -> None:
        self._materialized.extend(values)

    def packed_chunks(self) -> Iterator[Buffer]:
        """Yields all chunks in the form that `pack_list` yields; chunks that were never read are
        unchanged.
        """
        for chunk in self._packed:
            yield chunk if isinstance(chunk, memoryview) else _encode(chunk)
        yield from _packed_slices(self._materialized)

    def _place(self, index: int) -> int:
        at = index + len(self) if index < 0 else index
        if not 0 <= at < len(self):
            raise IndexError(index)
        return at

    def _chunk(self, number: int) -> list[T]:
        chunk = self._packed[number]
        if isinstance(chunk, memoryview):
            chunk = self._packed[number] = self._decoder.decode(chunk)
        return chunk

    def _slice(self, start: int, stop: int, step: int) -> list[T]:
        if step != 1:
            return [self[index] for index in range(start, stop, step)]
        packed = len(self._packed) * CHUNK_ITEMS
        if start >= packed:
            return self._materialized[start - packed : max(0, stop - packed)]
        first, last = start // CHUNK_ITEMS, min(-(-stop // CHUNK_ITEMS), len(self._packed))
        found = list(chain.from_iterable(self._chunk(number) for number in range(first, last)))
        found += self._materialized[: max(0, stop - packed)]
        offset = first * CHUNK_ITEMS
        return found[start - offset : stop - offset]

    def _materialize(self, index: int | slice) -> Any:
        """Decodes for good all items that a change at `index` may concern. Returns `index` relative
        to the decoded items at the end.
        """
        if not isinstance(index, slice):
            return self._materialize_from(self._place(index))
        start, stop, step = index.indices(len(self))
        if step != 1:
            raise ValueError("a packed list changes one run of items at a time")
        at = self._materialize_from(start)
        return slice(at, at + max(0, stop - start))

    def _materialize_from(self, at: int) -> int:
        first = min(at // CHUNK_ITEMS, len(self._packed))
        moved = list(
            chain.from_iterable(self._chunk(number) for number in range(first, len(self._packed)))
        )
        del self._packed[first:]
        self._materialized[:0] = moved
        return at - first * CHUNK_ITEMS


class LazyIndex(MutableMapping[str, T], Generic[T]):
    """A dict with text keys that `pack_index` encoded as buckets, by the hash of the key."""

    def __init__(
        self, buckets: list[memoryview], count: int, decoder: msgspec.msgpack.Decoder[dict[str, T]]
    ) -> None:
        self._decoder = decoder
        self._buckets: list[memoryview | dict[str, T]] = list(buckets)
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, key: str) -> T:
        return self._bucket_of(key)[key]

    def __setitem__(self, key: str, value: T) -> None:
        if not isinstance(key, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"the keys of a packed index are texts, not {key!r}")
        bucket = self._bucket_of(key)
        self._count += key not in bucket
        bucket[key] = value

    def __delitem__(self, key: str) -> None:
        del self._bucket_of(key)[key]
        self._count -= 1

    def __iter__(self) -> Iterator[str]:
        for number in range(len(self._buckets)):
            yield from self._bucket(number)

    def update(self, *changed: Any, **more: Any) -> None:
        """Sets many keys, as in a dict. If they are a good part of the index, its buckets become
        one, because to look for the bucket of each would take ten times as long.
        """
        changes = dict[str, T](*changed, **more)
        if len(changes) < self._count // MANY:
            for key, value in changes.items():
                self[key] = value
            return
        whole = self._bucket(0)
        for number in range(1, len(self._buckets)):
            whole.update(self._bucket(number))
        whole.update(changes)
        one: list[memoryview | dict[str, T]] = [whole]
        self._buckets, self._count = one, len(whole)

    def packed_buckets(self) -> Iterator[Buffer]:
        """Yields the buckets in the form that `pack_index` yields. The number of buckets is kept
        unless they have become more than twice as large as intended.
        """
        if self._count > 2 * BUCKET_ITEMS * len(self._buckets):
            yield from _sorted_into_buckets(self)
            return
        for bucket in self._buckets:
            yield bucket if isinstance(bucket, memoryview) else _encode(bucket)

    def _bucket_of(self, key: object) -> dict[str, T]:
        """Returns the bucket for `key`, which may or may not contain it.

        :raises KeyError: when `key` is no text, because then the index does not contain it; as in a
            dict.
        """
        if not isinstance(key, str):
            hash(key)  # raises for a key that no dict takes
            raise KeyError(key)
        return self._bucket(_bucket_number(key, len(self._buckets)))

    def _bucket(self, number: int) -> dict[str, T]:
        bucket = self._buckets[number]
        if isinstance(bucket, memoryview):
            bucket = self._buckets[number] = self._decoder.decode(bucket)
        return bucket


def pack_list(items: MutableSequence[Any]) -> Iterator[Buffer]:
    """Yields `items` as encoded chunks of `CHUNK_ITEMS` items; the last chunk may have fewer."""
    return items.packed_chunks() if isinstance(items, LazyList) else _packed_slices(items)


def pack_index(index: MutableMapping[str, Any]) -> Iterator[Buffer]:
    """Yields `index` as encoded buckets, at least one. An empty buffer in between is no bucket; it
    only returns control to the caller.
    """
    return index.packed_buckets() if isinstance(index, LazyIndex) else _sorted_into_buckets(index)


def _packed_slices(items: MutableSequence[Any]) -> Iterator[bytes]:
    for start in range(0, len(items), CHUNK_ITEMS):
        yield _encode(items[start : start + CHUNK_ITEMS])


def _sorted_into_buckets(index: MutableMapping[str, Any]) -> Iterator[bytes]:
    count = max(1, len(index) // BUCKET_ITEMS)
    buckets: list[dict[str, Any]] = [{} for _ in range(count)]
    for number, (key, value) in enumerate(index.items()):
        buckets[_bucket_number(key, count)][key] = value
        if number % YIELD_EVERY_ITEMS == YIELD_EVERY_ITEMS - 1:
            yield b""
    yield from map(_encode, buckets)


def _bucket_number(key: str, count: int) -> int:
    # Python's own hash differs from process to process.
    return zlib.crc32(key.encode("utf-8", "surrogatepass")) % count
