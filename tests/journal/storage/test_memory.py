from __future__ import annotations

import pytest
from trimpoint.journal import MemoryDisk, MemoryJournal, MemoryStateDirectory

from tests.journal.contract import (
    JournalContract,
    StoreHarness,
    payloads,
    write,
)
from tests.journal.state_store_contract import StateStoreContract


class MemoryRig(StoreHarness):
    def __init__(self) -> None:
        self.disk = MemoryDisk()

    def store(self) -> MemoryStateDirectory:
        return MemoryStateDirectory(self.disk)

    def refuse(self, errno: int) -> None:
        self.disk.refusal = errno

    def allow(self) -> None:
        self.disk.refusal = None

    def damage_after(self, thread_id: str, records: int) -> None:
        self.disk.damaged[thread_id] = records


@pytest.fixture
def store_harness() -> MemoryRig:
    return MemoryRig()


class TestMemoryJournal(JournalContract):
    pass


class TestMemoryStateDirectory(StateStoreContract):
    pass


async def test_a_journal_over_a_list_leaves_its_records_in_it() -> None:
    durable = [b"a"]
    journal = MemoryJournal.over(durable)
    assert payloads(journal) == [b"a"]
    await write(journal, b"b")
    assert durable == [b"a", b"b"]
