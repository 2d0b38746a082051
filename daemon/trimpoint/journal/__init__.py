"""Durable records, one append-only file per thread (docs/spec/journal.md). This package does not
interpret payloads, except in `codec` and `repair`.

`port` is the interface, `framing` the byte layout of a file, and `errors` has the errors. The
sub-packages are `codec` (payloads), `storage` (files, memory and the state directory) and `repair`.
"""

from trimpoint.journal.errors import (
    JournalClosed,
    JournalError,
    JournalForeign,
    JournalNewer,
    JournalReadOnly,
    JournalWriteError,
    StateDirectoryBusy,
)
from trimpoint.journal.framing import MAX_PAYLOAD_BYTES
from trimpoint.journal.port import Damage, Journal, OpenReport, Position, StateStore
from trimpoint.journal.storage.directory import StateDirectory
from trimpoint.journal.storage.file import FileJournal
from trimpoint.journal.storage.inspection import Content, inspect
from trimpoint.journal.storage.memory import MemoryDisk, MemoryJournal, MemoryStateDirectory

__all__ = [
    "MAX_PAYLOAD_BYTES",
    "Content",
    "Damage",
    "FileJournal",
    "Journal",
    "JournalClosed",
    "JournalError",
    "JournalForeign",
    "JournalNewer",
    "JournalReadOnly",
    "JournalWriteError",
    "MemoryDisk",
    "MemoryJournal",
    "MemoryStateDirectory",
    "OpenReport",
    "Position",
    "StateDirectory",
    "StateDirectoryBusy",
    "StateStore",
    "inspect",
]
