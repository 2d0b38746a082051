import tracemalloc
from collections.abc import Callable, Iterable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trimpoint_protocol.jsonrpc.framing import (
    MAX_HEADER_BYTES,
    AutoFramer,
    ContentLengthFramer,
    Frame,
    Framer,
    LineFramer,
    Malformed,
    TooLarge,
    Truncated,
    encode_content_length,
    encode_line,
)

LIMIT = 12
NewFramer = Callable[[int], Framer]
KINDS: list[NewFramer] = [LineFramer, ContentLengthFramer, AutoFramer]

# Bytes that mean something to a framer come up often enough to meet each other.
lively_bytes = st.lists(
    st.sampled_from([b"\n", b"\r", b" ", b"{", b"}", b"a", b"\xff", b":", b"1", b"C"])
).map(b"".join)
header_lines = st.sampled_from(
    [
        b"Content-Length: 3",
        b"content-length:0",
        b"CONTENT-LENGTH : 12",
        b"Content-Length: 13",
        b"Content-Length: -1",
        b"Content-Length: 99999999999999999999",
        b"Content-Type: x; charset=utf-8",
        b"nonsense",
        b"",
        b"abc",
    ]
)
header_streams = st.lists(st.tuples(header_lines, st.sampled_from([b"\r\n", b"\n", b""]))).map(
    lambda lines: b"".join(line + end for line, end in lines)
)
payloads = st.binary(min_size=1).filter(lambda data: data.strip() == data and b"\n" not in data)


def frames_of(framer: Framer, chunks: Iterable[bytes]) -> list[Frame]:
    frames = [frame for chunk in chunks for frame in framer.feed(chunk)]
    return frames + framer.eof()


def bytewise(data: bytes) -> Iterator[bytes]:
    return (data[at : at + 1] for at in range(len(data)))


def cut(data: bytes, places: Iterable[int]) -> Iterator[bytes]:
    start = 0
    for place in sorted(places):
        yield data[start:place]
        start = max(start, place)
    yield data[start:]


@given(
    st.data(),
    lively_bytes | st.binary() | header_streams,
    st.sampled_from(KINDS),
    st.integers(1, 20),
)
def test_frames_do_not_depend_on_where_the_stream_is_cut(
    data: st.DataObject, stream: bytes, kind: NewFramer, limit: int
) -> None:
    places = data.draw(st.lists(st.integers(0, len(stream))))
    whole = frames_of(kind(limit), [stream])
    assert frames_of(kind(limit), cut(stream, places)) == whole
    assert frames_of(kind(limit), bytewise(stream)) == whole


@given(st.lists(payloads), st.sampled_from([b"\n", b"\r\n", b" \r\n\n"]))
def test_lines_come_out_as_they_went_in(messages: list[bytes], ending: bytes) -> None:
    stream = b"".join(message + ending for message in messages)
    assert frames_of(LineFramer(1 << 20), [stream]) == messages


@given(st.lists(st.binary()))
def test_content_length_messages_come_out_as_they_went_in(messages: list[bytes]) -> None:
    framer = ContentLengthFramer(1 << 20)
    assert frames_of(framer, [b"".join(map(framer.encode, messages))]) == messages


@given(
    st.lists(payloads.map(lambda tail: b"{" + tail), min_size=1),
    st.sampled_from([LineFramer, ContentLengthFramer]),
)
def test_auto_reads_either_kind_and_answers_in_it(messages: list[bytes], kind: NewFramer) -> None:
    writer, reader = kind(1 << 20), AutoFramer(1 << 20)
    assert frames_of(reader, [b" \r\n\t", b"".join(map(writer.encode, messages))]) == messages
    assert reader.encode(b"{}") == writer.encode(b"{}")


@pytest.mark.parametrize(
    ("kind", "opening"),
    [(LineFramer, b""), (ContentLengthFramer, b"Content-Length: 99999999\r\n\r\n")],
)
def test_a_skipped_message_takes_no_memory(kind: NewFramer, opening: bytes) -> None:
    framer = kind(LIMIT)
    framer.feed(opening)
    chunk = b"x" * 65_536
    tracemalloc.start()
    for _ in range(100):
        framer.feed(chunk)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak_bytes < 4 * len(chunk)


