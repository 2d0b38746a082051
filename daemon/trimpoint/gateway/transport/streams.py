"""Non-blocking byte streams: sockets, pipes, terminals and files."""

import fcntl
import os
import select
import socket
import stat
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from trimpoint.gateway.transport.outbox import Sink


class StreamEnd(Sink, Protocol):
    """One half of a byte stream, or both halves of a socket. Non-blocking."""

    def read(self, max_bytes: int) -> bytes:
        """Returns the bytes that are available; empty at the end of the stream.

        :raises BlockingIOError: when nothing is there yet.
        :raises OSError: when the stream is broken.
        """
        ...

    def finish(self) -> None:
        """Send no more, so that the peer reads to an end; it may still be read from."""
        ...

    def close(self) -> None:
        """Give the descriptor back. May be called again."""
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
        """Does nothing: a pipe ends when it is closed."""

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1


def dup_nonblocking(fd: int, access: int) -> StreamEnd:
    """An end of our own of a stream that `fd` stands for; `access` is O_RDONLY or O_WRONLY. `fd`
    stays.
    """
    mode = os.fstat(fd).st_mode
    if stat.S_ISSOCK(mode):
        return SocketEnd(socket.socket(fileno=_private_fd(fd)))
    if stat.S_ISREG(mode):
        # It never blocks, and opened anew it would begin at its start.
        return DescriptorEnd(_private_fd(fd))
    return DescriptorEnd(_non_blocking_fd(fd, access))


def _private_fd(fd: int) -> int:
    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3)


def _non_blocking_fd(fd: int, access: int) -> int:
    """Opened anew, because its blocking mode is shared with all who hold it: a terminal's with the
    shell.
    """
    try:
        return os.open(f"/proc/self/fd/{fd}", access | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        private_fd = _private_fd(fd)
        os.set_blocking(private_fd, False)
        return private_fd


@dataclass(frozen=True, slots=True)
class Transport:
    """A byte stream to one client, `peer` to people, at work in `folder` if that is known.

    A socket is `source` and `sink` in one. `received` was read from it already.
    """

    source: StreamEnd
    sink: StreamEnd
    peer: str
    folder: str | None = None
    received: bytes = b""

    @property
    def is_peer_gone(self) -> bool:
        """Returns whether the client has stopped reading; one that only shut its writing side has
        not.
        """
        poll = select.poll()
        poll.register(self.sink.fileno(), 0)
        return any(flags & (select.POLLHUP | select.POLLERR) for _, flags in poll.poll(0))

    def close(self) -> None:
        self.source.close()
        self.sink.close()
