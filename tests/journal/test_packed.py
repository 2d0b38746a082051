"""Packed lists and indexes behave as the list or dict that they were packed from, whatever is done to them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trimpoint.journal.codec.lazy_list import (
    BUCKET_ITEMS,
    CHUNK_ITEMS,
    YIELD_EVERY_ITEMS,
    LazyIndex,
    LazyList,
    pack_index,
    pack_list,
)

numbers = msgspec.msgpack.Decoder(list[int])
places = msgspec.msgpack.Decoder(dict[str, int])


def packed(items: list[int]) -> LazyList[int]:
    return LazyList([memoryview(chunk) for chunk in pack_list(items)], len(items), numbers)


def packed_index(items: dict[str, int]) -> LazyIndex[int]:
    return LazyIndex([memoryview(bucket) for bucket in pack_index(items) if bucket], len(items), places)


def around(size: int) -> st.SearchStrategy[int]:
    return st.integers(-size - 2, size + 2)


SIZES = st.sampled_from([0, 1, CHUNK_ITEMS - 1, CHUNK_ITEMS, CHUNK_ITEMS + 1, 3 * CHUNK_ITEMS, 3 * CHUNK_ITEMS + 7])


@given(SIZES, st.data())
def test_a_packed_list_is_the_list(size: int, data: st.DataObject) -> None:
    plain, lazy = list(range(size)), packed(list(range(size)))
    for step in range(data.draw(st.integers(0, 8))):
        operation = data.draw(st.sampled_from(["get", "slice", "set", "insert", "append", "del", "cut", "put"]))
        at, to = data.draw(around(len(plain))), data.draw(around(len(plain)))
        assert outcome(plain, operation, at, to, step) == outcome(lazy, operation, at, to, step)
        assert len(lazy) == len(plain)
    assert packed_again(lazy) == plain
    assert lazy == plain
    assert list(reversed(lazy)) == plain[::-1]


def outcome(items: Any, operation: str, at: int, to: int, value: int) -> Any:
    try:
        return _do(items, operation, at, to, value)
    except IndexError:
        return IndexError


def _do(items: Any, operation: str, at: int, to: int, value: int) -> Any:
    match operation:
        case "get":
            return items[at]
        case "slice":
            return list(items[at:to]), list(items[at:to:3])
        case "set":
            items[at] = -value
        case "put":
            items[at:to] = [-value, -value]
        case "insert":
            items.insert(at, -value)
        case "append":
            items.append(-value)
        case "del":
            del items[at]
        case _:
            del items[at:to]
    return None


def packed_again(items: LazyList[int]) -> list[int]:
    return list(LazyList([memoryview(bytes(chunk)) for chunk in pack_list(items)], len(items), numbers))


def test_what_was_looked_at_may_be_changed_and_is_packed_as_it_is_then() -> None:
    rows = msgspec.msgpack.Decoder(list[list[int]])
    lazy = LazyList([memoryview(chunk) for chunk in pack_list([[n] for n in range(600)])], 600, rows)
    lazy[3].append(-1)
    lazy[300:302][1].append(-2)
    again = LazyList([memoryview(bytes(chunk)) for chunk in pack_list(lazy)], 600, rows)
    assert (again[3], again[301]) == ([3, -1], [301, -2])


def test_what_nobody_looked_at_is_packed_as_it_came() -> None:
    came = [memoryview(chunk) for chunk in pack_list(list(range(3 * CHUNK_ITEMS)))]
    lazy = LazyList(came, 3 * CHUNK_ITEMS, numbers)
    assert lazy[CHUNK_ITEMS] == CHUNK_ITEMS
    first, second, third = pack_list(lazy)
    assert (first is came[0], second is came[1], third is came[2]) == (True, False, True)


def test_a_packed_list_is_not_changed_in_steps() -> None:
    with pytest.raises(ValueError, match="one run"):
        del packed([1, 2, 3])[::2]


def test_a_packed_list_differs_from_what_is_no_list_and_from_other_lists() -> None:
    assert packed([1]) != (1,)
    assert packed([1]) != [2]
    assert packed([1]) == packed([1])


KEYS = st.text(max_size=3)


@given(
    st.dictionaries(KEYS, st.integers(0, 99), max_size=60),
    st.lists(st.tuples(KEYS, st.sampled_from(["get", "set", "del"])), max_size=20),
)
def test_a_packed_index_is_the_dict(plain: dict[str, int], steps: list[tuple[str, str]]) -> None:
    lazy = packed_index(plain)
    for key, step in steps:
        match step:
            case "get":
                assert lazy.get(key) == plain.get(key)
                assert (key in lazy) is (key in plain)
            case "set":
                plain[key] = lazy[key] = len(plain)
            case _:
                assert lazy.pop(key, None) == plain.pop(key, None)
        assert len(lazy) == len(plain)
    again = LazyIndex([memoryview(bytes(bucket)) for bucket in pack_index(lazy)], len(lazy), places)
    assert dict(again) == plain == dict(lazy)
    assert lazy == plain


def test_a_bucket_that_nobody_looked_at_is_packed_as_it_came() -> None:
    came = [memoryview(bucket) for bucket in pack_index({str(n): n for n in range(3 * BUCKET_ITEMS)})]
    lazy = LazyIndex(came, 3 * BUCKET_ITEMS, places)
    assert lazy["7"] == 7
    assert sum(bucket is before for bucket, before in zip(pack_index(lazy), came, strict=True)) == len(came) - 1


def test_an_index_that_has_outgrown_its_buckets_gets_more() -> None:
    lazy = packed_index({"first": 1})
    lazy.update({str(n): n for n in range(5 * BUCKET_ITEMS)})
    buckets = [bucket for bucket in pack_index(lazy) if bucket]
    assert len(buckets) == 5
    assert dict(LazyIndex([memoryview(bytes(bucket)) for bucket in buckets], len(lazy), places)) == dict(lazy)


def test_a_large_index_lets_its_packer_breathe() -> None:
    parts = list(pack_index({str(n): n for n in range(2 * YIELD_EVERY_ITEMS)}))
    assert parts.count(b"") == 2
