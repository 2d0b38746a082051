from __future__ import annotations

import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trimpoint.journal import framing
from trimpoint.journal.framing import HeaderState

PAYLOADS = st.lists(st.binary(min_size=1, max_size=300), max_size=20)
OFFSETS = st.integers(min_value=0, max_value=1 << 40)

# Two batches, as written when the format was fixed.
FORMAT_1 = """
8954504a0d0a1a0a0100140000000000f8974e44
0e4f5117 05000080 6669727374  15c0d649 06000000 7365636f6e64
32df760d 05000080 7468697264
"""


def header(version: int = 1, extra: bytes = b"", reserved: bytes = bytes(4)) -> bytes:
    body = framing.MAGIC + struct.pack("<HH", version, 20 + len(extra)) + reserved + extra
    return body + struct.pack("<I", zlib.crc32(body))


def judged(head: bytes, size_bytes: int | None = None) -> HeaderState:
    return framing.parse_header(head, len(head) if size_bytes is None else size_bytes).state


@given(PAYLOADS, OFFSETS)
def test_records_come_back_as_they_went_in(payloads: list[bytes], base: int) -> None:
    data = memoryview(framing.encode_batch(payloads, base))
    found = framing.scan(data, base)
    assert (found.records, found.end, found.damaged) == (len(payloads), len(data), False)
    assert [bytes(payload) for payload in framing.payloads(data)] == payloads
    assert len(data) == framing.batch_size_bytes(payloads)


@given(st.lists(PAYLOADS, max_size=5), OFFSETS)
def test_batches_written_one_after_another_read_as_one_sequence(
    batches: list[list[bytes]], base: int
) -> None:
    data = b""
    for batch in batches:
        data += framing.encode_batch(batch, base + len(data))
    assert framing.scan(memoryview(data), base).records == sum(map(len, batches))
    assert [bytes(p) for p in framing.payloads(memoryview(data))] == [
        p for batch in batches for p in batch
    ]


@given(PAYLOADS.filter(bool), OFFSETS, st.integers(min_value=1, max_value=10_000))
def test_records_are_none_at_another_place(payloads: list[bytes], base: int, moved: int) -> None:
    data = memoryview(framing.encode_batch(payloads, base))
    assert framing.scan(data, base + moved).records == 0


@given(st.integers(min_value=1, max_value=2000), OFFSETS)
def test_zeros_are_no_records(size: int, base: int) -> None:
    view = memoryview(bytes(size))
    assert framing.scan(view, base) == framing.Scan(0, 0, True)
    assert framing.candidate_at(view, base, 0) is None


def test_zeros_are_no_record_even_where_their_checksum_is_zero() -> None:
    base = 1842940573
    assert zlib.crc32(bytes(4), base) == 0
    assert framing.scan(memoryview(bytes(20)), base).records == 0
    assert framing.candidate_at(memoryview(bytes(20)), base, 0) is None


def test_a_scan_stops_before_every_cut() -> None:
    payloads = [b"first", b"x" * 40, b"third"]
    data = framing.encode_batch(payloads, 20)
    ends = [13, 13 + 48, len(data)]
    for cut in range(len(data) + 1):
        found = framing.scan(memoryview(data[:cut]), 20)
        assert found.records == sum(end <= cut for end in ends)
        assert found.damaged == (cut not in [0, *ends])


