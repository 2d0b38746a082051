"""Reads and writes for those that may wait: one reader, one writer, no queue between them."""

import anyio

from trimpoint.streams.ends import Sink, Source


async def receive_some(source: Source, max_bytes: int) -> bytes:
    """Waits for bytes and returns them; empty at the end of the stream.

    :raises OSError: the stream is broken.
    """
    while True:
        try:
            return source.read(max_bytes)
        except BlockingIOError:
            await anyio.wait_readable(source.fileno())


async def send_all(sink: Sink, data: bytes) -> None:
    """Writes all of it, as fast as the reader takes it.

    :raises OSError: the reader is gone.
    """
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[sink.write(rest) :]
        except BlockingIOError:
            await anyio.wait_writable(sink.fileno())