class TestLines:
    def test_a_line_over_the_limit_is_known_before_it_ends(self) -> None:
        framer = LineFramer(4)
        assert framer.feed(b"1234") == []
        assert not framer.is_skipping
        assert framer.feed(b"5") == []
        assert framer.is_skipping
        assert framer.feed(b"\n") == [TooLarge(5)]
        assert not framer.is_skipping

    def test_each_chunk_gives_the_messages_it_completes(self) -> None:
        framer = LineFramer(LIMIT)
        assert framer.feed(b"{}") == []
        assert framer.feed(b"\n[") == [b"{}"]
        assert framer.feed(b"") == []
        assert framer.feed(b"]\r\n{1}\n\r\n  \n{2") == [b"[]", b"{1}"]
        assert framer.eof() == [Truncated(b"{2")]

    def test_a_message_of_just_the_limit_passes_and_one_byte_more_does_not(self) -> None:
        assert frames_of(LineFramer(LIMIT), [b"x" * LIMIT + b"\n"]) == [b"x" * LIMIT]
        assert frames_of(LineFramer(LIMIT), [b"x" * (LIMIT + 1) + b"\n"]) == [TooLarge(LIMIT + 1)]

    def test_an_over_long_line_is_reported_once_in_its_place_and_the_stream_continues(self) -> None:
        framer = LineFramer(LIMIT)
        assert framer.feed(b"a\n" + b"x" * 20) == [b"a"]
        assert framer.feed(b"y" * 20) == []
        assert framer.feed(b"z\nb\n") == [TooLarge(41), b"b"]
        assert framer.eof() == []

    def test_an_over_long_line_in_the_midst_of_a_chunk_spares_its_neighbours(self) -> None:
        assert LineFramer(LIMIT).feed(b"a\n" + b"x" * 13 + b"\nb\n\n") == [b"a", TooLarge(13), b"b"]

    def test_the_end_of_the_stream_inside_an_over_long_line_still_reports_it(self) -> None:
        assert frames_of(LineFramer(LIMIT), [b"x" * 20, b"x" * 10]) == [TooLarge(30)]

    @pytest.mark.parametrize("rest", [b"", b"  \r"])
    def test_trailing_white_space_is_not_a_truncated_message(self, rest: bytes) -> None:
        assert frames_of(LineFramer(LIMIT), [b"a\n" + rest]) == [b"a"]

    def test_a_pretty_printed_message_is_written_on_one_line(self) -> None:
        assert encode_line(b'{\r\n "a": 1\n}') == b'{\r  "a": 1 }\n'
        assert encode_line(b"{}") == b"{}\n"


