"""The two ends of byte streams, each non-blocking."""

import fcntl
import os
import socket
import stat
import sys
from contextlib import suppress
from typing import IO, Protocol

# The most that an unprivileged process may ask for by default (/proc/sys/fs/pipe-max-size).
_PIPE_BYTES = 1024 * 1024


class Source(Protocol):
    """The non-blocking readable half of a byte stream."""

    def fileno(self) -> int:
        """Returns the descriptor to watch; negative once it is closed."""
        ...

    def read(self, max_bytes: int) -> bytes:
        """Returns the bytes that are available; empty at the end of the stream.

        :raises BlockingIOError: there are none yet.
        :raises OSError: the stream is broken.
        """
        ...


class Sink(Protocol):
    """The non-blocking writable half of a byte stream."""

    def fileno(self) -> int:
        """Returns the descriptor to watch for room."""
        ...

    def write(self, data: bytes | memoryview) -> int:
        """Writes as much as there is room for; returns the number of bytes.

        :raises BlockingIOError: there is no room.
        :raises OSError: there never will be again.
        """
        ...

    def finish(self) -> None:
        """Writes no more, so that the reader comes to an end."""
        ...


class StreamEnd(Source, Sink, Protocol):
    """One half of a byte stream, or both halves of a socket."""

    def close(self) -> None:
        """Closes the descriptor. May be called again."""
        ...


class SocketEnd:
    """A connected stream socket. Other holders of the socket keep their own blocking mode."""

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
    """A pipe, terminal or file whose descriptor does not block."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def fileno(self) -> int:
        return self._fd

    def read(self, max_bytes: int) -> bytes:
        return os.read(self._fd, max_bytes)

    def write(self, data: bytes | memoryview) -> int:
        return os.write(self._fd, data)

    def finish(self) -> None:
        """Does nothing: what it stands for ends when it is closed."""

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1


class PipeEnd(DescriptorEnd):
    """Our end of a child's pipe, with a large kernel buffer: fewer wake-ups on a burst."""

    def __init__(self, pipe: IO[bytes]) -> None:
        """Takes the descriptor over from `pipe`, which is closed."""
        super().__init__(_private_fd(pipe.fileno()))
        pipe.close()
        os.set_blocking(self._fd, False)
        if sys.platform == "linux":
            with suppress(OSError):  # a refusal costs speed only
                fcntl.fcntl(self._fd, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)

    def finish(self) -> None:
        self.close()


def dup_nonblocking(fd: int, access: int) -> StreamEnd:
    """Returns an end of our own of the stream behind `fd`, which stays as it is.

    :param access: O_RDONLY or O_WRONLY
    """
    mode = os.fstat(fd).st_mode
    if stat.S_ISSOCK(mode):
        return SocketEnd(socket.socket(fileno=_private_fd(fd)))
    if stat.S_ISREG(mode):
        # It never blocks, and opened anew it would begin at its start.
        return DescriptorEnd(_private_fd(fd))
    return DescriptorEnd(_nonblocking_fd(fd, access))


def take_standard_streams() -> tuple[StreamEnd, StreamEnd]:
    """Moves stdin and stdout aside and returns them; /dev/null and stderr are in their places.

    A stray print, or a child that inherits them, can then neither tear a message nor take a byte of
    one. It is for good, because text may sit in `sys.stdout` until the interpreter ends.
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
    """Opens it anew, because its blocking mode is shared with all who hold it: a terminal's with
    the shell.
    """
    try:
        return os.open(f"/proc/self/fd/{fd}", access | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        private_fd = _private_fd(fd)
        os.set_blocking(private_fd, False)
        return private_fd
