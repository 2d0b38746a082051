"""Appends to a journal on disk. Blocking.

A batch is written only after durable bytes, and is durable only after its sync. After a failed sync
the same bytes are never synced again, because the kernel may have dropped them and still report
success. Instead the file is opened again, cut back to its durable end and synced before the next
write.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import replace
from errno import ECANCELED, EIO, ENOENT
from pathlib import Path
from threading import Lock

from trimpoint.journal import framing
from trimpoint.journal.errors import JournalWriteError
from trimpoint.journal.port import Damage, Position
from trimpoint.journal.storage.file_ops import (
    FileOperations,
    free_name,
    write_atomically,
    write_fully,
)
from trimpoint.journal.storage.inspection import Content


@contextmanager
def refusals(path: Path, operation: str) -> Generator[None]:
    """Converts an `OSError` of `operation` into a `JournalWriteError`."""
    try:
        yield
    except OSError as error:
        raise JournalWriteError.caused_by(path, error, operation) from error


class JournalFile:
    """Owns the file descriptor, which is opened at the first write. The caller stores the durable
    end.

    If a caller is cancelled during a write, its worker thread still finishes the write, so the end
    of the file can be after the end that the caller knows. A write with another expected end marks
    the file as broken; the next `restore` corrects it.
    """

    def __init__(self, path: Path, files: FileOperations, content: Content) -> None:
        self.path = path
        self.report = content.report
        self._torn = content.torn
        self._headless = content.headless
        self._files = files
        self._fd: int | None = None
        self._end = content.report.end
        # An undamaged journal with records needs no `restore`, so opening thousands of journals
        # causes no syncs.
        self._broken = content.report.damage is not Damage.NONE or self._end.records == 0
        self._refused_bytes = 0
        self._lock = Lock()

    def write(self, batch: list[bytes], at: Position) -> Position:
        """Writes `batch` durably at `at`, the durable end, and returns the new durable end.

        :raises JournalWriteError: when the batch is not durable; `restore` must succeed before the
            next write.
        """
        with self._lock:
            if self._broken:
                raise JournalWriteError(self.path, ECANCELED, "write")
            self._agree(at)
            self._broken = True
            data = framing.encode_batch(batch, at.offset_bytes)
            fd = self._open_at_least(at) if self._fd is None else self._fd
            self._refused_bytes = len(data)
            with refusals(self.path, "write"):
                write_fully(self._files, fd, data, at.offset_bytes)
            self._refused_bytes = 0
            with refusals(self.path, "fdatasync"):
                self._files.datasync(fd)
                is_there = self._files.is_at(self.path, fd)
            if not is_there:  # the bytes were written to a deleted or renamed file
                raise JournalWriteError(self.path, ENOENT, "finding the file again after the write")
            self._end = Position(at.offset_bytes + len(data), at.records + len(batch))
            self._broken = False
            return self._end

    def restore(self, to: Position) -> None:
        """Opens the file again and cuts it at `to`. Torn bytes that were found at opening are first
        kept in a file beside it. After a batch that the disk refused, as many zeros are written and
        cut off: a full disk lets a file be cut, but has no room for the batch yet.

        :raises JournalWriteError: when the disk refuses; the call may be repeated.
        """
        with self._lock:
            if not self._broken:
                self._agree(to)
                return
            self._release()
            self._save_torn_bytes()
            self._cut(to)
            if to.records == 0:
                # The file may have been created before a crash without a sync of the directory.
                with refusals(self.path, "fsync of the directory"):
                    self._files.sync_directory(self.path.parent)
            self._end, self._headless, self._broken = to, False, False

    def close(self) -> None:
        """Closes the file descriptor."""
        with self._lock:
            self._release()

    def _agree(self, end: Position) -> None:
        if end != self._end:
            self._broken = True
            raise JournalWriteError(self.path, ECANCELED, "write")

    def _cut(self, to: Position) -> None:
        fd = self._open_at_least(to)
        with refusals(self.path, "truncate"):
            self._files.truncate(fd, to.offset_bytes)
        if self._headless:
            with refusals(self.path, "write"):
                write_fully(self._files, fd, framing.encode_header(), 0)
        if self._refused_bytes:
            with refusals(self.path, "write"):
                write_fully(self._files, fd, bytes(self._refused_bytes), to.offset_bytes)
            with refusals(self.path, "truncate"):
                self._files.truncate(fd, to.offset_bytes)
            self._refused_bytes = 0
        with refusals(self.path, "fdatasync"):
            self._files.datasync(fd)

    def _release(self) -> None:
        if self._fd is not None:
            fd, self._fd = self._fd, None
            # An error here has no effect: durable bytes were synced, all others are cut.
            with suppress(OSError):
                self._files.close(fd)

    def _open_at_least(self, end: Position) -> int:
        """Opens the file for writing.

        :raises JournalWriteError: when it cannot be opened, or is shorter than its durable end, so
            that acknowledged records are lost.
        """
        with refusals(self.path, "open"):
            self._fd = fd = self._files.open(
                self.path, os.O_RDWR | (os.O_CREAT if self._headless else 0)
            )
            size = self._files.size(fd)
        if size < end.offset_bytes and not self._headless:
            self._release()
            raise JournalWriteError(self.path, EIO, "finding what was durable")
        return fd

    def _save_torn_bytes(self) -> None:
        if not self._torn:
            return
        kept_at = free_name(self._files, self.path, "torn")
        with refusals(self.path, "keeping the torn tail"):
            write_atomically(self._files, kept_at, (self._torn,))
        self._torn = b""
        self.report = replace(self.report, kept_at=kept_at)
