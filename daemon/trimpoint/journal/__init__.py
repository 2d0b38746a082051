"""Durable records, one append-only file per thread (spec §7). Payloads are opaque here.

`port` says what is promised, `framing` how bytes lie in a file, `damage` how a torn tail is told from
damage, `storage` when something counts as durable. `file` and `memory` implement the port, `directory`
holds it all together.
"""

from trimpoint.journal.directory import StateDirectory
from trimpoint.journal.errors import (
    JournalClosed,
    JournalError,
    JournalForeign,
    JournalNewer,
    JournalReadOnly,
    JournalWriteError,
    StateDirectoryBusy,
)
from trimpoint.journal.file import FileJournal
from trimpoint.journal.framing import MAX_PAYLOAD_BYTES
from trimpoint.journal.inspection import Content, inspect
from trimpoint.journal.memory import MemoryDisk, MemoryJournal, MemoryStateDirectory
from trimpoint.journal.port import Damage, Journal, OpenReport, Position, StateStore

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
