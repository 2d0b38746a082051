"""The writing end of a journal on disk, blocking.

Always true: a batch is written only behind durable bytes, and counts only after its sync. A sync
that failed is never repeated over the same bytes (the kernel may have dropped them and answers
"done"): the file is opened anew, cut back to its durable end and synced, before anything else is
written.
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
    """Turn an OSError of `operation` into the journal's own."""
    try:
        yield
    except OSError as error:
        raise JournalWriteError.caused_by(path, error, operation) from error


class JournalFile:
    """Owns the descriptor, opened when first written to. The durable end is the caller's to keep.

    A caller can be torn away from a write that its thread then finishes, so the file's own end may
    get ahead of the caller's. A write that expects another end than the file's breaks it; the next
    `restore` settles it.
    """

    def __init__(self, path: Path, files: FileOperations, content: Content) -> None:
        self.path = path
        self.report = content.report
        self._torn = content.torn
        self._headless = content.headless
        self._files = files
        self._fd: int | None = None
        self._end = content.report.end
        # A whole journal with records needs no restoring, so that opening thousands of them syncs
        # nothing.
        self._broken = content.report.damage is not Damage.NONE or self._end.records == 0
        self._lock = Lock()

    def write(self, batch: list[bytes], at: Position) -> Position:
        """Make `batch` durable behind `at`, the durable end; the new one.

        :raises JournalWriteError: when it is not durable; `restore` must succeed before the next
            write.
        """
        with self._lock:
            if self._broken:
                raise JournalWriteError(self.path, ECANCELED, "write")
            self._agree(at)
            self._broken = True
            data = framing.encode_batch(batch, at.offset_bytes)
            fd = self._open_at_least(at) if self._fd is None else self._fd
            with refusals(self.path, "write"):
                write_fully(self._files, fd, data, at.offset_bytes)
            with refusals(self.path, "fdatasync"):
                self._files.datasync(fd)
                is_there = self._files.is_at(self.path, fd)
            if not is_there:  # written all the same, to where no later daemon looks
                raise JournalWriteError(self.path, ENOENT, "finding the file again after the write")
            self._end = Position(at.offset_bytes + len(data), at.records + len(batch))
            self._broken = False
            return self._end

    def restore(self, to: Position) -> None:
        """Open the file anew and make it end at `to`; torn bytes found at opening are kept beside
        first.

        :raises JournalWriteError: when the disk refuses; may be tried again.
        """
        with self._lock:
            if not self._broken:
                self._agree(to)
                return
            self._release()
            self._keep_torn()
            self._cut(to)
            if to.records == 0:
                # A crash may have come between an earlier creation and the sync of the directory.
                with refusals(self.path, "fsync of the directory"):
                    self._files.sync_directory(self.path.parent)
            self._end, self._headless, self._broken = to, False, False

    def close(self) -> None:
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
        with refusals(self.path, "fdatasync"):
            self._files.datasync(fd)

    def _release(self) -> None:
        if self._fd is not None:
            fd, self._fd = self._fd, None
            # Nothing hangs on it: what counts was synced, what does not is cut.
            with suppress(OSError):
                self._files.close(fd)

    def _open_at_least(self, end: Position) -> int:
        """Open for writing; a file shorter than its durable end has lost what was acknowledged."""
        with refusals(self.path, "open"):
            self._fd = fd = self._files.open(
                self.path, os.O_RDWR | (os.O_CREAT if self._headless else 0)
            )
            size = self._files.size(fd)
        if size < end.offset_bytes and not self._headless:
            self._release()
            raise JournalWriteError(self.path, EIO, "finding what was durable")
        return fd

    def _keep_torn(self) -> None:
        if not self._torn:
            return
        kept_at = free_name(self._files, self.path, "torn")
        with refusals(self.path, "keeping the torn tail"):
            write_atomically(self._files, kept_at, (self._torn,))
        self._torn = b""
        self.report = replace(self.report, kept_at=kept_at)
