"""Packed lists and indexes behave like the list or dict that they were made from."""

from __future__ import annotations

from itertools import product
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
    return LazyIndex(
        [memoryview(bucket) for bucket in pack_index(items) if bucket], len(items), places
    )


def around(size: int) -> st.SearchStrategy[int]:
    return st.integers(-size - 2, size + 2)


SIZES = st.sampled_from(
    [0, 1, CHUNK_ITEMS - 1, CHUNK_ITEMS, CHUNK_ITEMS + 1, 3 * CHUNK_ITEMS, 3 * CHUNK_ITEMS + 7]
)


OPERATIONS = ["get", "slice", "set", "insert", "append", "del", "cut", "put"]


@given(SIZES, st.data())
def test_a_packed_list_is_the_list(size: int, data: st.DataObject) -> None:
    plain, lazy = list(range(size)), packed(list(range(size)))
    for step in range(data.draw(st.integers(0, 8))):
        operation = data.draw(st.sampled_from(OPERATIONS))
        at, to = data.draw(around(len(plain))), data.draw(around(len(plain)))
        assert outcome(plain, operation, at, to, step) == outcome(lazy, operation, at, to, step)
        assert len(lazy) == len(plain)
    assert packed_again(lazy) == plain
    assert lazy == plain
    assert list(reversed(lazy)) == plain[::-1]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_at_each_edge_an_operation_does_to_a_packed_list_what_it_does_to_a_list(
    operation: str,
) -> None:
    size = 2 * CHUNK_ITEMS + 7
    edges = [0, CHUNK_ITEMS - 1, CHUNK_ITEMS, 2 * CHUNK_ITEMS, size, size + 1, -1, -size - 2]
    for at, to in product(edges, edges):
        plain, lazy = list(range(size)), packed(list(range(size)))
        lazy.append(size)
        plain.append(size)
        assert outcome(plain, operation, at, to, 1) == outcome(lazy, operation, at, to, 1)
        assert lazy == plain


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
    return list(
        LazyList([memoryview(bytes(chunk)) for chunk in pack_list(items)], len(items), numbers)
    )


def test_items_changed_after_unpacking_are_packed_as_changed() -> None:
    rows = msgspec.msgpack.Decoder(list[list[int]])
    lazy = LazyList(
        [memoryview(chunk) for chunk in pack_list([[n] for n in range(600)])], 600, rows
    )
    lazy[3].append(-1)
    lazy[300:302][1].append(-2)
    again = LazyList([memoryview(bytes(chunk)) for chunk in pack_list(lazy)], 600, rows)
    assert (again[3], again[301]) == ([3, -1], [301, -2])


def test_an_unread_list_is_packed_as_it_came() -> None:
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


# What code may look up by mistake, or because it stands for nothing.
NO_KEYS: st.SearchStrategy[Any] = st.sampled_from([None, 0, b"a", ("a",), float("nan")])
LOOKUPS = ["get", "in", "item", "pop", "take", "del"]
CHANGES = ["set", "default", "update"]


@given(
    st.dictionaries(KEYS, st.integers(0, 99), max_size=60),
    st.lists(
        st.tuples(KEYS, st.sampled_from(LOOKUPS + CHANGES))
        | st.tuples(NO_KEYS, st.sampled_from(LOOKUPS)),
        max_size=20,
    ),
)
def test_a_packed_index_is_the_dict(plain: dict[str, int], steps: list[tuple[Any, str]]) -> None:
    lazy = packed_index(plain)
    for number, (key, step) in enumerate(steps):
        assert _index_outcome(lazy, step, key, number) == _index_outcome(plain, step, key, number)
        assert (len(lazy), bool(lazy)) == (len(plain), bool(plain))
    again = LazyIndex([memoryview(bytes(bucket)) for bucket in pack_index(lazy)], len(lazy), places)
    assert dict(again) == plain == dict(lazy)
    assert lazy == plain


def _index_outcome(index: Any, step: str, key: Any, value: int) -> Any:
    """Returns the result of the operation, or the type of the error that it raises."""
    try:
        return _do_to_index(index, step, key, value)
    except (KeyError, TypeError) as error:
        return type(error)


