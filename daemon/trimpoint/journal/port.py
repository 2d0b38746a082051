"""Defines the contract of all journal implementations (docs/spec/journal.md).

Always true of a journal:

- Payloads are opaque, ordered, and each is whole or absent after a crash.
- `append` promises nothing; the return of `commit` promises that all appended before the call is
  durable.
- A failed write fails the journal: everything not yet durable is forgotten, and until `reopen`
  succeeds each `append` and `commit` raises. Nothing is dropped behind the back of a writer who
  continues appending.
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
    """The damage of a journal as a whole."""

    NONE = "none"
    TORN_TAIL = "torn_tail"
    DAMAGED_MIDDLE = "damaged_middle"
    FOREIGN = "foreign"
    NEWER_VERSION = "newer_version"


@dataclass(frozen=True, slots=True)
class Position:
    """A record boundary: so many bytes and so many records lie before it."""

    offset_bytes: int
    records: int


@dataclass(frozen=True, slots=True)
class Bookmark:
    """A position and a digest of the bytes right before it, which another journal, or another past
    of this one, has not.
    """

    position: Position
    digest: bytes


@dataclass(frozen=True, slots=True)
class OpenReport:
    """The findings of opening or inspecting a journal.

    Whole records lie from `start` to `end`. `start` is the position that was asked for, or the
    beginning when nothing was asked or the file does not bear it out. With damage, `end` is where
    it begins, `reason` is a phrase for a person, and `damaged_bytes` lie beyond; `kept_at` names
    the file that now holds them when they were cut. `version` is the file's format, 0 where none
    can be told.
    """

    damage: Damage
    start: Position
    end: Position
    version: int
    reason: str = ""
    damaged_bytes: int = 0
    kept_at: Path | None = None


class Journal(Protocol):
    """One thread's journal. All methods belong to one event loop; none blocks it."""

    @property
    def report(self) -> OpenReport:
        """Returns what opening it found."""
        ...

    @property
    def durable(self) -> Position:
        """Returns the end of what is durable."""
        ...

    @property
    def size_bytes(self) -> int:
        """Durable bytes, the header included."""
        ...

    @property
    def failure(self) -> JournalWriteError | None:
        """Returns why it refuses records at present, or None; `reopen` may end that."""
        ...

    def read(self) -> Iterator[memoryview]:
        """Returns the payloads that were found at opening, from `report.start` on, oldest first.

        May be called once: the journal keeps no copy, so that an idle thread costs no memory.
        The slices share one buffer, which lives as long as any of them.

        :raises RuntimeError: on a second call.
        """
        ...

    async def bookmark(self) -> Bookmark:
        """Returns the end of what is durable, as a snapshot notes it and passes it to
        `open_journal` later.

        :raises JournalClosed: after `close`.
        :raises OSError: when the file cannot be read.
        """
        ...

    def append(self, payload: bytes) -> None:
        """Queue one record. Order of calls is order of records.

        :raises JournalWriteError: while the journal is failed.
        :raises JournalReadOnly: when it is damaged.
        :raises JournalClosed: after `close`.
        :raises ValueError: when the payload is empty or larger than a record can be.
        """
        ...

    async def commit(self) -> None:
        """Return once all that was appended before the call is durable. Concurrent calls share the
        work.

        A cancelled caller may or may not have had its records written; they are never half written.

        :raises JournalWriteError: when they could not be made durable. They are gone then; the
            caller's duty is to forget what it derived from them before it calls `reopen`.
        :raises JournalReadOnly: when the journal is damaged.
        :raises JournalClosed: after `close`.
        """
        ...

    async def reopen(self) -> None:
        """End a failure: what was not durable is cut off the disk, and records are accepted again.

        Does nothing on a healthy journal, so it may stand before every command.

        :raises JournalWriteError: while the disk still refuses; the journal stays failed.
        :raises JournalReadOnly: when it is damaged.
        :raises JournalClosed: after `close`.
        """
        ...

    async def close(self) -> None:
        """Commit what is queued, then close the file. Closing twice is fine.

        :raises JournalWriteError: when the queued records could not be made durable; closed all the
            same.
        """
        ...


class StateStore(Protocol):
    """The state directory: the journals of all threads, and small checked files beside them."""

    def lock(self) -> AbstractContextManager[None]:
        """Hold the directory for this daemon while the context lasts. Taken when called, not when
        entered.

        :raises StateDirectoryBusy: when another daemon holds it.
        """
        ...

    async def scan(self) -> list[tuple[str, int]]:
        """Returns each journal's thread id and its file's size in bytes, by thread id. Opens none
        of them.
        """
        ...

    async def open_journal(self, thread_id: str, after: Bookmark | None = None) -> Journal:
        """Open or create a thread's journal. With `after`, records before that position are not
        read.

        Where the file does not bear the bookmark out, all are: `report.start` says which.

        :raises JournalForeign: when the file is something else; it is untouched.
        :raises JournalNewer: when a later trimpoint wrote it; it is untouched.
        :raises JournalWriteError: when it cannot be created.
        :raises OSError: when it cannot be read.
        :raises ValueError: when the thread id cannot name a file.
        """
        ...

    async def read_journal(self, thread_id: str) -> Iterator[memoryview]:
        """Returns the payloads that a thread's journal holds now, oldest first. Changes nothing,
        and works while it is appended to.

        What is being appended may or may not be among them. Damaged records, and those behind them,
        are left out.

        :raises OSError: when it cannot be read, or is not there.
        :raises ValueError: when the thread id cannot name a file.
        """
        ...

    async def write_atomic(self, name: str, *payload: Buffer) -> None:
        """Make the checked file `name` (one or more parts, joined by "/") hold `payload`, joined;
        old or new after a crash.

        :raises JournalWriteError: when it could not be made durable; the old content stands.
        :raises ValueError: when `name` cannot name a file here.
        """
        ...

    async def read_checked(self, name: str) -> memoryview | None:
        """Returns the content of the checked file `name`; None when there is none, or what is there
        cannot be read or is not intact.

        :raises ValueError: when `name` cannot name a file here.
        """
        ...
