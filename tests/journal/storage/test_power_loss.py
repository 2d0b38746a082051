"""Whatever a power cut leaves of the last batch: acknowledged records are there, and the journal
can be continued.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from errno import EIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trimpoint.journal import Damage, JournalWriteError, framing
from trimpoint.journal.storage.file import open_file
from trimpoint.journal.storage.file_storage import JournalFile

from tests.journal.simulated_disk import PowerCut, SimulatedDisk

PATH = Path("t.journal")
PAYLOAD = st.one_of(
    st.binary(min_size=1, max_size=40),
    st.tuples(st.integers(1, 255), st.integers(1, 1800)).map(
        lambda fill: bytes([fill[0]]) * fill[1]
    ),
    st.integers(1, 1800).map(bytes),
)
BATCH = st.lists(PAYLOAD, min_size=1, max_size=5)


@dataclass
class Daemon:
    """Writes batches, and records which were acknowledged."""

    disk: SimulatedDisk = field(default_factory=SimulatedDisk)
    acknowledged: list[bytes] = field(default_factory=list[bytes])
    file: JournalFile = field(init=False)

    def __post_init__(self) -> None:
        self.start()

    def start(self) -> tuple[Damage, list[bytes]]:
        self.file, content, failure = open_file(PATH, None, self.disk)
        assert failure is None
        self.durable = content.report.end
        return content.report.damage, [
            bytes(record) for record in framing.payloads(content.records)
        ]

    def write(self, batch: list[bytes]) -> None:
        self.durable = self.file.write(batch, self.durable)
        self.acknowledged += batch

    def write_without_power(self, batch: list[bytes]) -> None:
        self.disk.cut_power_at_sync = True
        with pytest.raises(PowerCut):
            self.file.write(batch, self.durable)

    def write_with_failing_sync(self, batch: list[bytes]) -> None:
        self.disk.fail_next_sync = True
        with pytest.raises(JournalWriteError) as failed:
            self.file.write(batch, self.durable)
        assert failed.value.errno == EIO
        self.file.restore(self.durable)


def lose_power(disk: SimulatedDisk, data: st.DataObject) -> None:
    disk.lose_power(
        lambda sector: data.draw(st.booleans(), label=f"sector {sector} written"),
        lambda least, most: data.draw(st.integers(least, most), label="size"),
    )


@given(st.lists(BATCH, max_size=4), BATCH, st.data())
def test_a_power_cut_in_a_batch_costs_nothing_acknowledged(
    batches: list[list[bytes]], last: list[bytes], data: st.DataObject
) -> None:
    daemon = Daemon()
    for batch in batches:
        daemon.write(batch)
    daemon.write_without_power(last)
    lose_power(daemon.disk, data)
    damage, found = daemon.start()
    assert damage in (Damage.NONE, Damage.TORN_TAIL)
    kept = found[len(daemon.acknowledged) :]
    assert found == daemon.acknowledged + last[: len(kept)]
    daemon.acknowledged = found
    daemon.write([b"after the restart"])
    assert daemon.start() == (Damage.NONE, daemon.acknowledged)


@given(st.lists(BATCH, min_size=1, max_size=4), BATCH, BATCH, st.data())
def test_a_failed_sync_is_not_taken_for_done_by_the_next(
    batches: list[list[bytes]], refused: list[bytes], following: list[bytes], data: st.DataObject
) -> None:
    daemon = Daemon()
    for batch in batches:
        daemon.write(batch)
    daemon.write_with_failing_sync(refused)
    daemon.write(following)
    lose_power(daemon.disk, data)
    assert daemon.start() == (Damage.NONE, daemon.acknowledged)


@given(st.lists(BATCH, min_size=1, max_size=3), BATCH, st.data())
def test_a_power_cut_while_a_torn_tail_is_cut_costs_nothing(
    batches: list[list[bytes]], last: list[bytes], data: st.DataObject
) -> None:
    daemon = Daemon()
    for batch in batches:
        daemon.write(batch)
    daemon.write_without_power(last)
    lose_power(daemon.disk, data)
    daemon.disk.cut_power_at_sync = True
    try:
        daemon.start()
    except PowerCut:
        lose_power(daemon.disk, data)
    daemon.disk.cut_power_at_sync = False
    damage, found = daemon.start()
    assert damage in (Damage.NONE, Damage.TORN_TAIL)
    assert found[: len(daemon.acknowledged)] == daemon.acknowledged
