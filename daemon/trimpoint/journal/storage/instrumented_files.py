"""File operations that count: how often and how long the disk was waited for, and what was
written.
"""

import time
from threading import Lock

from trimpoint.journal.storage.file_ops import SystemFiles


class InstrumentedFiles(SystemFiles):
    """Counts since it was made. Used from many threads; the figures are read without waiting for
    any of them.
    """

    def __init__(self) -> None:
        self.syncs = 0
        self.sync_s = 0.0
        """Seconds that threads waited for syncs, all together."""
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
