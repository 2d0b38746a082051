"""Reads and writes byte streams in tasks that may wait, without a queue."""

import math

import anyio

from trimpoint.streams.ends import Sink, Source


async def receive_some(source: Source, max_bytes: int) -> bytes:
    """Waits until bytes are available and returns them; empty at the end of the stream.

    :raises OSError: when the stream is broken.
    """
    while True:
        try:
            return source.read(max_bytes)
        except BlockingIOError:
            await anyio.wait_readable(source.fileno())


async def send_all(sink: Sink, data: bytes, patience_s: float = math.inf) -> None:
    """Writes all of `data`, waiting for room as needed.

    :raises OSError: when the stream is broken; `TimeoutError` when there is no room for
        `patience_s`.
    """
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[sink.write(rest) :]
        except BlockingIOError:
            with anyio.fail_after(patience_s):
                await anyio.wait_writable(sink.fileno())
