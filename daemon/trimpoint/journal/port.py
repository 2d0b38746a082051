"""The contract of all journal implementations (docs/spec/journal.md).

- Payloads are opaque and ordered. After a crash each is there as a whole or not at all.
- `append` promises nothing. When `commit` returns, everything appended before the call is durable.
- After a failed write the journal is failed: records that are not durable are dropped, and `append`
  and `commit` raise until `reopen` succeeds. So a writer that continues to append always notices.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Protocol

from trimpoint.journal.errors import JournalWriteError
from trimpoint.journal.framing import Buffer


class Damage(Enum):
    """The kinds of damage to a journal."""

    NONE = "none"
    TORN_TAIL = "torn_tail"
    DAMAGED_MIDDLE = "damaged_middle"
    FOREIGN = "foreign"
    NEWER_VERSION = "newer_version"


@dataclass(frozen=True, slots=True)
class Position:
    """A boundary between records: the numbers of bytes and of records before it."""

    offset_bytes: int
    records: int


@dataclass(frozen=True, slots=True)
class Bookmark:
    """A position and a digest of the bytes directly before it. The digest does not match in another
    journal, or if this journal was replaced.
    """

    position: Position
    digest: bytes


@dataclass(frozen=True, slots=True)
class OpenReport:
    """The result of opening or inspecting a journal.

    Whole records are between `start` and `end`. `start` is the requested position, or the first
    record if none was requested or the file does not match the bookmark. If the journal is damaged,
    the damage begins at `end`, `reason` is a phrase for a person, and `damaged_bytes` bytes follow.
    If these were cut off, `kept_at` is the file that has them now. `version` is the format of the
    file, 0 if unknown.
    """

    damage: Damage
    start: Position
    end: Position
    version: int
    reason: str = ""
    damaged_bytes: int = 0
    kept_at: Path | None = None


class Journal(Protocol):
    """The journal of one thread. All methods must be called from one event loop; none blocks it."""

    @property
    def report(self) -> OpenReport:
        """Returns the report of opening the journal."""
        ...

    @property
    def durable(self) -> Position:
        """Returns the position after the last durable record."""
        ...

    @property
    def size_bytes(self) -> int:
        """Returns the number of durable bytes, including the header."""
        ...

    @property
    def failure(self) -> JournalWriteError | None:
        """Returns the reason why the journal refuses records at present, or None. `reopen` may end
        the failure.
        """
        ...

    def read(self) -> Iterator[memoryview]:
        """Returns the payloads found when the journal was opened, from `report.start` on, oldest
        first.

        May be called only once: the journal keeps no copy, so that an idle thread needs no memory.
        The slices share one buffer, which lives as long as any of them.

        :raises RuntimeError: on a second call.
        """
        ...

    async def bookmark(self) -> Bookmark:
        """Returns a bookmark after the last durable record. A snapshot stores it and passes it to
        `open_journal` later.

        :raises JournalClosed: after `close`.
        :raises OSError: when the file cannot be read.
        """
        ...

    def append(self, payload: bytes) -> None:
        """Queues one record. Records are written in the order of the calls.

        :raises JournalWriteError: while the journal is failed.
        :raises JournalReadOnly: when the journal is damaged.
        :raises JournalClosed: after `close`.
        :raises ValueError: when the payload is empty or too large for a record.
        """
        ...

    async def commit(self) -> None:
        """Waits until everything appended before the call is durable. Concurrent calls share one
        write.

        If the caller is cancelled, its records may or may not be written, but never partly.

        :raises JournalWriteError: when the records could not be made durable. They are lost; the
            caller must undo what it derived from them before it calls `reopen`.
        :raises JournalReadOnly: when the journal is damaged.
        :raises JournalClosed: after `close`.
        """
        ...

    async def reopen(self) -> None:
        """Ends a failure: cuts the file after the last durable record, and accepts records again.

        Does nothing if the journal is not failed, so it may be called before every command.

        :raises JournalWriteError: while the disk still refuses; the journal stays failed.
        :raises JournalReadOnly: when the journal is damaged.
        :raises JournalClosed: after `close`.
        """
        ...

    async def close(self) -> None:
        """Commits the queued records, then closes the file. Idempotent.

        :raises JournalWriteError: when the queued records could not be made durable; the file is
            closed nevertheless.
        """
        ...


class StateStore(Protocol):
    """The state directory: the journals of all threads, and checked files."""

    def lock(self) -> AbstractContextManager[None]:
        """Locks the directory for this daemon until the returned context ends. The lock is taken by
        the call, not when the context is entered.

        :raises StateDirectoryBusy: when another daemon holds the directory.
        """
        ...

    def newest_version(self) -> str | None:
        """Returns the newest version of trimpoint that has served the directory, or None if none is
        noted.
        """
        ...

    async def scan(self) -> list[tuple[str, int]]:
        """Returns the thread id and the size in bytes of each journal, sorted by thread id. Opens
        no journal.
        """
        ...

    async def open_journal(self, thread_id: str, after: Bookmark | None = None) -> Journal:
        """Opens or creates a thread's journal. With `after`, records before that position are not
        read.

        If the file does not match the bookmark, all records are read; `report.start` says which
        case it is.

        :raises JournalForeign: when the file is no journal; it is not changed.
        :raises JournalNewer: when a later trimpoint wrote it; it is not changed.
        :raises JournalWriteError: when it cannot be created.
        :raises OSError: when it cannot be read.
        :raises ValueError: when the thread id cannot be a file name.
        """
        ...

    async def read_journal(self, thread_id: str) -> Iterator[memoryview]:
        """Returns the payloads in a thread's journal, oldest first. Changes nothing, and may be
        called while records are appended.

        Records that are being appended may or may not be included. Damaged records and all after
        them are left out.

        :raises OSError: when the journal cannot be read or does not exist.
        :raises ValueError: when the thread id cannot be a file name.
        """
        ...

    async def write_atomic(self, name: str, *payload: Buffer) -> None:
        """Replaces the checked file `name` (parts joined by "/") with the concatenated `payload`.
        After a crash it has either the old or the new content.

        :raises JournalWriteError: when the content could not be made durable; the old content
            stays.
        :raises ValueError: when `name` is not allowed.
        """
        ...

    async def read_checked(self, name: str) -> memoryview | None:
        """Returns the content of the checked file `name`, or None if it does not exist, cannot be
        read or is damaged.

        :raises ValueError: when `name` is not allowed.
        """
        ...
