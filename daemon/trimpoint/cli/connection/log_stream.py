"""Standard error that cannot harm the daemon: never blocks, never fails.

A shell that spawns us may not read it, a terminal may hang up, `head` may have seen enough. Each
would otherwise stop or end a daemon that others are using, for the sake of a line of log.
"""

import io
import os
from contextlib import suppress

from trimpoint.streams.ends import StreamEnd, dup_nonblocking

_MAX_WAITING_BYTES = 64 * 1024


class LogStream(io.TextIOBase):
    """Put it in the place of `sys.stderr`. What does not fit into a full pipe is dropped, in whole
    lines.
    """

    def __init__(self, fd: int = 2) -> None:
        self._fd = fd
        self._line = ""
        self._rest = b""
        self._end: StreamEnd | None = None
        with suppress(OSError):
            self._end = dup_nonblocking(fd, os.O_WRONLY)

    def write(self, text: str, /) -> int:
        """Write what fits, when its line is complete. What was begun of one line is finished before
        another.
        """
        *lines, self._line = (self._line + text).split("\n")
        for line in lines:
            if len(self._rest) < _MAX_WAITING_BYTES:
                self._rest += f"{line}\n".encode("utf-8", "replace")
            self.flush()
        return len(text)

    def flush(self) -> None:
        """Try again to write what is left."""
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
        """Returns whether the stream is a terminal."""
        return os.isatty(self._fd)

    def writable(self) -> bool:
        """Yes."""
        return True

    def fileno(self) -> int:
        """Returns the descriptor that it stands for."""
        return self._fd
