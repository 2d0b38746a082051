"""The connection to the editor: stdin and stdout."""

import asyncio
from collections.abc import Callable

from trimpoint.streams.ends import StreamEnd
from trimpoint.streams.reader import StreamReader
from trimpoint.streams.writer import StreamWriter

HIGH_WATER_BYTES, LOW_WATER_BYTES = 4 * 1024 * 1024, 1024 * 1024


class Stdio:
    """Reads and writes without blocking. The connection has ended when the editor closes one of the
    two streams.
    """

    def __init__(self, source: StreamEnd, sink: StreamEnd) -> None:
        self._source = source
        self._reader: StreamReader | None = None
        self._writer = StreamWriter(sink, on_end=lambda _: self.ended.set())
        self.ended = asyncio.Event()
        """Set when the editor has ended its input, or reads no more."""
        self.full = asyncio.Event()
        """Set while the editor does not keep up with what is sent."""

    def start(self, on_chunk: Callable[[bytes], None]) -> None:
        """Starts to read, and calls `on_chunk` with what the editor sends."""
        self._reader = StreamReader(self._source, on_chunk, lambda _: self.ended.set())
        self._reader.resume()

    def send(self, line: bytes) -> None:
        """Queues a line for the editor, in order."""
        self._writer.append(line)
        if self._writer.queued_bytes > HIGH_WATER_BYTES:
            self.full.set()

    async def room(self) -> None:
        """Waits until the editor has read most of the queued bytes."""
        await self._writer.room(LOW_WATER_BYTES)
        self.full.clear()

    def close(self) -> None:
        """Writes what the editor accepts without blocking, then stops reading and writing."""
        self._writer.flush()
        if self._reader is not None:
            self._reader.close()
        self._writer.close()
