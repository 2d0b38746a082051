from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trimpoint.journal import framing
from trimpoint.journal.storage import damage

BASE = 20
BATCHES = st.lists(
    st.lists(st.binary(min_size=1, max_size=80), min_size=1, max_size=4), min_size=1, max_size=4
)


def encoded(*batches: list[bytes]) -> bytearray:
    data = bytearray()
    for batch in batches:
        data += framing.encode_batch(batch, BASE + len(data))
    return data


def verdict(data: bytes | bytearray) -> damage.TailState:
    view = memoryview(data)
    found = framing.scan(view, BASE)
    assert found.damaged
    return damage.classify_tail(view, BASE, found.end)


def text(size_bytes: int) -> bytes:
    """Returns bytes without a zero byte, so that only unwritten bytes look unwritten."""
    return (b"streamed words " * (size_bytes // 15 + 1))[:size_bytes]


@given(BATCHES, st.data())
def test_every_cut_is_torn(batches: list[list[bytes]], data: st.DataObject) -> None:
    whole = encoded(*batches)
    cut = whole[: data.draw(st.integers(0, len(whole) - 1))]
    if framing.scan(memoryview(cut), BASE).damaged:
        assert verdict(cut).torn


def test_every_flipped_bit_before_the_last_batch_is_damage_in_the_middle() -> None:
    whole = encoded([text(9), text(30)], [text(600)], [text(5)])
    last = len(encoded([text(9), text(30)], [text(600)]))
    for bit in range(last * 8):
        whole[bit // 8] ^= 1 << (bit % 8)
        assert not verdict(whole).torn, bit
        whole[bit // 8] ^= 1 << (bit % 8)


def test_every_flipped_bit_in_the_last_batch_but_its_last_record_is_damage_in_the_middle() -> None:
    whole = encoded([text(9)], [text(20), text(30), text(5)])
    start, stop = len(encoded([text(9)])), len(encoded([text(9)], [text(20), text(30)]))
    for bit in range(start * 8, stop * 8):
        whole[bit // 8] ^= 1 << (bit % 8)
        assert not verdict(whole).torn, bit
        whole[bit // 8] ^= 1 << (bit % 8)


def test_a_flipped_bit_in_the_last_record_is_a_torn_tail() -> None:
    whole = encoded([text(9)], [text(20)])
    start = len(encoded([text(9)]))
    checksum, payload = range(start, start + 4), range(start + 8, len(whole))
    for byte in [*checksum, *payload]:
        whole[byte] ^= 0x10
        assert verdict(whole).torn, byte
        whole[byte] ^= 0x10


def test_a_last_record_that_claims_more_than_there_is_is_torn() -> None:
    whole = encoded([text(9)], [text(20)])
    whole[len(encoded([text(9)])) + 4] = 21
    assert verdict(whole).torn


def test_a_mismatch_that_is_not_the_last_thing_in_the_file_is_damage() -> None:
    whole = encoded([text(9)], [text(20)])
    whole[len(encoded([text(9)])) + 4] = 19
    found = verdict(whole)
    assert not found.torn
    assert "is not the last" in found.reason


def test_a_corrupt_length_before_valid_records_is_damage() -> None:
    whole = encoded([text(9)], [text(20)], [text(20)])
    whole[len(encoded([text(9)])) + 6] = 0x7F
    assert not verdict(whole).torn


def test_unwritten_sectors_before_the_written_end_of_the_last_batch_are_torn() -> None:
    batch = [text(700), text(700), text(700)]
    whole = encoded([text(100)], batch)
    for sector in range(len(whole) // 512 + 1):
        at = max(sector * 512 - BASE, len(encoded([text(100)])))
        end = min((sector + 1) * 512 - BASE, len(whole))
        torn = whole[:at] + bytes(end - at) + whole[end:]
        assert verdict(torn).torn, sector


def test_unwritten_sectors_before_a_later_batch_are_damage() -> None:
    whole = encoded([text(100)], [text(2000)], [text(10)])
    whole[512 - BASE : 1024 - BASE] = bytes(512)
    found = verdict(whole)
    assert not found.torn
    assert "a later batch" in found.reason


def test_zeros_in_an_intact_record_after_the_damage_are_no_unwritten_sectors() -> None:
    whole = encoded([text(100)], [text(100), bytes(2000)])
    whole[len(encoded([text(100)])) + 20] ^= 1
    found = verdict(whole)
    assert not found.torn
    assert "a later record" in found.reason


def test_zeros_beyond_the_last_record_are_torn() -> None:
    for size in range(1, 600):
        assert verdict(encoded([text(100)]) + bytes(size)).torn


def test_a_journal_inside_a_torn_payload_does_not_make_it_damage() -> None:
    inner = bytes(encoded([b"a", b"b"], [b"c"]))
    whole = encoded([text(30)], [framing.MAGIC + inner + text(100)])
    assert verdict(whole[:-1]).torn


def test_a_search_in_a_hostile_payload_is_given_up_and_nothing_cut(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(damage, "_SEARCH_BUDGET_BYTES", 10_000)
    hostile = (b"\x40\0\0\0" * 2000)[1:]
    found = verdict(encoded([text(30)], [hostile])[:-1])
    assert not found.torn
    assert "given up" in found.reason


@given(BATCHES, st.data())
def test_bytes_overwritten_before_the_last_batch_are_never_cut(
    batches: list[list[bytes]], data: st.DataObject
) -> None:
    whole = encoded(*batches, [b"last"])
    end = len(encoded(*batches))
    at = data.draw(st.integers(0, end - 1))
    junk = data.draw(st.binary(min_size=1, max_size=end - at))
    changed = whole[:at] + junk + whole[at + len(junk) :]
    if changed != whole:
        assert not verdict(changed).torn
