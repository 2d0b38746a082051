"""Hands over what arrives on a descriptor, on the loop's own thread.

Descriptors and callbacks instead of asyncio's transports: reading is as fast (measured: 1.9 million
252-byte lines a second split and decoded, either way), it begins only when asked, continues when
the writer is gone, and ends at once.
"""

import asyncio
import fcntl
import sys
import termios
from collections.abc import Callable

from trimpoint.streams.ends import Source

READ_CHUNK_BYTES = 256 * 1024


class StreamReader:
    """Reads a source while it is not paused, at most 256 KiB in each turn of the loop. Paused at
    first.

    `on_end` is called once, after the last chunk: with None at the end of the stream, with the
    error if it is broken. The source is the caller's to close, after `close`.
    """

    def __init__(
        self,
        source: Source,
        on_chunk: Callable[[bytes], None],
        on_end: Callable[[OSError | None], None],
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._source = source
        self._fd = source.fileno()
        self._on_chunk = on_chunk
        self._on_end = on_end
        self._is_on = False
        self._is_ended = False
        self._next_turn: asyncio.Handle | None = None

    @property
    def is_ended(self) -> bool:
        """Returns whether the end was read, or `close` was called."""
        return self._is_ended

    def resume(self) -> None:
        """Begins to read, or continues after `pause`."""
        if self._is_on or self._is_ended:
            return
        self._is_on = True
        try:
            self._loop.add_reader(self._fd, self._read)
        except PermissionError:
            # epoll takes no regular files and no /dev/null: those can always be read.
            self._next_turn = self._loop.call_soon(self._read_in_turn)

    def pause(self) -> None:
        """Reads no more for now: the kernel's buffer fills and blocks the writer."""
        if not self._is_on:
            return
        self._is_on = False
        if self._next_turn is None:
            self._loop.remove_reader(self._fd)
        else:
            self._next_turn.cancel()
            self._next_turn = None

    def drain(self) -> None:
        """Hands over what the kernel holds of a pipe now, without waiting for more."""
        if self._is_ended:
            return
        held = fcntl.ioctl(self._fd, termios.FIONREAD, bytes(4))
        for _ in range(0, int.from_bytes(held, sys.byteorder), READ_CHUNK_BYTES):
            if not self._is_ended:
                self._read()

    def close(self) -> None:
        """Reads no more. Bytes in the kernel are lost; `on_end` is not called."""
        self.pause()
        self._is_ended = True

    def _read_in_turn(self) -> None:
        self._next_turn = self._loop.call_soon(self._read_in_turn)
        self._read()

    def _read(self) -> None:
        error: OSError | None = None
        try:
            data = self._source.read(READ_CHUNK_BYTES)
        except BlockingIOError:
            return
        except OSError as broken:
            data, error = b"", broken
        if data:
            self._on_chunk(data)
        else:
            self.close()
            self._on_end(error)
