import json
import sys
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trimpoint_protocol import jsonrpc
from trimpoint_protocol.jsonrpc.nesting import STEP_BYTES, finished, measure

UNLIMITED = sys.maxsize

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.integers() | st.text(alphabet='[]{}"\\aé'),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(alphabet='[{"\\'), inner, max_size=4)
    ),
    max_leaves=60,
)


def levels_of(text: bytes) -> int:
    return finished(measure(text, UNLIMITED, UNLIMITED)).levels


def depth(value: Any) -> int:
    inner = members(value)
    return 0 if inner is None else 1 + max(map(depth, inner), default=0)


def members(value: Any) -> list[Any] | None:
    """The elements of an array, the values of an object; None for all else."""
    match value:
        case dict():
            return list(cast("dict[str, Any]", value).values())
        case list():
            return cast("list[Any]", value)
        case _:
            return None


@given(VALUES, st.booleans())
def test_the_depth_is_that_of_the_decoded_value(value: Any, is_ascii: bool) -> None:
    text = json.dumps(value, ensure_ascii=is_ascii).encode()
    assert levels_of(text) == depth(value)


@pytest.mark.parametrize("levels", [127, 1000])
@pytest.mark.parametrize(
    ("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}"), (b'[{"[":', b"}]")]
)
def test_the_limit_is_exact(levels: int, opening: bytes, closing: bytes) -> None:
    brackets = opening.count(b"[") if opening == b"[" else 1 if opening.startswith(b"{") else 2
    allowed = levels // brackets
    assert levels_of(opening * allowed + b"0" + closing * allowed) <= levels
    assert levels_of(opening * (allowed + 1) + b"0" + closing * (allowed + 1)) > levels


def test_brackets_in_strings_and_many_side_by_side_do_not_count() -> None:
    assert levels_of(b'["' + b"[{" * 10_000 + b'\\"[["]') == 1
    assert levels_of(b"[" + b"[[],{}]," * 10_000 + b"0]") == 3


PIECES = [b"x", b"\\\\", b'\\"', b"\\n", b"[", b"\\u00e9", b'","', b'",[{"a":"b"}],"']