@given(st.data())
def test_no_flipped_bit_yields_a_record_that_was_not_written(data: st.DataObject) -> None:
    payloads = data.draw(PAYLOADS.filter(bool))
    whole = bytearray(framing.encode_batch(payloads, 20))
    bit = data.draw(st.integers(min_value=0, max_value=len(whole) * 8 - 1))
    whole[bit // 8] ^= 1 << (bit % 8)
    found = framing.scan(memoryview(whole), 20)
    assert found.damaged
    read = [bytes(p) for p in framing.payloads(memoryview(whole)[: found.end])]
    assert read == payloads[: found.records]


def test_the_first_record_of_a_batch_is_marked() -> None:
    view = memoryview(framing.encode_batch([b"a", b"b"], 20))
    first, second = framing.candidate_at(view, 20, 0), framing.candidate_at(view, 20, 9)
    assert first == framing.Candidate(9, True)
    assert second == framing.Candidate(18, False)
    assert framing.candidate_at(view, 20, 3) is None
    assert framing.candidate_at(view, 20, 12) is None


def test_the_declared_end_is_past_the_view_where_the_head_is_cut() -> None:
    view = memoryview(framing.encode_batch([b"abc"], 20))
    assert framing.declared_end(view, 0) == 11
    assert framing.declared_end(view[:8], 0) == 11
    assert framing.declared_end(view[:7], 0) == 8


def test_format_1_stays_readable_for_ever() -> None:
    stored = memoryview(bytes.fromhex(FORMAT_1))
    assert framing.parse_header(stored, len(stored)) == framing.Header(HeaderState.VALID, 20, 1)
    assert framing.scan(stored[20:], 20) == framing.Scan(3, len(stored) - 20, False)
    assert [bytes(p) for p in framing.payloads(stored[20:])] == [b"first", b"second", b"third"]


def test_a_checked_file_stays_readable_for_ever() -> None:
    stored = bytes.fromhex("895450430d0a1a0a0700000000000000a930c5fe636f6e74656e74")
    assert framing.unseal(stored) == b"content"


@pytest.mark.parametrize("payload", [b"a", bytes(1000)])
def test_a_payload_within_limits_is_accepted(payload: bytes) -> None:
    framing.check_payload(payload)


def test_an_empty_payload_is_refused() -> None:
    with pytest.raises(ValueError, match="not 0"):
        framing.check_payload(b"")


def test_a_payload_above_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(framing, "MAX_PAYLOAD_BYTES", 3)
    framing.check_payload(b"abc")
    with pytest.raises(ValueError, match="not 4"):
        framing.check_payload(b"abcd")


def test_our_header_is_valid() -> None:
    found = framing.parse_header(framing.encode_header(), 20)
    assert found == framing.Header(HeaderState.VALID, 20, framing.FORMAT_VERSION)


def test_a_larger_header_of_this_version_is_valid() -> None:
    found = framing.parse_header(header(extra=b"more to say") + b"records", 500)
    assert (found.state, found.size_bytes) == (HeaderState.VALID, 31)


@pytest.mark.parametrize("extra", [b"", b"of a form unknown here"])
def test_a_later_version_is_newer(extra: bytes) -> None:
    found = framing.parse_header(header(version=2, extra=extra) + b"records", 500)
    assert (found.state, found.version) == (HeaderState.NEWER, 2)


def test_every_cut_of_a_header_is_torn() -> None:
    whole = framing.encode_header()
    assert [judged(whole[:cut]) for cut in range(20)] == [HeaderState.TORN] * 20


@pytest.mark.parametrize("written", range(20))
def test_a_header_whose_end_was_never_written_is_torn(written: int) -> None:
    assert judged(framing.encode_header()[:written] + bytes(20 - written)) is HeaderState.TORN


@pytest.mark.parametrize("bit", range(160))
def test_every_flipped_bit_in_the_header_of_a_journal_with_records_is_noticed(bit: int) -> None:
    head = bytearray(framing.encode_header() + b"records follow")
    head[bit // 8] ^= 1 << (bit % 8)
    expected = HeaderState.FOREIGN if bit < 64 else HeaderState.DAMAGED
    assert judged(bytes(head)) is expected


@pytest.mark.parametrize("content", [b"#", b"hello", b"SQLite format 3\0" * 9, bytes(100)])
def test_other_files_are_foreign(content: bytes) -> None:
    assert judged(content) is HeaderState.FOREIGN


@given(st.binary(max_size=500))
def test_a_sealed_payload_is_unsealed(payload: bytes) -> None:
    assert framing.unseal(framing.seal((payload[:3], payload[3:])) + payload) == payload


@given(st.binary(max_size=50), st.data())
def test_a_sealed_payload_that_is_not_intact_reads_as_none(
    payload: bytes, data: st.DataObject
) -> None:
    sealed = framing.seal((payload,)) + payload
    assert framing.unseal(sealed[: data.draw(st.integers(0, len(sealed) - 1))]) is None
    assert framing.unseal(sealed + b"x") is None
    bit = data.draw(st.integers(0, len(sealed) * 8 - 1))
    flipped = bytearray(sealed)
    flipped[bit // 8] ^= 1 << (bit % 8)
    assert framing.unseal(bytes(flipped)) is None
