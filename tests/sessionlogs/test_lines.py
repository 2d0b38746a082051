"""Lines of any length in little memory."""

import io
import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from trimpoint.sessionlogs.text.lenient import decode_object
from trimpoint.sessionlogs.text.lines import (
    BYTE_ORDER_MARK,
    LONG_TEXT_BYTES,
    MAX_LINE_BYTES,
    PLAIN_LINE_BYTES,
    Shrinker,
    lines_of,
)


def shrunk(line: bytes, piece_bytes: int = 65_536) -> bytes:
    shrinker = Shrinker()
    for at in range(0, len(line), piece_bytes):
        shrinker.feed(line[at : at + piece_bytes])
    return shrinker.result()


@example(parts=[BYTE_ORDER_MARK], ends=False)
@example(parts=[BYTE_ORDER_MARK], ends=True)
@given(st.lists(st.binary(max_size=50)), st.booleans())
def test_lines_together_are_what_was_read(parts: list[bytes], ends: bool) -> None:
    data = b"\n".join(parts) + (b"\n" if ends else b"")
    lines = list(lines_of(io.BytesIO(data)))
    assert b"".join(lines) == data.removeprefix(BYTE_ORDER_MARK)
    assert all(line.endswith(b"\n") for line in lines[:-1])


@given(
    st.recursive(st.none() | st.text() | st.integers(), lambda inner: st.lists(inner, max_size=4)),
    st.integers(1, 9),
)
def test_a_line_without_long_texts_stays_as_it_is(value: object, piece_bytes: int) -> None:
    line = json.dumps({"a": value}).encode()
    assert shrunk(line, piece_bytes) == line


@pytest.mark.parametrize("filler", ['"', "\\", "é", "\U0001f600", "\n"])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_a_text_that_is_cut_leaves_a_line_that_can_be_read(filler: str, ascii_only: bool) -> None:
    for shift in range(0, 12, 3):
        value = {"before": 1, "text": "x" * shift + filler * LONG_TEXT_BYTES, "after": [2]}
        line = json.dumps(value, ensure_ascii=ascii_only).encode()
        found = decode_object(shrunk(line))
        assert found is not None
        assert (found["before"], found["after"]) == (1, [2])
        assert len(found["text"].encode()) < LONG_TEXT_BYTES + 100


def test_image_data_is_cut_out_of_a_long_line() -> None:
    value = {"image_url": "data:image/png;base64," + "A" * (PLAIN_LINE_BYTES * 2), "text": "kept"}
    line = json.dumps(value).encode() + b"\n"
    [found] = lines_of(io.BytesIO(line))
    assert len(found) < 2000
    assert json.loads(found)["text"] == "kept"


def test_a_line_of_200_mb_takes_little_memory() -> None:
    class Endless(io.RawIOBase):
        left = 200 * 1024 * 1024

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: Any, /) -> int:
            count = min(len(buffer), self.left)
            self.left -= count
            buffer[:count] = (b'"short",' * (count // 8 + 1))[:count]
            return count

    source = io.BufferedReader(Endless(), 256 * 1024)
    tracemalloc.start()
    [line] = lines_of(source)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * MAX_LINE_BYTES
    assert len(line) <= MAX_LINE_BYTES


def test_a_line_too_long_without_its_texts_is_one_unknown_row_and_the_next_is_read() -> None:
    long = b"[" + b"1," * MAX_LINE_BYTES + b"1]\n"
    lines = list(lines_of(io.BytesIO(long + b'{"a":1}\n')))
    assert lines == [b'{"type":"overlong line"}\n', b'{"a":1}\n']
