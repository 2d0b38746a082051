"""Finds threads in memory that are not used, and unloads them.

A thread is idle if it has nothing under way, all its records are durable, and no predicate of
`in_use` returns true for it.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable

from trimpoint.config.sections import ThreadsSection
from trimpoint.journal.port import Journal
from trimpoint.threads.catalogue import is_unfinished
from trimpoint.threads.writing.writer import ThreadWriter

InUse = Callable[[str], bool]


class IdleThreads:
    """Chooses the threads that must be unloaded or get a snapshot. `in_use` are predicates of the
    layers above that take a thread id.
    """

    def __init__(self, writers: dict[str, ThreadWriter], rules: ThreadsSection) -> None:
        self.in_use: list[InUse] = []
        self._writers = writers
        self._rules = rules
        self._used: dict[str, float] = {}

    def touch(self, thread_id: str) -> None:
        """Records that the thread was used now."""
        self._used.pop(thread_id, None)
        self._used[thread_id] = time.monotonic()

    def forget(self, thread_id: str) -> None:
        """Forgets a thread that was unloaded."""
        self._used.pop(thread_id, None)

    def is_idle(self, thread_id: str) -> bool:
        """Returns whether the thread may be unloaded."""
        writer = self._writers.get(thread_id)
        if (
            writer is None
            or not writer.is_quiescent
            or any(in_use(thread_id) for in_use in self.in_use)
        ):
            return False
        # Open work of a read-only thread never ends, and the thread can be loaded again.
        return writer.read_only is not None or not is_unfinished(writer.state)

    def drop(self, thread_id: str) -> Journal | None:
        """Removes a thread from memory and returns its journal for closing, or None if another
        object still references its writer.

        A writer must not be used after another writer has opened its journal. The code that holds a
        writer may be at any point, so a weak reference shows whether one exists: an object without
        references is freed at once.
        """
        journal, gone = self._writers[thread_id].journal, weakref.ref(self._writers.pop(thread_id))
        if (held := gone()) is not None:
            self._writers[thread_id] = held
            return None
        self.forget(thread_id)
        return journal

    async def keep_snapshot(self, thread_id: str) -> None:
        """Writes a snapshot of the thread if it needs one."""
        if self.needs_snapshot(thread_id):
            await self._writers[thread_id].keep_snapshot()

    def needs_snapshot(self, thread_id: str) -> bool:
        """Returns whether opening the thread again would replay too many records."""
        writer = self._writers.get(thread_id)
        return (
            writer is not None
            and writer.records_beyond_snapshot >= self._rules.snapshot_after_records
        )

    def snapshots_due(self) -> list[str]:
        """Returns the threads in memory that need a snapshot and have nothing under way."""
        return [
            thread_id
            for thread_id in self._writers
            if self.needs_snapshot(thread_id) and self._is_at_rest(thread_id)
        ]

    def evictions_due(self) -> list[str]:
        """Returns the threads to unload, least recently used first: those that were idle for too
        long, and those above the limit.
        """
        idle = [thread_id for thread_id in self._used if self.is_idle(thread_id)]
        beyond, before_s = (
            len(idle) - self._rules.max_idle,
            time.monotonic() - self._rules.evict_after_s,
        )
        return [
            thread_id
            for place, thread_id in enumerate(idle)
            if place < beyond or self._used[thread_id] <= before_s
        ]

    def _is_at_rest(self, thread_id: str) -> bool:
        return self._writers[thread_id].is_quiescent and not is_unfinished(
            self._writers[thread_id].state
        )
