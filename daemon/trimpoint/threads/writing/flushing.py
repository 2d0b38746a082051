"""Makes records durable that were appended without waiting, and retries after the disk refused."""

from __future__ import annotations

from collections.abc import Callable

import anyio
from anyio.abc import TaskGroup

from trimpoint.background import spawn
from trimpoint.threads.errors import JournalRefuses
from trimpoint.threads.writing.writer import ThreadWriter

RETRY_BACKLOG_S = 1.0


class Flusher:
    """Flushes writers in the background. `is_current` says whether a writer still serves its
    thread; failures of other writers are ignored.
    """

    def __init__(self, is_current: Callable[[ThreadWriter], bool], tasks: TaskGroup) -> None:
        self._is_current = is_current
        self._dirty: dict[ThreadWriter, None] = {}
        self._pausing: set[ThreadWriter] = set()
        self._wake = anyio.Event()
        self._tasks = tasks

    def mark(self, writer: ThreadWriter) -> None:
        """Marks a writer whose records are not durable yet."""
        if writer not in self._pausing:
            self._dirty[writer] = None
            self._wake.set()

    async def run(self) -> None:
        """Flushes marked writers until it is cancelled."""
        while True:
            await self._wake.wait()
            self._wake = anyio.Event()
            await self._flush_dirty()

    async def _flush_dirty(self) -> None:
        """Flushes all marked writers. This is a method of its own so that no local variable of
        `run` holds the last writers while it waits, which would keep them in memory.
        """
        dirty, self._dirty = list(self._dirty), {}
        for writer in dirty:
            await self._flush(writer)

    async def _flush(self, writer: ThreadWriter) -> None:
        try:
            await writer.flush()
        except JournalRefuses:
            self._dirty.pop(writer, None)
            if writer.read_only is None and self._is_current(writer):
                self._pausing.add(writer)
                spawn(self._tasks, self._flush_later, writer)

    async def _flush_later(self, writer: ThreadWriter) -> None:
        """Marks the writer again after a delay, in a task of its own, so that the journals of other
        threads are not delayed.
        """
        await anyio.sleep(RETRY_BACKLOG_S)
        self._pausing.discard(writer)
        self.mark(writer)
