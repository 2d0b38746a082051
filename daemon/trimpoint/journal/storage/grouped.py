"""The implementation of the journal's contract over any storage: group commit, failure and
closing.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import anyio

from trimpoint.journal import framing
from trimpoint.journal.errors import JournalClosed, JournalReadOnly, JournalWriteError
from trimpoint.journal.port import Bookmark, Damage, OpenReport, Position
from trimpoint.journal.storage.commit import GroupCommit


class Storage(Protocol):
    """Writes batches. Only one call runs at a time."""

    @property
    def path(self) -> Path: ...

    @property
    def report(self) -> OpenReport: ...

    async def write(self, batch: list[bytes], at: Position) -> Position:
        """Writes a batch and returns the new durable end.

        :raises JournalWriteError: when the batch is not durable.
        """
        ...

    async def restore(self, to: Position) -> None:
        """Cuts the storage at `to` and prepares it for writing.

        :raises JournalWriteError: when that fails.
        """
        ...

    async def bookmark(self, at: Position) -> Bookmark:
        """Returns a bookmark at the position `at`.

        :raises OSError: when the bytes before `at` cannot be read.
        """
        ...

    async def close(self) -> None: ...


class GroupedJournal:
    """Implements `port.Journal`. `failure` is given if the journal could be opened for reading, but
    the disk refused its repair.
    """

    def __init__(
        self, storage: Storage, records: memoryview, *, failure: JournalWriteError | None = None
    ) -> None:
        self._storage = storage
        self._records: memoryview | None = records
        self._durable = storage.report.end
        self._closed = False
        self._read_only = storage.report.damage is Damage.DAMAGED_MIDDLE
        self._reopening = anyio.Lock()
        self._group = GroupCommit(storage.path, self._write)
        if failure is not None:
            self._group.fail(failure)

    @property
    def report(self) -> OpenReport:
        return self._storage.report

    @property
    def durable(self) -> Position:
        return self._durable

    @property
    def size_bytes(self) -> int:
        return self._durable.offset_bytes

    @property
    def failure(self) -> JournalWriteError | None:
        return self._group.failure

    def read(self) -> Iterator[memoryview]:
        if self._records is None:
            raise RuntimeError(
                f"{self._storage.path}: the records found at opening were read before"
            )
        records, self._records = self._records, None
        return framing.payloads(records)

    async def bookmark(self) -> Bookmark:
        if self._closed:
            raise JournalClosed(self._storage.path)
        return await self._storage.bookmark(self._durable)

    def append(self, payload: bytes) -> None:
        self._check_writable()
        framing.check_payload(payload)
        self._group.append(payload)

    async def commit(self) -> None:
        self._check_writable()
        await self._group.commit()

    async def reopen(self) -> None:
        # One call at a time: a second restore would cut off records written since the first.
        async with self._reopening:
            self._check_writable()
            if self._group.failure is not None:
                await self._storage.restore(self._durable)
                self._group = GroupCommit(self._storage.path, self._write)

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._records = None
        async with self._reopening:
            try:
                if self._group.failure is None:
                    await self._group.commit()
            finally:
                await self._storage.close()

    async def _write(self, batch: list[bytes]) -> None:
        self._durable = await self._storage.write(batch, self._durable)

    def _check_writable(self) -> None:
        if self._closed:
            raise JournalClosed(self._storage.path)
        if self._read_only:
            report = self.report
            raise JournalReadOnly(self._storage.path, report.end.offset_bytes, report.reason)
