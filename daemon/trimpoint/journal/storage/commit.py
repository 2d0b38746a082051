"""Group commit: many callers, one write and one sync.

Always true: at most one batch is being written; what is appended meanwhile is the next one. A group
that failed stays failed; its owner makes a new one, so that a caller who waited on the old never
mistakes the new one's success for its own.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from errno import EINTR
from pathlib import Path

import anyio
from anyio.lowlevel import cancel_shielded_checkpoint

from trimpoint.journal.errors import JournalWriteError

WriteBatch = Callable[[list[bytes]], Awaitable[None]]


class GroupCommit:
    """`write_batch` returns when its batch is durable, or raises JournalWriteError and none of it
    counts.
    """

    def __init__(self, path: Path, write_batch: WriteBatch) -> None:
        self.failure: JournalWriteError | None = None
        self._path = path
        self._write_batch = write_batch
        self._queued: list[bytes] = []
        self._appended = 0
        self._durable = 0
        self._round: anyio.Event | None = None

    def append(self, payload: bytes) -> None:
        """:raises JournalWriteError: when the group has failed."""
        self._raise_failure()
        self._queued.append(payload)
        self._appended += 1

    async def commit(self) -> None:
        """:raises JournalWriteError: when the group has failed, or fails before these records are
        durable.
        """
        self._raise_failure()
        target = self._appended
        while self._durable < target:
            self._raise_failure()
            if self._round is None:
                await self._lead()
            else:
                await self._round.wait()

    def fail(self, failure: JournalWriteError) -> None:
        """Refuse from here on; what is queued is never written."""
        self.failure = failure

    def _raise_failure(self) -> None:
        if self.failure is not None:
            raise self.failure.again()

    async def _lead(self) -> None:
        """Write one batch for everybody. A cancelled leader finishes it: the others wait for it."""
        self._round = ended = anyio.Event()
        try:
            with anyio.CancelScope(shield=True):
                # Those whom the last round woke append before this one is sealed: 64 a sync, not 1
                # and 63.
                await cancel_shielded_checkpoint()
                batch, self._queued, target = self._queued, [], self._appended
                await self._write_batch(batch)
                self._durable = target
        except JournalWriteError as error:
            self.fail(error)
        except BaseException:
            # Torn out of the wait (a native task cancellation): the thread may still be writing.
            self.fail(JournalWriteError(self._path, EINTR, "waiting for the write"))
            raise
        finally:
            self._round = None
            ended.set()
