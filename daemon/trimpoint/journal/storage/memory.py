"""Journals in memory, for tests of the layers above: the same behaviour without threads and
disk.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from errno import ENOENT
from pathlib import Path

from anyio.lowlevel import checkpoint

from trimpoint.journal import framing
from trimpoint.journal.errors import JournalWriteError, StateDirectoryBusy
from trimpoint.journal.port import Bookmark, Damage, OpenReport, Position
from trimpoint.journal.storage.directory import check_name, file_stem
from trimpoint.journal.storage.grouped import GroupedJournal
from trimpoint.journal.storage.inspection import START, digest_before


@dataclass(slots=True)
class MemoryDisk:
    """A disk in memory that survives a restart of the daemon. While `refusal` is an errno, all
    writes fail with it.

    `damaged` maps thread ids to the number of readable records of a damaged journal, which opens
    read-only.
    """

    refusal: int | None = None
    records: dict[str, list[bytes]] = field(default_factory=dict[str, list[bytes]])
    checked: dict[str, bytes] = field(default_factory=dict[str, bytes])
    damaged: dict[str, int] = field(default_factory=dict[str, int])
    locked: bool = False

    async def wait(self) -> None:
        """Waits as long as an access to the disk takes."""
        await checkpoint()

    def write(self, path: Path) -> None:
        """Raises the error of a refused write if `refusal` is set."""
        if self.refusal is not None:
            raise JournalWriteError(path, self.refusal, "write")


class MemoryStorage:
    """The storage of a journal in memory: a list of payloads."""

    def __init__(
        self, disk: MemoryDisk, path: Path, durable: list[bytes], report: OpenReport
    ) -> None:
        self.path = path
        self.report = report
        self._disk = disk
        self._durable = durable

    async def write(self, batch: list[bytes], at: Position) -> Position:
        await self._disk.wait()
        self._disk.write(self.path)
        self._durable.extend(batch)
        return Position(at.offset_bytes + framing.batch_size_bytes(batch), at.records + len(batch))

    async def restore(self, to: Position) -> None:
        await self._disk.wait()
        self._disk.write(self.path)

    async def bookmark(self, at: Position) -> Bookmark:
        await checkpoint()
        return _bookmark(self._durable, at)

    async def close(self) -> None:
        await checkpoint()


class MemoryJournal(GroupedJournal):
    """The implementation of `port.Journal` over a list of payloads, which survives the journal as a
    file would.
    """

    @classmethod
    def over(
        cls,
        durable: list[bytes],
        *,
        disk: MemoryDisk | None = None,
        path: Path = Path("memory.journal"),
        after: Bookmark | None = None,
        damaged_after: int | None = None,
    ) -> MemoryJournal:
        """Opens a journal over the payloads in `durable`. With `damaged_after`, it is damaged after
        so many records.
        """
        report = _report(durable, after, damaged_after)
        found = durable[report.start.records : report.end.records]
        records = memoryview(framing.encode_batch(found, report.start.offset_bytes))
        return cls(MemoryStorage(disk or MemoryDisk(), path, durable, report), records)


def _report(durable: list[bytes], after: Bookmark | None, damaged_after: int | None) -> OpenReport:
    start = (
        START if after is None or _bookmark(durable, after.position) != after else after.position
    )
    if damaged_after is None:
        return OpenReport(
            Damage.NONE, start, _position(durable, len(durable)), framing.FORMAT_VERSION
        )
    end = _position(durable, damaged_after)
    report = OpenReport(
        Damage.DAMAGED_MIDDLE, start, end, framing.FORMAT_VERSION, "damaged on purpose"
    )
    beyond = _position(durable, len(durable)).offset_bytes - end.offset_bytes
    return replace(report, damaged_bytes=beyond)


def _bookmark(durable: list[bytes], at: Position) -> Bookmark:
    file = framing.encode_header() + framing.encode_batch(durable[: at.records], START.offset_bytes)
    return Bookmark(_position(durable, at.records), digest_before(file, len(file)))


def _position(durable: list[bytes], records: int) -> Position:
    before = durable[:records]
    return Position(START.offset_bytes + framing.batch_size_bytes(before), len(before))


class MemoryStateDirectory:
    """The implementation of `port.StateStore` over a `MemoryDisk`. A second one over the same disk
    is the daemon after a restart.
    """

    def __init__(self, disk: MemoryDisk | None = None) -> None:
        self.root = Path("memory")
        self.disk = disk or MemoryDisk()

    def newest_version(self) -> str | None:
        return None

    def lock(self) -> AbstractContextManager[None]:
        if self.disk.locked:
            raise StateDirectoryBusy(self.root, os.getpid())
        self.disk.locked = True
        return self._held()

    @contextmanager
    def _held(self) -> Generator[None]:
        try:
            yield
        finally:
            self.disk.locked = False

    async def scan(self) -> list[tuple[str, int]]:
        await checkpoint()
        journals = sorted(self.disk.records.items())
        return [
            (thread_id, _position(held, len(held)).offset_bytes) for thread_id, held in journals
        ]

    async def open_journal(self, thread_id: str, after: Bookmark | None = None) -> MemoryJournal:
        path = self.root / f"{file_stem(thread_id)}.journal"
        await self.disk.wait()
        if thread_id not in self.disk.records:
            self.disk.write(path)
        return MemoryJournal.over(
            self.disk.records.setdefault(thread_id, []),
            disk=self.disk,
            path=path,
            after=after,
            damaged_after=self.disk.damaged.get(thread_id),
        )

    async def read_journal(self, thread_id: str) -> Iterator[memoryview]:
        path = self.root / f"{file_stem(thread_id)}.journal"
        await self.disk.wait()
        if thread_id not in self.disk.records:
            raise FileNotFoundError(ENOENT, "No such file", str(path))
        held = self.disk.records[thread_id]
        return map(memoryview, held[: self.disk.damaged.get(thread_id, len(held))])

    async def write_atomic(self, name: str, *payload: framing.Buffer) -> None:
        check_name(name)
        await self.disk.wait()
        self.disk.write(self.root / name)
        self.disk.checked[name] = b"".join(payload)

    async def read_checked(self, name: str) -> memoryview | None:
        check_name(name)
        await checkpoint()
        content = self.disk.checked.get(name)
        return None if content is None else memoryview(content)