@given(
    st.integers(0, 9),
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=8),
    st.integers(0, 3),
)
def test_a_text_of_many_chunks_is_measured_as_if_it_were_read(
    shift: int, pattern: list[bytes], rest: int
) -> None:
    piece = b"".join(pattern)
    text = b'["%b%b%b"]' % (b"a" * shift, piece * (200_000 // len(piece)), b"b" * rest)
    extent = finished(measure(text, UNLIMITED, UNLIMITED))
    value = json.loads(text)
    assert (extent.values, extent.levels) == (values_in(value), depth(value))


@pytest.mark.parametrize("piece", [b"-", b"\\\\", b'\\"', b"[", "é".encode()])
def test_a_large_message_is_read_in_steps(piece: bytes) -> None:
    message = b'{"id":1,"method":"m","params":["%b"]}' % (piece * (4 * STEP_BYTES // len(piece)))
    steps = jsonrpc.decode_in_steps(message)
    assert next(steps) is None
    assert finished(steps) == jsonrpc.decode(message)


def test_between_the_members_of_a_batch_is_a_step_after_so_many_bytes() -> None:
    member = b'{"id":1,"method":"m","params":["%b"]}' % (b"a" * (STEP_BYTES // 2))
    message = b"[" + b",".join([member] * 6) + b"]"
    measuring = list(measure(message, UNLIMITED, UNLIMITED))
    assert len(list(jsonrpc.decode_in_steps(message))) == len(measuring) + 3
    batch = jsonrpc.decode(message)
    assert isinstance(batch, jsonrpc.Batch)
    assert [type(one) for one in batch.members] == [jsonrpc.Request] * 6


@pytest.mark.parametrize(
    "message",
    [b'{"id":7,"method":"m","params":%b}', b'{"id":7,"result":%b}', b'{"method":"m","params":%b}'],
)
def test_a_message_deeper_than_codex_reads_is_refused_under_its_id(message: bytes) -> None:
    inside = jsonrpc.MAX_LEVELS - 1
    assert not isinstance(
        jsonrpc.decode(message % (b"[" * inside + b"]" * inside)), jsonrpc.Invalid
    )
    refused = jsonrpc.decode(message % (b"[" * (inside + 1) + b"]" * (inside + 1)))
    assert isinstance(refused, jsonrpc.Invalid)
    assert (refused.code, refused.id) == (
        jsonrpc.INVALID_REQUEST,
        b"7" if b'"id"' in message else b"null",
    )
    assert "deeper than 127 levels" in refused.message
    assert refused.answerable == (b"method" in message)


def test_a_batch_is_bounded_by_its_members_and_each_of_them_by_its_depth() -> None:
    member = b'{"id":1,"method":"m"}'
    whole = jsonrpc.decode(b"[" + b",".join([member] * jsonrpc.MAX_BATCH_MEMBERS) + b"]")
    assert isinstance(whole, jsonrpc.Batch)
    refused = jsonrpc.decode(b"[" + b",".join([member] * (jsonrpc.MAX_BATCH_MEMBERS + 1)) + b"]")
    assert isinstance(refused, jsonrpc.Invalid)
    assert "at most 1024 members, this one has 1025" in refused.message
    deep = b'{"id":2,"method":"m","params":%b}' % (b"[" * 127 + b"]" * 127)
    batch = jsonrpc.decode(b"[" + member + b"," + deep + b"]")
    assert isinstance(batch, jsonrpc.Batch)
    assert [type(one) for one in batch.members] == [jsonrpc.Request, jsonrpc.Invalid]


def values_in(value: Any) -> int:
    """Commas and opening brackets, were it written down."""
    inner = members(value)
    if inner is None:
        return 0
    return 1 + max(0, len(inner) - 1) + sum(map(values_in, inner))


@given(VALUES, st.integers(0, 12), st.booleans())
def test_values_are_counted_outside_strings(value: Any, limit: int, is_ascii: bool) -> None:
    text = json.dumps(value, ensure_ascii=is_ascii).encode()
    assert (finished(measure(text, limit, UNLIMITED)).values > limit) == (values_in(value) > limit)


@pytest.mark.parametrize("piece", [b"[],", b"1,", b'"",', b"{},", b'{"a":"b"},'])
def test_a_message_of_too_many_values_is_refused_under_its_id_and_not_read(piece: bytes) -> None:
    values = piece * (jsonrpc.MAX_VALUES + 1)
    refused = jsonrpc.decode(
        b'{"jsonrpc":"2.0","method":"m", "id":"seven","params":[%b0]}' % values
    )
    assert isinstance(refused, jsonrpc.Invalid)
    assert (refused.code, refused.id, refused.answerable) == (
        jsonrpc.INVALID_REQUEST,
        b'"seven"',
        True,
    )
    assert "more than 250,000 values" in refused.message
    batch = jsonrpc.decode(b"[%b0]" % values)
    assert isinstance(batch, jsonrpc.Invalid)
    assert "at most 1024 members" in batch.message


@pytest.mark.parametrize("escape", [b"\\n", b'\\"', b"\\u0041", b"\\\\"])
def test_a_message_of_too_many_escapes_is_refused_under_its_id_and_not_read(escape: bytes) -> None:
    texts = escape * (jsonrpc.MAX_ESCAPES // escape.count(b"\\"))
    message = b'{"id":7,"method":"m","params":["%b%b"]}'
    assert isinstance(jsonrpc.decode(message % (texts, b"")), jsonrpc.Request)
    refused = jsonrpc.decode(message % (texts, b"\\n"))
    assert isinstance(refused, jsonrpc.Invalid)
    assert (refused.code, refused.id) == (jsonrpc.INVALID_REQUEST, b"7")
    assert "more than 2,500,000 backslashes" in refused.message


def test_brackets_and_commas_of_a_long_text_are_no_values() -> None:
    text = json.dumps(
        {"id": 1, "method": "m", "params": {"text": '[{"a": 1}, \\' * 100_000}}
    ).encode()
    assert isinstance(jsonrpc.decode(text), jsonrpc.Request)


@pytest.mark.parametrize(
    ("text", "told"),
    [(b'{"id":7,"method":"m","params":["%b', b"7"), (b'{"method":"m","params":["%b', b"null")],
)
def test_a_long_message_that_is_no_json_is_refused_without_a_search_for_the_cause(
    text: bytes, told: bytes
) -> None:
    refused = jsonrpc.decode(text.replace(b"%b", b"\\ud83d" * 50_000))
    assert isinstance(refused, jsonrpc.Invalid)
    assert (refused.code, refused.id) == (jsonrpc.PARSE_ERROR, told)
