"""Errors of journals. They carry facts; `str()` returns a sentence for a person."""

from __future__ import annotations

import os
from pathlib import Path


class JournalError(Exception):
    """Base class of all errors of the journal."""


class JournalWriteError(JournalError):
    """The disk refused a write, and the records that were not durable are lost
    (docs/spec/journal.md: refused, temporary).

    `operation` is the file operation that failed, `errno` its error number.
    """

    def __init__(self, path: Path, errno: int, operation: str) -> None:
        super().__init__(path, errno, operation)
        self.path = path
        self.errno = errno
        self.operation = operation

    @classmethod
    def caused_by(cls, path: Path, error: OSError, operation: str) -> JournalWriteError:
        """Returns the error for an `OSError` of `operation` on the file."""
        return cls(path, error.errno or 0, operation)

    def again(self) -> JournalWriteError:
        """Returns a copy of the error: raising one instance in several tasks would mix up their
        tracebacks.
        """
        return JournalWriteError(self.path, self.errno, self.operation)

    def __str__(self) -> str:
        return f"{self.path}: {self.operation} failed: {os.strerror(self.errno)}"


class JournalReadOnly(JournalError):
    """The journal is damaged before its end. It can be read up to `offset_bytes` and accepts no
    records.
    """

    def __init__(self, path: Path, offset_bytes: int, reason: str) -> None:
        super().__init__(path, offset_bytes, reason)
        self.path = path
        self.offset_bytes = offset_bytes
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.path}: read-only, damaged at byte {self.offset_bytes}: {self.reason}"


class JournalForeign(JournalError):
    """The file is not a trimpoint journal; it was not changed."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.path = path

    def __str__(self) -> str:
        return f"{self.path}: not a trimpoint journal"


class JournalNewer(JournalError):
    """A later trimpoint wrote the file in a format that is unknown here; it was not changed."""

    def __init__(self, path: Path, version: int, known_version: int) -> None:
        super().__init__(path, version, known_version)
        self.path = path
        self.version = version
        self.known_version = known_version

    def __str__(self) -> str:
        return (
            f"{self.path}: journal format {self.version}; this trimpoint reads up to "
            f"{self.known_version}"
        )


class JournalClosed(JournalError):
    """The journal was used after `close()`."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.path = path

    def __str__(self) -> str:
        return f"{self.path}: the journal is closed"


class StateDirectoryBusy(JournalError):
    """Another daemon holds the state directory. `pid` is its process id, or None if it has not
    written it yet.
    """

    def __init__(self, path: Path, pid: int | None) -> None:
        super().__init__(path, pid)
        self.path = path
        self.pid = pid

    def __str__(self) -> str:
        holder = "another process" if self.pid is None else f"process {self.pid}"
        return f"{self.path}: the state directory is in use by {holder}"


class StateDirectoryUnsafe(JournalError):
    """The state directory belongs to another user or is writable for others, who could replace its
    journals.
    """

    def __init__(self, root: Path, problem: str) -> None:
        super().__init__(root, problem)
        self.root = root
        self.problem = problem

    def __str__(self) -> str:
        return f"the state directory {self.root} {self.problem}"
