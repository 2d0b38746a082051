"""Updates the index in the background and runs searches in it.

No turn ever waits for the index. Its work is done in a thread of its own, one short task at a time,
and only for durable records.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import anyio
import structlog
from anyio import CapacityLimiter, to_thread

from trimpoint.core.model import events as ev
from trimpoint.journal.port import Bookmark
from trimpoint.journal.storage.directory import StateDirectory
from trimpoint.recall.index import Found, RecallIndex, Where, discard_index
from trimpoint.recall.reading import index_piece
from trimpoint.recall.words import Term
from trimpoint.threads.registry import ThreadRegistry

if TYPE_CHECKING:
    import sqlite3

log = structlog.get_logger()

T = TypeVar("T")
GATHER_S = 0.25
"""Entries that are recorded within so many seconds are indexed together."""
CATCH_UP_S = 1.0
"""The number of seconds that a search waits until everything is indexed."""
RETRY_S = 30.0
TIDY_AFTER = 4 * 1024 * 1024
TIDY_SHARE = 0.25
"""The index is tidied in idle times after `TIDY_AFTER` new bytes of journals that are also this
share of all indexed bytes.
"""
MAX_FORGOTTEN = 0.5
MAX_FOUND = 1_000
# SQLITE_ERROR, SQLITE_CORRUPT and SQLITE_NOTADB.
_DAMAGED = frozenset({1, 11, 26})


class RecallUnavailable(Exception):
    """The index cannot be used; `detail` says why."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


