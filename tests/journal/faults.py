"""File operations that fail, write too little or block when a test says so."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

from trimpoint.journal.storage.file_ops import SYSTEM_FILES, FileOperations

from tests.deadlines import STEP_S


@dataclass
class Hold:
    """A call that blocks in its worker thread: `reached` is set when it does, and `release` lets it
    continue.
    """

    reached: Event = field(default_factory=Event)
    release: Event = field(default_factory=Event)


class FaultyFiles:
    def __init__(self, inner: FileOperations = SYSTEM_FILES) -> None:
        self.inner = inner
        self.calls: Counter[str] = Counter()
        self.log: list[str] = []
        self.max_write_bytes: int | None = None
        self._refused: dict[str, int] = {}
        self._failing: dict[tuple[str, int], int] = {}
        self._holds: dict[str, Hold] = {}

    def refuse(self, errno: int, *operations: str) -> None:
        """Makes every call of `operations` fail until `allow`."""
        self._refused.update(dict.fromkeys(operations, errno))

    def allow(self) -> None:
        self._refused.clear()

    def fail(self, operation: str, errno: int, nth: int = 1) -> None:
        """Makes the nth call from now fail."""
        self._failing[operation, self.calls[operation] + nth] = errno

    def hold(self, operation: str) -> Hold:
        """Makes the next call block until it is released."""
        self._holds[operation] = hold = Hold()
        return hold

    def _enter(self, operation: str) -> None:
        self.calls[operation] += 1
        self.log.append(operation)
        hold = self._holds.pop(operation, None)
        if hold is not None:
            hold.reached.set()
            assert hold.release.wait(STEP_S)
        errno = self._failing.pop((operation, self.calls[operation]), self._refused.get(operation))
        if errno is not None:
            raise OSError(errno, os.strerror(errno))

    def open(self, path: Path, flags: int) -> int:
        self._enter("open for writing" if flags & os.O_ACCMODE else "open for reading")
        return self.inner.open(path, flags)

    def close(self, fd: int) -> None:
        self.inner.close(fd)

    def size(self, fd: int) -> int:
        return self.inner.size(fd)

    def read(self, fd: int, size_bytes: int, offset_bytes: int) -> bytes:
        self._enter("read")
        return self.inner.read(fd, size_bytes, offset_bytes)

    def write(self, fd: int, data: memoryview, offset_bytes: int) -> int:
        self._enter("write")
        return self.inner.write(fd, data[: self.max_write_bytes], offset_bytes)

    def datasync(self, fd: int) -> None:
        self._enter("datasync")
        self.inner.datasync(fd)

    def truncate(self, fd: int, size_bytes: int) -> None:
        self._enter("truncate")
        self.inner.truncate(fd, size_bytes)

    def exists(self, path: Path) -> bool:
        return self.inner.exists(path)

    def is_at(self, path: Path, fd: int) -> bool:
        return self.inner.is_at(path, fd)

    def replace(self, source: Path, target: Path) -> None:
        self._enter("replace")
        self.inner.replace(source, target)

    def sync_directory(self, path: Path) -> None:
        self._enter("sync_directory")
        self.inner.sync_directory(path)
