"""Makes records durable that were appended without waiting, and retries after the disk refused.

A disk that refuses costs little: the pauses grow, a thread is read again only once its records have
room (`journal/storage/file_storage.py`), and listeners are told, so that people are.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import NamedTuple

import anyio
import structlog
from anyio.abc import TaskGroup

from trimpoint.background import spawn
from trimpoint.threads.errors import JournalRefuses
from trimpoint.threads.writing.writer import ThreadWriter

log = structlog.get_logger()

# The pauses before the disk is tried again; the last one repeats.
RETRY_PAUSES_S = (1.0, 2.0, 5.0, 10.0)
# A disk that has not answered for so long counts as one that hangs.
SLOW_S = 5.0
SLOW = "the disk does not answer"
# Of one thread. It is far more than a turn has, and far less than a machine.
MOST_UNWRITTEN_BYTES = 32 * 1024 * 1024


class Trouble(NamedTuple):
    """What keeps a thread's records from being durable. With `is_too_much`, more of them are in
    memory than should be.
    """

    detail: str
    is_too_much: bool


OnTrouble = Callable[[str, Trouble | None], None]
"""Receives a thread's id and its trouble each time the disk has refused or does not answer, and
None once all is durable again.
"""


class Flusher:
    """Flushes writers in the background. `is_current` says whether a writer still serves its
    thread; failures of other writers are ignored.
    """

    def __init__(self, is_current: Callable[[ThreadWriter], bool], tasks: TaskGroup) -> None:
        self.on_trouble: list[OnTrouble] = []
        self._is_current = is_current
        self._dirty: dict[ThreadWriter, None] = {}
        self._pausing: set[ThreadWriter] = set()
        self._refusals: dict[ThreadWriter, int] = {}
        self._flushing: set[ThreadWriter] = set()
        self._hanging: set[ThreadWriter] = set()
        self._waiting: dict[ThreadWriter, set[anyio.Event]] = {}
        self._wake = anyio.Event()
        self._tasks = tasks

    def mark(self, writer: ThreadWriter) -> None:
        """Marks a writer whose records are not durable yet."""
        if writer in self._hanging and writer.unwritten_bytes > MOST_UNWRITTEN_BYTES:
            self._report(writer, SLOW)
        if writer not in self._pausing:
            self._dirty[writer] = None
            self._wake.set()

    def hangs(self, writer: ThreadWriter | None = None) -> bool:
        """Returns whether the disk does not answer to a thread, or to any."""
        return bool(self._hanging) if writer is None else writer in self._hanging

    @contextmanager
    def told_if_it_hangs(self, writer: ThreadWriter, event: anyio.Event) -> Generator[None]:
        """Sets `event` when the disk does not answer to a thread."""
        waiting = self._waiting.setdefault(writer, set())
        waiting.add(event)
        try:
            yield
        finally:
            waiting.discard(event)
            if not waiting:
                self._waiting.pop(writer, None)

    async def run(self) -> None:
        """Flushes marked writers until it is cancelled."""
        while True:
            await self._wake.wait()
            self._wake = anyio.Event()
            self._flush_dirty()

    def _flush_dirty(self) -> None:
        """Flushes all marked writers, each in a task of its own, so that no thread waits for the
        journal of another. This is a method of its own so that no local variable of `run` holds the
        last writers while it waits, which would keep them in memory.
        """
        for writer in [one for one in self._dirty if one not in self._flushing]:
            del self._dirty[writer]
            self._flushing.add(writer)
            spawn(self._tasks, self._flush, writer)

    async def _flush(self, writer: ThreadWriter) -> None:
        slow = asyncio.get_running_loop().call_later(SLOW_S, self._hangs, writer)
        try:
            await writer.flush()
        except JournalRefuses as error:
            self._dirty.pop(writer, None)
            if writer.read_only is None and self._is_current(writer):
                self._pausing.add(writer)
                spawn(self._tasks, self._flush_later, writer, self._pause_s(writer))
                self._report(writer, error.detail)
            else:
                self._refusals.pop(writer, None)
        else:
            if writer in self._refusals or writer in self._hanging:
                self._refusals.pop(writer, None)
                self._call(writer, None)
        finally:
            slow.cancel()
            self._hanging.discard(writer)
            self._flushing.discard(writer)
            if writer in self._dirty:
                self._wake.set()

    def _pause_s(self, writer: ThreadWriter) -> float:
        refusals = self._refusals.get(writer, 0)
        self._refusals[writer] = refusals + 1
        return RETRY_PAUSES_S[min(refusals, len(RETRY_PAUSES_S) - 1)]

    async def _flush_later(self, writer: ThreadWriter, pause_s: float) -> None:
        """Marks the writer again after a delay, in a task of its own, so that the journals of other
        threads are not delayed.
        """
        await anyio.sleep(pause_s)
        self._pausing.discard(writer)
        self.mark(writer)

    def _hangs(self, writer: ThreadWriter) -> None:
        self._hanging.add(writer)
        for event in self._waiting.get(writer, ()):
            event.set()
        self._report(writer, SLOW)

    def _report(self, writer: ThreadWriter, detail: str) -> None:
        self._call(writer, Trouble(detail, writer.unwritten_bytes > MOST_UNWRITTEN_BYTES))

    def _call(self, writer: ThreadWriter, trouble: Trouble | None) -> None:
        for listener in list(self.on_trouble):
            try:
                listener(writer.thread_id, trouble)
            except Exception:
                # The boundary of a listener: its defect must not keep the disk from being tried.
                log.exception("listener_broke", thread_id=writer.thread_id)