class TestContentLength:
    @pytest.mark.parametrize(
        "headers",
        [
            b"Content-Length: 2\r\n\r\n",
            b"CONTENT-length:2\r\n\r\n",
            b"Content-Length : 02 \r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n",
            b"X: y:z\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n",
            b"Content-Length: 2\n\n",
            b"\r\n\nContent-Length: 2\r\n\r\n",
        ],
    )
    def test_headers_are_read_generously(self, headers: bytes) -> None:
        assert frames_of(ContentLengthFramer(LIMIT), [headers + b"{}" + headers + b"[]"]) == [
            b"{}",
            b"[]",
        ]

    def test_a_message_of_no_bytes_is_a_message(self) -> None:
        stream = encode_content_length(b"") + encode_content_length(b"{}")
        assert frames_of(ContentLengthFramer(LIMIT), [stream]) == [b"", b"{}"]

    @pytest.mark.parametrize(
        ("headers", "reason"),
        [
            (b"nonsense\r\n", "a header line has no colon"),
            (b"Content-Type: x\r\n\r\n", "Content-Length is missing"),
            (b"Content-Length: \r\n", "Content-Length is not a number of bytes"),
            (b"Content-Length: -1\r\n", "Content-Length is not a number of bytes"),
            (b"Content-Length: 1.0\r\n", "Content-Length is not a number of bytes"),
            (b"Content-Length: 0x10\r\n", "Content-Length is not a number of bytes"),
            ("Content-Length: ٣\r\n".encode(), "Content-Length is not a number of bytes"),
            (
                b"Content-Length: " + b"1" * 5000 + b"\r\n",
                "Content-Length is not a number of bytes",
            ),
            (b"Content-Length: 2\r\nContent-Length: 3\r\n", "Content-Length is given twice"),
            (
                b"X: " + b"x" * MAX_HEADER_BYTES,
                f"the headers are longer than {MAX_HEADER_BYTES} bytes",
            ),
            (
                b"X: y\r\n" * MAX_HEADER_BYTES,
                f"the headers are longer than {MAX_HEADER_BYTES} bytes",
            ),
        ],
    )
    def test_malformed_headers_end_the_stream(self, headers: bytes, reason: str) -> None:
        framer = ContentLengthFramer(LIMIT)
        good = encode_content_length(b"{}")
        assert framer.feed(good + headers + good) == [b"{}", Malformed(reason)]
        assert framer.feed(good) == []
        assert framer.eof() == []

    def test_headers_of_just_the_limit_pass(self) -> None:
        ending = b"\r\nContent-Length: 2\r\n\r\n"
        headers = b"X:".ljust(MAX_HEADER_BYTES - len(ending), b"x") + ending
        assert frames_of(ContentLengthFramer(LIMIT), [headers + b"{}"]) == [b"{}"]

    def test_a_message_that_is_too_large_is_reported_at_its_headers_and_skipped(self) -> None:
        framer = ContentLengthFramer(LIMIT)
        assert framer.feed(b"Content-Length: 30\r\n\r\n") == [TooLarge(30)]
        assert framer.feed(
            b"Content-Length: 1\r\n\r\n" + b"x" * 9 + encode_content_length(b"{}")
        ) == [b"{}"]
        assert framer.feed(encode_content_length(b"x" * LIMIT)) == [b"x" * LIMIT]
        assert framer.eof() == []

    @pytest.mark.parametrize(
        ("stream", "left"),
        [
            (b"", []),
            (b"\r\n \r\n", []),
            (b"\r", []),
            (b"Content-Le", [Truncated(b"Content-Le")]),
            (b"Content-Length: 5\r\n\r\n", [Truncated(b"Content-Length: 5\r\n\r\n")]),
            (b"Content-Length: 5\r\n\r\n   ", [Truncated(b"   ")]),
            (b"Content-Length: 99\r\n\r\nx", [TooLarge(99)]),
        ],
    )
    def test_the_end_of_the_stream_tells_what_is_torn(
        self, stream: bytes, left: list[Frame]
    ) -> None:
        good = encode_content_length(b"{}")
        assert frames_of(ContentLengthFramer(LIMIT), [good + stream]) == [b"{}", *left]

    def test_a_message_is_written_with_its_length_in_bytes(self) -> None:
        assert encode_content_length("ü".encode()) == b"Content-Length: 2\r\n\r\n\xc3\xbc"


class TestAuto:
    @pytest.mark.parametrize("first", [b"{", b"[", b"x", b'"', b"\xef\xbb\xbf{", b"GET / HTTP/1.1"])
    def test_any_other_first_byte_means_lines(self, first: bytes) -> None:
        framer = AutoFramer(1 << 10)
        assert framer.feed(b"\n " + first + b"\n") == [first]
        assert framer.speaks_lines
        assert framer.encode(b"{}") == b"{}\n"

    @pytest.mark.parametrize("name", [b"Content-Length", b"content-length"])
    def test_a_c_means_content_length(self, name: bytes) -> None:
        framer = AutoFramer(LIMIT)
        assert framer.feed(b"\r\n" + name + b": 2\r\n\r\n{}") == [b"{}"]
        assert not framer.speaks_lines
        assert framer.encode(b"[]") == b"Content-Length: 2\r\n\r\n[]"

    def test_the_kind_once_chosen_stays(self) -> None:
        framer = AutoFramer(1 << 10)
        assert framer.feed(b"{}\n") == [b"{}"]
        assert framer.feed(encode_content_length(b"{}") + b"\n") == [b"Content-Length: 2", b"{}"]

    def test_the_limit_holds_for_either_kind(self) -> None:
        assert AutoFramer(LIMIT).feed(b"{" * 20 + b"\n") == [TooLarge(20)]
        assert AutoFramer(LIMIT).feed(b"Content-Length: 20\r\n\r\n") == [TooLarge(20)]

    def test_a_peer_that_has_not_spoken_is_sent_lines_and_leaves_nothing(self) -> None:
        framer = AutoFramer(LIMIT)
        assert framer.feed(b" \n\n") == []
        assert framer.speaks_lines
        assert framer.encode(b"{}") == b"{}\n"
        assert framer.eof() == []
