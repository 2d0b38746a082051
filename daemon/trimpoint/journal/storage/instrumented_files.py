"""File operations that count syncs, the time spent in them, and the bytes written."""

import time
from threading import Lock

from trimpoint.journal.storage.file_ops import SystemFiles


class InstrumentedFiles(SystemFiles):
    """Counts file operations since its creation. Many threads use it; the counts can be read
    without a lock.
    """

    def __init__(self) -> None:
        self.syncs = 0
        self.sync_s = 0.0
        """The seconds that all threads together waited for syncs."""
        self.written_bytes = 0
        self._lock = Lock()

    def write(self, fd: int, data: memoryview, offset_bytes: int) -> int:
        written = super().write(fd, data, offset_bytes)
        with self._lock:
            self.written_bytes += written
        return written

    def datasync(self, fd: int) -> None:
        began = time.perf_counter()
        try:
            super().datasync(fd)
        finally:
            with self._lock:
                self.syncs += 1
                self.sync_s += time.perf_counter() - began
