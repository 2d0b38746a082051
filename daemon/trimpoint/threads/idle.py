"""Finds threads in memory that are not used, and unloads them.

A thread is idle when nothing of it is under way, all of it is durable, and no predicate that
`in_use` asks has a use for it.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable
from typing import NamedTuple

from trimpoint.journal.port import Journal
from trimpoint.threads.catalogue import is_unfinished
from trimpoint.threads.writer import ThreadWriter

InUse = Callable[[str], bool]


class IdleRules(NamedTuple):
    """Rules for when an idle thread leaves memory, and how many records may be left to replay when
    it is opened again.
    """

    evict_after_s: float = 300.0
    max_idle_threads: int = 64
    snapshot_after_records: int = 1_000


class IdleThreads:
    """`in_use` are questions to the layers above, each given a thread id."""

    def __init__(self, writers: dict[str, ThreadWriter], rules: IdleRules) -> None:
        self.in_use: list[InUse] = []
        self._writers = writers
        self._rules = rules
        self._used: dict[str, float] = {}

    def touch(self, thread_id: str) -> None:
        """Notes that the thread is in use now."""
        self._used.pop(thread_id, None)
        self._used[thread_id] = time.monotonic()

    def forget(self, thread_id: str) -> None:
        """Forgets a thread that has left memory."""
        self._used.pop(thread_id, None)

    def is_idle(self, thread_id: str) -> bool:
        """Returns whether the thread could be dropped from memory."""
        writer = self._writers.get(thread_id)
        if (
            writer is None
            or not writer.is_quiescent
            or any(in_use(thread_id) for in_use in self.in_use)
        ):
            return False
        # What is under way on a read-only thread never ends, and can be read again as well.
        return writer.read_only is not None or not is_unfinished(writer.state)

    def drop(self, thread_id: str) -> Journal | None:
        """Removes a thread from memory and returns its journal, to be closed; None if its writer is
        still held.

        No caller may keep a writer whose journal another one has opened. Who holds one may be
        in the middle of anything, so the question is put to the interpreter: an object that nobody
        refers to is gone at once.
        """
        journal, gone = self._writers[thread_id].journal, weakref.ref(self._writers.pop(thread_id))
        if (held := gone()) is not None:
            self._writers[thread_id] = held
            return None
        self.forget(thread_id)
        return journal

    async def keep_snapshot(self, thread_id: str) -> None:
        """Write a snapshot of a thread if it needs one."""
        if self.needs_snapshot(thread_id):
            await self._writers[thread_id].keep_snapshot()

    def needs_snapshot(self, thread_id: str) -> bool:
        """Returns whether opening the thread anew would replay too much."""
        writer = self._writers.get(thread_id)
        return (
            writer is not None
            and writer.records_beyond_snapshot >= self._rules.snapshot_after_records
        )

    def snapshots_due(self) -> list[str]:
        """Threads in memory, used or not, that nothing happens on and that need a snapshot."""
        return [
            thread_id
            for thread_id in self._writers
            if self.needs_snapshot(thread_id) and self._is_at_rest(thread_id)
        ]

    def evictions_due(self) -> list[str]:
        """Idle threads that have been so for long, or of which there are too many; least recently
        used first.
        """
        idle = [thread_id for thread_id in self._used if self.is_idle(thread_id)]
        beyond, before_s = (
            len(idle) - self._rules.max_idle_threads,
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
