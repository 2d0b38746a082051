"""A disk with a page cache that loses power: unsynced sectors reach the disk or not, in any order.

A failed sync behaves as in Linux: the dirty sectors count as clean afterwards, written or not.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from errno import EIO, ENOENT
from pathlib import Path

SECTOR_BYTES = 512


class PowerCut(BaseException):
    """Raised when the power is cut; no later call takes effect."""


@dataclass
class SimulatedFile:
    durable: bytearray = field(default_factory=bytearray)
    live: bytearray = field(default_factory=bytearray)
    dirty: set[int] = field(default_factory=set[int])

    def resize(self, size_bytes: int) -> None:
        _resize(self.live, size_bytes)

    def flush(self, sectors: set[int], size_bytes: int) -> None:
        """Writes `sectors` to the disk, and sets the file's length there to `size_bytes`."""
        _resize(self.durable, size_bytes)
        for sector in sectors:
            at, end = (
                sector * SECTOR_BYTES,
                min((sector + 1) * SECTOR_BYTES, size_bytes, len(self.live)),
            )
            self.durable[at:end] = self.live[at:end]


def _resize(data: bytearray, size_bytes: int) -> None:
    del data[size_bytes:]
    data.extend(bytes(size_bytes - len(data)))


class SimulatedDisk:
    def __init__(self) -> None:
        self.files: dict[Path, SimulatedFile] = {}
        self.cut_power_at_sync = False
        self.fail_next_sync = False
        self._open: dict[int, SimulatedFile] = {}
        self._next_fd = 3

    def lose_power(self, reached: Callable[[int], bool], size: Callable[[int, int], int]) -> None:
        """Restarts with the content that reached the disk: `reached(sector)` chooses sectors, and
        `size(least, most)` the length of each file.
        """
        self.cut_power_at_sync = False
        for file in self.files.values():
            least, most = sorted((len(file.durable), len(file.live)))
            file.flush(
                {sector for sector in sorted(file.dirty) if reached(sector)}, size(least, most)
            )
            file.live = bytearray(file.durable)
            file.dirty.clear()

    def open(self, path: Path, flags: int) -> int:
        if path not in self.files and not flags & os.O_CREAT:
            raise FileNotFoundError(ENOENT, os.strerror(ENOENT))
        file = self.files.setdefault(path, SimulatedFile())
        if flags & os.O_TRUNC:
            file.resize(0)
        self._next_fd += 1
        self._open[self._next_fd] = file
        return self._next_fd

    def close(self, fd: int) -> None:
        del self._open[fd]

    def size(self, fd: int) -> int:
        return len(self._open[fd].live)

    def read(self, fd: int, size_bytes: int, offset_bytes: int) -> bytes:
        return bytes(self._open[fd].live[offset_bytes : offset_bytes + size_bytes])

    def write(self, fd: int, data: memoryview, offset_bytes: int) -> int:
        file = self._open[fd]
        end = offset_bytes + len(data)
        if end > len(file.live):
            file.resize(end)
        file.live[offset_bytes:end] = data
        file.dirty.update(range(offset_bytes // SECTOR_BYTES, (end - 1) // SECTOR_BYTES + 1))
        return len(data)

    def datasync(self, fd: int) -> None:
        file = self._open[fd]
        if self.cut_power_at_sync:
            raise PowerCut
        dirty = set(file.dirty)
        file.dirty.clear()
        if self.fail_next_sync:
            self.fail_next_sync = False
            raise OSError(EIO, os.strerror(EIO))
        file.flush(dirty, len(file.live))

    def truncate(self, fd: int, size_bytes: int) -> None:
        self._open[fd].resize(size_bytes)

    def exists(self, path: Path) -> bool:
        return path in self.files

    def is_at(self, path: Path, fd: int) -> bool:
        return path in self.files

    def replace(self, source: Path, target: Path) -> None:
        self.files[target] = self.files.pop(source)

    def sync_directory(self, path: Path) -> None:
        """Does nothing, because names are durable at once here; `test_file` counts the calls."""