class Recall:
    """The index of one state directory. `run` must be running in the background."""

    def __init__(self, store: StateDirectory, registry: ThreadRegistry) -> None:
        self._store = store
        self._registry = registry
        self._index: RecallIndex | None = None
        self._known: dict[str, Bookmark] = {}
        self._waiting: dict[str, None] = {}
        self._turn = anyio.Lock()
        self._limiter = CapacityLimiter(1)
        self._more = anyio.Event()
        self._all_read = anyio.Event()
        self._in_haste = anyio.Event()
        self._untidy_bytes = 0
        registry.subscribe(self._on_record)
        self._wait_for_all()

    @property
    def waiting(self) -> int:
        """Returns the number of threads that are not fully indexed yet."""
        return len(self._waiting)

    async def run(self) -> None:
        """Updates the index until it is cancelled."""
        try:
            while True:
                await self._work()
        finally:
            with anyio.CancelScope(shield=True):
                await self._guarded(self._close)

    async def search(self, terms: list[Term], where: Where) -> list[Found]:
        """Returns the best matches, at most `MAX_FOUND`. Waits up to `CATCH_UP_S` seconds for
        records that are not indexed yet.

        :raises RecallUnavailable: when the index cannot be created or read.
        """
        for attempt in (1, 2):
            await self._catch_up()
            try:
                return await self.use(lambda index: index.search(terms, where, MAX_FOUND))
            except index_errors() as error:
                await self._failed(error)
                if attempt == 2 or not _is_damage(error):
                    raise RecallUnavailable(str(error)) from error
        raise AssertionError("unreachable")

    def _on_record(self, thread_id: str, record: ev.Record) -> None:
        if any(isinstance(event, ev.EntryRecorded | ev.TurnStarted) for event in record.events):
            self._wait_for(thread_id)

    def _wait_for_all(self) -> None:
        for summary in self._registry.summaries.values():
            self._wait_for(summary.thread_id)

    def _wait_for(self, thread_id: str) -> None:
        self._waiting[thread_id] = None
        self._all_read = anyio.Event() if self._all_read.is_set() else self._all_read
        self._more.set()

    async def _catch_up(self) -> None:
        if self._waiting:
            self._in_haste.set()
            with anyio.move_on_after(CATCH_UP_S):
                await self._all_read.wait()

    async def _work(self) -> None:
        """Indexes the journals of all waiting threads, then waits for new records. After an error
        it starts over, at once if the index was damaged, else after `RETRY_S` seconds.
        """
        try:
            while self._waiting:
                await self._read(next(iter(self._waiting)))
                if not self._waiting:
                    await self.use(RecallIndex.commit)
            self._all_read.set()
            self._in_haste = anyio.Event()
            await self._tidy()
        except index_errors() as error:
            await self._failed(error)
            await anyio.sleep(0 if _is_damage(error) else RETRY_S)
            return
        except Exception:  # the index is derived, so a defect in it must not end the daemon
            log.exception("recall_broke")
            await self._start_over()
            await anyio.sleep(RETRY_S)
            return
        if not self._waiting:
            self._more = anyio.Event()
            await self._more.wait()
        with anyio.move_on_after(GATHER_S):
            await self._in_haste.wait()

    async def _read(self, thread_id: str) -> None:
        """Indexes one piece of a thread's journal. If there is more, the thread is added to the
        waiting ones again.
        """
        del self._waiting[thread_id]
        try:
            more = await self.use(lambda index: self._read_piece(index, thread_id))
        except BaseException:
            self._waiting[thread_id] = None
            raise
        if more:
            self._waiting[thread_id] = None

    def _read_piece(self, index: RecallIndex, thread_id: str) -> bool:
        known = self._known.get(thread_id)
        summary = self._registry.summaries.get(thread_id)
        at = known.position.offset_bytes if known is not None else 0
        if summary is not None and known is not None and summary.size_bytes == at:
            return False
        try:
            end = index_piece(index, thread_id, self._store.journal_path(thread_id), known)
        except FileNotFoundError:
            index.forget(thread_id)
            self._known.pop(thread_id, None)
            return False
        if end is None:
            return False
        self._known[thread_id] = end
        self._untidy_bytes += end.position.offset_bytes - at
        return True

    async def _tidy(self) -> None:
        """Merges the segments of the index if much of it is new. Merging rewrites the index, so it
        is done rarely, and stops when a thread must be indexed.
        """
        indexed = sum(known.position.offset_bytes for known in self._known.values())
        if self._untidy_bytes < max(TIDY_AFTER, indexed * TIDY_SHARE):
            return
        await self.use(RecallIndex.begin_tidying)
        while not self._waiting:
            if not await self.use(RecallIndex.tidy):
                self._untidy_bytes = 0
                return

    async def use(self, act: Callable[[RecallIndex], T]) -> T:
        """Calls `act` with the index in the index's thread, and returns its result.

        :raises sqlite3.Error, OSError: when the index fails.
        """
        async with self._turn:
            return await to_thread.run_sync(self._used, act, limiter=self._limiter)

    def _used(self, act: Callable[[RecallIndex], T]) -> T:
        if self._index is None:
            self._index = self._opened()
            self._known = self._index.bookmarks()
            for thread_id in self._known.keys() - self._registry.summaries.keys():
                self._index.forget(thread_id)
                del self._known[thread_id]
        return act(self._index)

    def _opened(self) -> RecallIndex:
        index = RecallIndex(self._store.root)
        if index.forgotten_share() <= MAX_FORGOTTEN:
            return index
        index.close()
        discard_index(self._store.root)
        return RecallIndex(self._store.root)

    async def _failed(self, error: "sqlite3.Error | OSError") -> None:
        log.warning("recall_index_failed", detail=str(error), damaged=_is_damage(error))
        await self._start_over(discard=_is_damage(error))

    async def _start_over(self, *, discard: bool = False) -> None:
        """Closes the index and marks all threads as waiting, so that everything not committed is
        indexed again. With `discard`, the index is deleted too.
        """
        await self._guarded(self._close)
        if discard:
            await self._guarded(lambda: discard_index(self._store.root))
        self._wait_for_all()

    async def _guarded(self, act: Callable[[], None]) -> None:
        async with self._turn:
            try:
                await to_thread.run_sync(act, limiter=self._limiter)
            except index_errors() as error:
                log.warning("recall_index_not_closed", detail=str(error))

    def _close(self) -> None:
        index, self._index = self._index, None
        self._known = {}
        if index is not None:
            index.close()


def index_errors() -> "tuple[type[sqlite3.Error], type[OSError]]":
    """Returns the types of errors that the index raises. `sqlite3` is imported only when needed."""
    import sqlite3

    return sqlite3.Error, OSError


def _is_damage(error: Exception) -> bool:
    """Returns whether the error says that the file is damaged, so that it must be created again."""
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in _DAMAGED
