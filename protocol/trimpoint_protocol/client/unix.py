"""A connection to a Unix socket whose operations can be cancelled at any time."""

import os
from types import TracebackType
from typing import Self

import anyio
from anyio.abc import SocketAttribute, UNIXSocketStream
from anyio.lowlevel import checkpoint

RECEIVE_BYTES = 65536


class UnixStream:
    """anyio's stream with another way to wait.

    anyio waits on a future that the event loop completes even after the wait was cancelled. asyncio
    then reports an invalid state, and anyio's pytest plugin fails the test.
    """

    def __init__(self, stream: UNIXSocketStream) -> None:
        self._stream = stream
        self._socket = stream.extra(SocketAttribute.raw_socket)
        self._is_closed = False

    async def receive(self, max_bytes: int = RECEIVE_BYTES) -> bytes:
        """Returns the next bytes.

        :raises anyio.EndOfStream: when the peer has closed the connection.
        :raises anyio.BrokenResourceError: when the connection is broken.
        :raises anyio.ClosedResourceError: when this end was closed.
        """
        await checkpoint()
        while True:
            try:
                data = self._socket.recv(max_bytes)
            except BlockingIOError:
                await anyio.wait_readable(self._socket)
            except OSError as error:
                raise self._reason() from error
            else:
                if data:
                    return data
                raise anyio.EndOfStream

    async def send(self, item: bytes) -> None:
        """Sends all of the bytes.

        :raises anyio.BrokenResourceError: when the connection is broken.
        :raises anyio.ClosedResourceError: when this end was closed.
        """
        await checkpoint()
        rest = memoryview(item)
        while rest:
            try:
                rest = rest[self._socket.send(rest) :]
            except BlockingIOError:
                await anyio.wait_writable(self._socket)
            except OSError as error:
                raise self._reason() from error

    async def send_eof(self) -> None:
        """Closes the sending direction; the peer can still send."""
        await self._stream.send_eof()

    async def aclose(self) -> None:
        """Closes the connection. A task that waits on it gets an `anyio.ClosedResourceError`."""
        if not self._is_closed:
            self._is_closed = True
            anyio.notify_closing(self._socket)
        await self._stream.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    def _reason(self) -> Exception:
        return anyio.ClosedResourceError() if self._is_closed else anyio.BrokenResourceError()


async def connect_unix(path: str | os.PathLike[str]) -> UnixStream:
    """Connects to the socket at `path`.

    :raises OSError: when no program listens there; the error contains the path.
    """
    try:
        return UnixStream(await anyio.connect_unix(path))
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None
