"""Counts what threads have spent whose entries in the catalogue are of an older version.

Their journals are read one after the other in the background and are not opened. A daemon that ends
meanwhile has lost only time: what is not counted is counted when it is asked for again.
"""

import structlog
from anyio.abc import TaskGroup

from trimpoint.background import spawn
from trimpoint.core.views.totals import encoded_spent
from trimpoint.journal.port import StateStore
from trimpoint.threads.thread_index import ThreadIndex
from trimpoint.threads.writing.loading import read_turns

log = structlog.get_logger()


class UncountedThreads:
    """The threads of `index` that are not counted yet. Those that cannot be are `unreadable`."""

    def __init__(self, store: StateStore, index: ThreadIndex, tasks: TaskGroup) -> None:
        self._store = store
        self._index = index
        self._tasks = tasks
        self._is_counting = False
        self.unreadable: set[str] = set()

    def count(self) -> None:
        """Begins to count, unless that is being done or there is nothing to count."""
        if not self._is_counting and self._uncounted():
            self._is_counting = True
            spawn(self._tasks, self._count_all)

    def _uncounted(self) -> list[str]:
        return [
            thread_id
            for thread_id, summary in self._index.summaries.items()
            if summary.spent is None and thread_id not in self.unreadable
        ]

    async def _count_all(self) -> None:
        try:
            for thread_id in self._uncounted():
                await self._count(thread_id)
        finally:
            self._is_counting = False

    async def _count(self, thread_id: str) -> None:
        try:
            spent = encoded_spent((await read_turns(self._store, thread_id, frozenset())).state)
        except Exception as error:  # a journal of any age may have any damage
            self.unreadable.add(thread_id)
            log.warning("thread_not_counted", thread_id=thread_id, detail=str(error))
            return
        summary = self._index.summaries.get(thread_id)
        # A record since then has counted it, or will.
        if summary is not None and summary.spent is None:
            summary.spent = spent
            self._index.changes += 1
