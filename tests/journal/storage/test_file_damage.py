"""What is read of a file that is cut, damaged, of another program or of a later version."""

# Tests look at the files themselves; nothing else waits for their loop.
# ruff: noqa: ASYNC240
import os
import struct
import zlib
from pathlib import Path

import pytest
from trimpoint.journal import (
    Damage,
    FileJournal,
    JournalForeign,
    JournalNewer,
    JournalReadOnly,
    Position,
    framing,
    inspect,
)

from tests.journal.contract import (
    payloads,
    write,
)
from tests.journal.storage.stage import filled, flip, record_offset


async def test_a_cut_at_every_byte_keeps_the_whole_records_and_the_rest_beside(path: Path) -> None:
    records = [b"first", b"second record", b"3"]
    whole = await filled(path, *records)
    ends = [record_offset(path, n) for n in range(4)]
    for cut in range(len(whole)):
        path.write_bytes(whole[:cut])
        journal = await FileJournal.open(path)
        kept = max(sum(end <= cut for end in ends) - 1, 0)
        assert payloads(journal) == records[:kept]
        report = journal.report
        if cut in ends:
            assert (report.damage, report.kept_at) == (Damage.NONE, None)
        else:
            assert report.damage is Damage.TORN_TAIL
            lost = whole[ends[kept] : cut] if cut > ends[0] else whole[:cut]
            assert report.damaged_bytes == len(lost)
            assert (report.kept_at.read_bytes() if report.kept_at else b"") == lost
        await write(journal, b"after")
        assert payloads(await FileJournal.open(path)) == [*records[:kept], b"after"]


async def test_each_torn_tail_is_kept_under_a_name_of_its_own(path: Path) -> None:
    whole = await filled(path, b"a", b"bcd")
    for n in (1, 2, 3):
        path.write_bytes(whole[: -1 - n % 2])
        journal = await FileJournal.open(path)
        assert journal.report.kept_at == path.with_name(f"t.journal.torn-{n}")
        assert path.with_name(f"t.journal.torn-{n}").stat().st_mode & 0o777 == 0o600


async def test_a_flipped_bit_anywhere_never_yields_a_wrong_record_and_never_loses_a_byte(
    path: Path,
) -> None:
    records = [b"first", b"second record", b"3"]
    whole = await filled(path, *records)
    last = record_offset(path, 2)
    for bit in range(len(whole) * 8):
        changed = bytearray(whole)
        changed[bit // 8] ^= 1 << (bit % 8)
        path.write_bytes(changed)
        if bit < 64:
            with pytest.raises(JournalForeign):
                await FileJournal.open(path)
            assert path.read_bytes() == changed
            continue
        journal = await FileJournal.open(path)
        found = payloads(journal)
        assert found == records[: len(found)]
        assert len(found) < len(records)
        if bit // 8 < last:
            assert journal.report.damage is Damage.DAMAGED_MIDDLE
        if journal.report.damage is Damage.DAMAGED_MIDDLE:
            assert path.read_bytes() == changed
        else:
            assert journal.report.kept_at is not None
            assert path.read_bytes() + journal.report.kept_at.read_bytes() == changed
            journal.report.kept_at.unlink()


async def test_damage_in_the_middle_is_left_as_it_is(path: Path) -> None:
    await filled(path, b"a", b"b", b"c")
    flip(path, record_offset(path, 1) + 8)
    before = path.read_bytes()
    journal = await FileJournal.open(path)
    assert payloads(journal) == [b"a"]
    assert journal.report.end == Position(record_offset(path, 1), 1)
    assert journal.report.damaged_bytes == 18
    with pytest.raises(
        JournalReadOnly, match=f"damaged at byte {record_offset(path, 1)}: a later batch"
    ):
        journal.append(b"d")
    await journal.close()
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


async def test_a_foreign_file_is_refused_and_left_as_it_is(path: Path) -> None:
    path.write_bytes(b"something else entirely")
    with pytest.raises(JournalForeign, match="not a trimpoint journal"):
        await FileJournal.open(path)
    assert path.read_bytes() == b"something else entirely"


async def test_a_journal_of_a_later_version_is_refused_and_left_as_it_is(path: Path) -> None:
    body = framing.MAGIC + struct.pack("<HHI", 7, 20, 0)
    content = body + struct.pack("<I", zlib.crc32(body)) + b"whatever it holds"
    path.write_bytes(content)
    with pytest.raises(JournalNewer, match="format 7; this trimpoint reads up to 1") as refused:
        await FileJournal.open(path)
    assert (refused.value.version, refused.value.known_version) == (7, 1)
    assert path.read_bytes() == content


async def test_an_empty_file_becomes_a_new_journal(path: Path) -> None:
    path.touch()
    journal = await FileJournal.open(path)
    assert journal.report.damage is Damage.TORN_TAIL
    assert journal.report.kept_at is None
    await write(journal, b"a")
    assert payloads(await FileJournal.open(path)) == [b"a"]


async def test_inspecting_touches_nothing(path: Path) -> None:
    torn = (await filled(path, b"a", b"b"))[:-1]
    path.write_bytes(torn)
    content = inspect(path)
    assert content.report.damage is Damage.TORN_TAIL
    assert [bytes(record) for record in framing.payloads(content.records)] == [b"a"]
    assert path.read_bytes() == torn
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.parametrize(
    ("content", "damage"),
    [
        (b"something else entirely", Damage.FOREIGN),
        (framing.MAGIC + bytes(20), Damage.DAMAGED_MIDDLE),
    ],
)
async def test_inspecting_names_what_cannot_be_opened(
    path: Path, content: bytes, damage: Damage
) -> None:
    path.write_bytes(content)
    assert inspect(path).report.damage is damage


async def test_a_torn_tail_right_behind_the_noted_position_is_found(path: Path) -> None:
    journal = await FileJournal.open(path)
    await write(journal, b"a", b"b")
    noted = await journal.bookmark()
    await write(journal, b"c")
    path.write_bytes(path.read_bytes()[:-1])
    again = await FileJournal.open(path, after=noted)
    assert again.report.damage is Damage.TORN_TAIL
    assert again.durable == noted.position
