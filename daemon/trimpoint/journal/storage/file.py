"""Journals on disk. Blocking calls run in worker threads, never in the event loop."""

from __future__ import annotations

from pathlib import Path

from anyio import CapacityLimiter, to_thread
from anyio.lowlevel import RunVar

from trimpoint.journal import framing
from trimpoint.journal.errors import JournalForeign, JournalNewer, JournalWriteError
from trimpoint.journal.port import Bookmark, Damage, OpenReport, Position
from trimpoint.journal.storage.file_ops import SYSTEM_FILES, FileOperations
from trimpoint.journal.storage.file_storage import JournalFile
from trimpoint.journal.storage.grouped import GroupedJournal
from trimpoint.journal.storage.inspection import NEW, Content, bookmark, inspect

# Writes in threads of their own: if the disk hangs, other work in threads goes on.
WRITES_AT_ONCE = 40
_writes = RunVar[CapacityLimiter]("_writes")


class ThreadedStorage:
    """Runs the calls of a `JournalFile` in worker threads."""

    def __init__(self, file: JournalFile, files: FileOperations) -> None:
        self._file = file
        self._files = files

    @property
    def path(self) -> Path:
        return self._file.path

    @property
    def report(self) -> OpenReport:
        return self._file.report

    async def write(self, batch: list[bytes], at: Position) -> Position:
        return await to_thread.run_sync(self._file.write, batch, at, limiter=_limiter())

    async def restore(self, to: Position) -> None:
        await to_thread.run_sync(self._file.restore, to, limiter=_limiter())

    async def bookmark(self, at: Position) -> Bookmark:
        return await to_thread.run_sync(bookmark, self._file.path, at, self._files)

    async def close(self) -> None:
        await to_thread.run_sync(self._file.close, limiter=_limiter())


def _limiter() -> CapacityLimiter:
    if (limiter := _writes.get(None)) is None:
        _writes.set(limiter := CapacityLimiter(WRITES_AT_ONCE))
    return limiter


class FileJournal(GroupedJournal):
    """The implementation of `port.Journal` over one file."""

    @classmethod
    async def open(
        cls,
        path: Path,
        *,
        after: Bookmark | None = None,
        files: FileOperations = SYSTEM_FILES,
    ) -> FileJournal:
        """Opens or creates the journal at `path`; the contract is that of
        `StateStore.open_journal`.

        A torn tail is cut off and kept in a file beside the journal. If the disk refuses this
        (full, read-only), the journal can be read but is failed; `reopen` tries again.
        """
        file, content, failure = await to_thread.run_sync(open_file, path, after, files)
        return cls(ThreadedStorage(file, files), content.records, failure=failure)


def open_file(
    path: Path, after: Bookmark | None, files: FileOperations
) -> tuple[JournalFile, Content, JournalWriteError | None]:
    """Does the blocking part of `FileJournal.open`. Returns the file, its content, and the error if
    the disk refused the repair of a torn tail.

    :raises JournalForeign, JournalNewer, JournalWriteError, OSError: see `StateStore.open_journal`.
    """
    try:
        content = inspect(path, after=after, files=files)
    except FileNotFoundError:
        content = NEW
    report = content.report
    if report.damage is Damage.FOREIGN:
        raise JournalForeign(path)
    if report.damage is Damage.NEWER_VERSION:
        raise JournalNewer(path, report.version, framing.FORMAT_VERSION)
    file = JournalFile(path, files, content)
    return file, content, _repair(file, content)


def _repair(file: JournalFile, content: Content) -> JournalWriteError | None:
    """Prepares the file for appending. Returns the error if the disk refuses and the file can still
    be read.
    """
    if content.report.damage is Damage.DAMAGED_MIDDLE:
        return None
    try:
        file.restore(content.report.end)
    except JournalWriteError as error:
        if content is NEW:
            raise
        return error
    return None
