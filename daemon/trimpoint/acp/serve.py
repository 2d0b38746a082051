"""Serves an editor on stdin and stdout."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress

from trimpoint_protocol.locations import codex_home_to_ask_for

from trimpoint.acp.agent import Agent
from trimpoint.acp.connection.daemon import DaemonLink, FindDaemon
from trimpoint.streams.ends import StreamEnd, take_standard_streams
from trimpoint.streams.reader import StreamReader
from trimpoint.streams.writer import StreamWriter

# At the end of the editor this process ends within a second.
ANSWER_DEADLINE_S, CLOSE_DEADLINE_S = 0.3, 0.6
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


async def serve(find: FindDaemon, version: str) -> None:
    """Serves the editor until it closes its output, stops reading, or a signal requests the end."""
    stdio = Stdio(*take_standard_streams())
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, stdio.ended.set)
    link = DaemonLink(find, version, codex_home_to_ask_for(os.environ))
    agent = Agent(link, stdio.send, dict(os.environ), version)
    stdio.start(agent.take)
    pacing = loop.create_task(_keep_pace(stdio, link))
    await stdio.ended.wait()
    pacing.cancel()
    with suppress(TimeoutError):
        async with asyncio.timeout(ANSWER_DEADLINE_S):
            await agent.settled()
    with suppress(TimeoutError):
        async with asyncio.timeout(CLOSE_DEADLINE_S):
            await agent.close()
    link.close()
    stdio.close()
    sys.stderr.flush()


async def _keep_pace(stdio: Stdio, link: DaemonLink) -> None:
    """Stops reading from the daemon while the editor does not read."""
    while True:
        await stdio.full.wait()
        link.pause()
        await stdio.room()
        link.resume()
