"""The ends of byte streams; all are non-blocking."""

import fcntl
import os
import socket
import stat
import sys
from contextlib import suppress
from typing import IO, Protocol

from trimpoint.system import SYSTEM


class Source(Protocol):
    """The readable end of a byte stream."""

    def fileno(self) -> int:
        """Returns the file descriptor to watch for bytes; negative after it was closed."""
        ...

    def read(self, max_bytes: int) -> bytes:
        """Returns available bytes, at most `max_bytes`; empty at the end of the stream.

        :raises BlockingIOError: when no bytes are available yet.
        :raises OSError: when the stream is broken.
        """
        ...


class Sink(Protocol):
    """The writable end of a byte stream."""

    def fileno(self) -> int:
        """Returns the file descriptor to watch for room."""
        ...

    def write(self, data: bytes | memoryview) -> int:
        """Writes as many bytes of `data` as there is room for, and returns their number.

        :raises BlockingIOError: when there is no room.
        :raises OSError: when the stream is broken.
        """
        ...

    def finish(self) -> None:
        """Ends writing, so that the peer reads the end of the stream."""
        ...


class StreamEnd(Source, Sink, Protocol):
    """One end of a byte stream, or both ends of a socket, which can be closed."""

    def close(self) -> None:
        """Closes the file descriptor. Idempotent."""
        ...


class SocketEnd:
    """A connected stream socket. The blocking mode of the socket is not changed for its other
    users.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock

    def fileno(self) -> int:
        return self._socket.fileno()

    def read(self, max_bytes: int) -> bytes:
        return self._socket.recv(max_bytes, socket.MSG_DONTWAIT)

    def write(self, data: bytes | memoryview) -> int:
        return self._socket.send(data, socket.MSG_DONTWAIT)

    def finish(self) -> None:
        with suppress(OSError):  # the peer is gone
            self._socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        self._socket.close()


class DescriptorEnd:
    """A pipe, terminal or file with a non-blocking file descriptor."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def fileno(self) -> int:
        return self._fd

    def read(self, max_bytes: int) -> bytes:
        return os.read(self._fd, max_bytes)

    def write(self, data: bytes | memoryview) -> int:
        return os.write(self._fd, data)

    def finish(self) -> None:
        """Does nothing: the stream ends when the descriptor is closed."""

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1


class PipeEnd(DescriptorEnd):
    """The daemon's end of a child's pipe. Its kernel buffer is enlarged, so that a burst of output
    causes fewer wake-ups.
    """

    def __init__(self, pipe: IO[bytes]) -> None:
        """Takes over the descriptor of `pipe` and closes `pipe`."""
        super().__init__(_private_fd(pipe.fileno()))
        pipe.close()
        os.set_blocking(self._fd, False)
        SYSTEM.widen_pipe(self._fd)

    def finish(self) -> None:
        self.close()


def dup_nonblocking(fd: int, access: int) -> StreamEnd:
    """Returns a non-blocking end of the stream behind `fd`; `fd` itself and its blocking mode do
    not change.

    :param access: `O_RDONLY` or `O_WRONLY`
    """
    mode = os.fstat(fd).st_mode
    if stat.S_ISSOCK(mode):
        return SocketEnd(socket.socket(fileno=_private_fd(fd)))
    if stat.S_ISREG(mode):
        # A regular file never blocks, and opening it again would start at its beginning.
        return DescriptorEnd(_private_fd(fd))
    return DescriptorEnd(_nonblocking_fd(fd, access))


def is_always_readable(fd: int) -> bool:
    """Returns whether a descriptor leads to a file or to a device such as /dev/null. epoll does not
    take them, and kqueue never tells their end.
    """
    mode = os.fstat(fd).st_mode
    return stat.S_ISREG(mode) or (stat.S_ISCHR(mode) and not os.isatty(fd))


def take_standard_streams() -> tuple[StreamEnd, StreamEnd]:
    """Moves stdin and stdout to new descriptors and returns them. /dev/null takes the place of
    stdin, and stderr that of stdout.

    A stray print, or a child process that inherits them, can then not corrupt a message. They are
    not moved back, because text may be buffered in `sys.stdout` until the interpreter ends.
    """
    null_fd = os.open(os.devnull, os.O_RDWR)
    ends = dup_nonblocking(0, os.O_RDONLY), dup_nonblocking(1, os.O_WRONLY)
    os.dup2(null_fd, 0)
    os.dup2(null_fd if sys.__stderr__ is None else 2, 1)
    if null_fd > 2:
        os.close(null_fd)
    return ends


def _private_fd(fd: int) -> int:
    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3)


def _nonblocking_fd(fd: int, access: int) -> int:
    """Returns a non-blocking descriptor for the same file. The file is opened again, because the
    blocking mode is shared with all processes that have it open, such as the shell of a terminal.
    """
    again = SYSTEM.open_again(fd, access | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    if again is not None:
        return again
    private_fd = _private_fd(fd)
    os.set_blocking(private_fd, False)
    return private_fd
