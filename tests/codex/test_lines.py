"""Lines out of chunks."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trimpoint.codex.appserver.lines import LineSplitter, LineTooLong


@given(
    lines=st.lists(st.binary(max_size=20).map(lambda line: line.replace(b"\n", b"")), max_size=20),
    cuts=st.lists(st.integers(min_value=0, max_value=400), max_size=20),
    tail=st.binary(max_size=20).map(lambda tail: tail.replace(b"\n", b"")),
)
def test_lines_are_the_same_however_the_stream_is_cut(
    lines: list[bytes], cuts: list[int], tail: bytes
) -> None:
    stream = b"".join(line + b"\n" for line in lines) + tail
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    splitter = LineSplitter()
    chunks = [stream[start:end] for start, end in pairwise(edges)]
    assert [line for chunk in chunks for line in splitter.feed(chunk)] == lines


def test_a_limit_counts_one_line_not_the_stream() -> None:
    splitter = LineSplitter(max_line_bytes=4)
    assert splitter.feed(b"1234\n1234") == [b"1234"]
    assert splitter.feed(b"\n123") == [b"1234"]
    with pytest.raises(LineTooLong, match="more than 4 bytes"):
        splitter.feed(b"45")
