"""The editor's end: stdin and stdout, moved aside so that a stray print tears no line."""

import asyncio
import os
import socket
import stat
import sys
from collections.abc import Callable

READ_BYTES = 256 * 1024
HIGH_WATER_BYTES, LOW_WATER_BYTES = 4 * 1024 * 1024, 1024 * 1024


class Stdio:
    """Reads and writes without blocking. The editor is gone when it closes one of the two."""

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self._read_fd = read_fd
        self._write_fd = write_fd
        self._loop = asyncio.get_running_loop()
        self._unsent = bytearray()
        self.ended = asyncio.Event()
        """Set when the editor has ended its input, or reads no more."""
        self.full = asyncio.Event()
        """Set while the editor does not keep up with what is sent."""
        self.room = asyncio.Event()
        """The opposite of `full`."""
        self.room.set()

    def start(self, take: Callable[[bytes], None]) -> None:
        """Have `take` called with what the editor sends."""
        try:
            self._loop.add_reader(self._read_fd, self._read, take)
        except PermissionError:  # a file: there is nothing to wait for
            self._loop.call_soon(self._read_file, take)

    def send(self, line: bytes) -> None:
        """Send a line, in order."""
        if not self._unsent:
            line = line[self._write(line) :]
            if not line:
                return
            self._loop.add_writer(self._write_fd, self._write_rest)
        self._unsent += line
        if len(self._unsent) > HIGH_WATER_BYTES:
            self._set_full(True)

    def close(self) -> None:
        """Read and write no more."""
        self._loop.remove_reader(self._read_fd)
        self._loop.remove_writer(self._write_fd)

    def _read(self, take: Callable[[bytes], None]) -> None:
        try:
            data = os.read(self._read_fd, READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            take(data)
            return
        self._loop.remove_reader(self._read_fd)
        self.ended.set()

    def _read_file(self, take: Callable[[bytes], None]) -> None:
        while data := os.read(self._read_fd, READ_BYTES):
            take(data)
        self.ended.set()

    def _set_full(self, is_full: bool) -> None:
        (self.full.set if is_full else self.full.clear)()
        (self.room.clear if is_full else self.room.set)()

    def _write(self, data: bytes | bytearray) -> int:
        try:
            return os.write(self._write_fd, data)
        except BlockingIOError:
            return 0
        except OSError:  # nobody reads what we say: the same as the end of the input
            self.ended.set()
            return len(data)

    def _write_rest(self) -> None:
        del self._unsent[: self._write(self._unsent)]
        if len(self._unsent) <= LOW_WATER_BYTES:
            self._set_full(False)
        if not self._unsent:
            self._loop.remove_writer(self._write_fd)


def take_stdio() -> tuple[int, int]:
    """Moves stdin and stdout aside and returns them; /dev/null and stderr are in their places."""
    fds = _private(0, os.O_RDONLY), _private(1, os.O_WRONLY)
    null_fd = os.open(os.devnull, os.O_RDWR)
    os.dup2(null_fd, 0)
    os.dup2(null_fd if sys.__stderr__ is None else 2, 1)
    os.close(null_fd)
    return fds


def _private(fd: int, access: int) -> int:
    """Returns an end of our own that does not block. What others hold of a terminal or a pipe stays
    as it is.
    """
    kind = os.fstat(fd).st_mode
    if stat.S_ISSOCK(kind):
        own = socket.socket(fileno=os.dup(fd))
        own.setblocking(False)
        return own.detach()
    if not stat.S_ISREG(kind):
        try:
            return os.open(
                f"/proc/self/fd/{fd}", access | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
            )
        except OSError:
            pass
    own_fd = os.dup(fd)
    os.set_blocking(own_fd, stat.S_ISREG(kind))
    return own_fd
