"""A standard error stream that never blocks and never raises.

The program that started the daemon may not read the pipe, a terminal may hang up, a reader such as
`head` may have exited. A line of log must not stop a daemon because of that.
"""

import io
import os
from contextlib import suppress

from trimpoint.streams.ends import StreamEnd, dup_nonblocking

_MAX_WAITING_BYTES = 64 * 1024


class LogStream(io.TextIOBase):
    """A replacement for `sys.stderr`. If the pipe is full, whole lines are dropped."""

    def __init__(self, fd: int = 2) -> None:
        self._fd = fd
        self._line = ""
        self._rest = b""
        self._end: StreamEnd | None = None
        with suppress(OSError):
            self._end = dup_nonblocking(fd, os.O_WRONLY)

    def write(self, text: str, /) -> int:
        """Writes the complete lines of `text` as far as the pipe has room. The rest of a line that
        was written in part comes before any other line.
        """
        *lines, self._line = (self._line + text).split("\n")
        for line in lines:
            if len(self._rest) < _MAX_WAITING_BYTES:
                self._rest += f"{line}\n".encode("utf-8", "replace")
            self.flush()
        return len(text)

    def flush(self) -> None:
        """Writes as much of the remaining bytes as the pipe takes."""
        while self._rest and self._end is not None:
            try:
                written = self._end.write(self._rest)
            except BlockingIOError:
                return
            except OSError:
                self._end = None
                return
            self._rest = self._rest[written:]

    def isatty(self) -> bool:
        """Returns whether the file descriptor is a terminal."""
        return os.isatty(self._fd)

    def writable(self) -> bool:
        """Returns True."""
        return True

    def fileno(self) -> int:
        """Returns the file descriptor that the stream writes to."""
        return self._fd