def _do_to_index(index: Any, step: str, key: Any, value: int) -> Any:
    match step:
        case "get":
            return index.get(key), index.get(key, -1)
        case "in":
            return key in index, (key, 1) in index.items()
        case "item":
            return index[key]
        case "pop":
            return index.pop(key, None)
        case "take":
            return index.pop(key)
        case "set":
            index[key] = value
        case "default":
            return index.setdefault(key, value)
        case "update":
            index.update({key: value})
        case _:
            del index[key]
    return None


@pytest.mark.parametrize("key", [None, 0, b"a"])
def test_a_packed_index_takes_no_key_that_is_not_text(key: Any) -> None:
    with pytest.raises(TypeError, match="are texts, not"):
        packed_index({"a": 1})[key] = 2


@pytest.mark.parametrize("key", [None, 0, b"a", ("a",)])
@pytest.mark.parametrize("step", LOOKUPS)
def test_a_key_that_is_not_text_is_in_no_packed_index(step: str, key: Any) -> None:
    found = _index_outcome(packed_index({"a": 1}), step, key, 0)
    assert found == _index_outcome({"a": 1}, step, key, 0)


@pytest.mark.parametrize("step", ["get", "in", "item", "del"])
def test_a_key_that_no_dict_takes_is_refused_by_a_packed_index_as_by_a_dict(step: str) -> None:
    assert (
        _index_outcome(packed_index({"a": 1}), step, ["a"], 0)
        is _index_outcome({"a": 1}, step, ["a"], 0)
        is TypeError
    )


def test_a_packed_index_can_be_emptied_and_equals_an_empty_dict_then() -> None:
    lazy = packed_index({"a": 1, "b": 2})
    assert dict([lazy.popitem(), lazy.popitem()]) == {"a": 1, "b": 2}
    lazy["c"] = 3
    lazy.clear()
    assert lazy == {} == packed_index({})
    with pytest.raises(KeyError):
        lazy.popitem()


def test_an_unread_bucket_is_packed_as_it_came() -> None:
    came = [
        memoryview(bucket) for bucket in pack_index({str(n): n for n in range(3 * BUCKET_ITEMS)})
    ]
    lazy = LazyIndex(came, 3 * BUCKET_ITEMS, places)
    assert lazy["7"] == 7
    assert (
        sum(bucket is before for bucket, before in zip(pack_index(lazy), came, strict=True))
        == len(came) - 1
    )


def test_an_index_that_has_outgrown_its_buckets_gets_more() -> None:
    lazy = packed_index({"first": 1})
    lazy.update({str(n): n for n in range(5 * BUCKET_ITEMS)})
    buckets = [bucket for bucket in pack_index(lazy) if bucket]
    assert len(buckets) == 5
    assert dict(
        LazyIndex([memoryview(bytes(bucket)) for bucket in buckets], len(lazy), places)
    ) == dict(lazy)


@pytest.mark.parametrize("changed", [10, 400, 3_000])
def test_an_index_of_several_buckets_is_the_dict_after_an_update_of_any_size(changed: int) -> None:
    plain = {str(n): n for n in range(2_000)}
    buckets = [memoryview(bytes(bucket)) for bucket in pack_index(plain) if bucket]
    lazy = LazyIndex(buckets, len(plain), places)
    for first in (1_900, 0):
        changes = {str(n): -n for n in range(first, first + changed)}
        lazy.update(changes.items())
        plain.update(changes)
        assert (len(lazy), dict(lazy)) == (len(plain), plain)
        assert ("1999" in lazy, "no" in lazy) == (True, False)
    again = [memoryview(bytes(bucket)) for bucket in pack_index(lazy) if bucket]
    assert dict(LazyIndex(again, len(lazy), places)) == plain


def test_a_large_index_lets_its_packer_breathe() -> None:
    parts = list(pack_index({str(n): n for n in range(2 * YIELD_EVERY_ITEMS)}))
    assert parts.count(b"") == 2
