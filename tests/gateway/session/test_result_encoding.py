"""A long result is encoded in pieces, and is the same JSON."""

import msgspec
import pytest
from trimpoint.gateway.session.requests.encoding import PIECE, encoded_in_pieces, is_long
from trimpoint_protocol.readmodel import WireStruct


class Inner(WireStruct, frozen=True, kw_only=True):
    long_names: list[str]


class Outer(WireStruct, frozen=True, kw_only=True):
    first_of_all: int
    inner_one: Inner | None
    some_others: list[dict[str, int]]


@pytest.mark.parametrize("size", [0, 1, PIECE, PIECE + 1, 3 * PIECE, 3 * PIECE + 7])
@pytest.mark.parametrize("nested", [False, True])
def test_a_result_with_long_lists_is_the_same_json(size: int, nested: bool) -> None:
    inner = Inner(long_names=["ä"] * size) if nested else None
    result = Outer(first_of_all=1, inner_one=inner, some_others=[{"a": n} for n in range(size)])
    assert encoded_in_pieces(result) == msgspec.json.encode(result)
    assert is_long(result) == (size > PIECE)
