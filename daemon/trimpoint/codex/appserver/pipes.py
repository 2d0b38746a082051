"""Our ends of a child's pipes, non-blocking, on the running asyncio loop.

Raw descriptors instead of asyncio's pipe transports: reading is as fast (measured: 1.9 million
252-byte lines a second split and decoded, either way), and it starts only when asked, survives a
child that is gone, and closes on the spot.
"""

import asyncio
import contextlib
import fcntl
import os
import sys
import termios
from collections.abc import Callable
from typing import IO

import anyio

READ_CHUNK_BYTES = 256 * 1024
# The most that an unprivileged process may ask for by default (/proc/sys/fs/pipe-max-size).
_PIPE_BYTES = 1024 * 1024


def widen(pipe: IO[bytes]) -> None:
    """Ask for a large kernel buffer: fewer wake-ups on a burst. Refusal costs speed only."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)


class PipeReader:
    """Hands over what arrives, in chunks of at most 256 KiB, on the loop's own thread."""

    def __init__(
        self, pipe: IO[bytes], on_chunk: Callable[[bytes], None], on_eof: Callable[[], None]
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._pipe = pipe
        self._on_chunk = on_chunk
        self._on_eof = on_eof
        self._is_paused = False
        os.set_blocking(pipe.fileno(), False)
        widen(pipe)

    @property
    def is_closed(self) -> bool:
        """Returns whether its end was read, or it was closed by us."""
        return self._pipe.closed

    def start(self) -> None:
        """Begin to read. Until then the kernel's buffer fills and blocks the writer."""
        self._loop.add_reader(self._pipe.fileno(), self._read)

    def pause(self) -> None:
        """Stop reading for now: the kernel's buffer fills and blocks the writer."""
        if not self._pipe.closed and not self._is_paused:
            self._is_paused = True
            self._loop.remove_reader(self._pipe.fileno())

    def resume(self) -> None:
        """Continue after `pause`."""
        if not self._pipe.closed and self._is_paused:
            self._is_paused = False
            self.start()

    def drain(self) -> None:
        """Hand over what the kernel holds now. Who still writes is not waited for."""
        if self._pipe.closed:
            return
        held = fcntl.ioctl(self._pipe, termios.FIONREAD, bytes(4))
        for _ in range(0, int.from_bytes(held, sys.byteorder), READ_CHUNK_BYTES):
            if not self._pipe.closed:
                self._read()

    def close(self) -> None:
        """Stop reading. What the kernel still holds is lost."""
        if not self._pipe.closed:
            self._loop.remove_reader(self._pipe.fileno())
            self._pipe.close()

    def _read(self) -> None:
        try:
            data = os.read(self._pipe.fileno(), READ_CHUNK_BYTES)
        except BlockingIOError:
            return
        if data:
            self._on_chunk(data)
        else:
            self.close()
            self._on_eof()


class PipeWriter:
    """Writes in call order and never waits: what the pipe does not take now is kept and sent when
    it does.
    """

    def __init__(
        self, pipe: IO[bytes], on_broken: Callable[[], None], *, room_below_bytes: int
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._pipe = pipe
        self._on_broken = on_broken
        self._room_below_bytes = room_below_bytes
        self._unsent = bytearray()
        self._finishing = False
        self._room = anyio.Event()
        os.set_blocking(pipe.fileno(), False)
        widen(pipe)

    @property
    def is_open(self) -> bool:
        """Returns whether `write` still has an effect."""
        return not (self._finishing or self._pipe.closed)

    @property
    def unsent_bytes(self) -> int:
        """Returns how many bytes were accepted and not yet written."""
        return len(self._unsent)

    def write(self, data: bytes) -> None:
        """Send, or keep for later. Dropped once the pipe is finished, closed or broken."""
        if not self.is_open:
            return
        if self._unsent:
            self._unsent += data
            return
        sent = self._send(data)
        if sent < len(data) and not self._pipe.closed:
            self._unsent += memoryview(data)[sent:]
            self._loop.add_writer(self._pipe.fileno(), self._flush)

    async def room(self) -> None:
        """Wait until less than `room_below_bytes` is unsent, or nothing will be sent any more."""
        while self.is_open and len(self._unsent) >= self._room_below_bytes:
            await self._room.wait()

    def finish(self) -> None:
        """Close as soon as what was accepted is sent."""
        self._finishing = True
        if not self._unsent:
            self.close()

    def close(self) -> None:
        """Close now; what is unsent is lost."""
        if not self._pipe.closed:
            self._loop.remove_writer(self._pipe.fileno())
            self._pipe.close()
        self._unsent.clear()
        self._wake()

    def _send(self, data: bytes | bytearray) -> int:
        try:
            return os.write(self._pipe.fileno(), data)
        except BlockingIOError:
            return 0
        except OSError:
            # EPIPE: nobody reads. The owner hears of it in a turn of its own, never inside a
            # caller's write.
            self.close()
            self._loop.call_soon(self._on_broken)
            return 0

    def _flush(self) -> None:
        del self._unsent[: self._send(self._unsent)]
        if self._pipe.closed:
            return
        if len(self._unsent) < self._room_below_bytes:
            self._wake()
        if not self._unsent:
            self._loop.remove_writer(self._pipe.fileno())
            if self._finishing:
                self.close()

    def _wake(self) -> None:
        self._room.set()
        self._room = anyio.Event()
