"""Group commit: many callers share one write and one sync.

At most one batch is being written; records that are appended meanwhile form the next batch. A
failed group stays failed and its owner creates a new one, so that a caller waiting on the old group
never takes the success of the new one for its own.
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
    """Collects records into batches. `write_batch` must return when the batch is durable, or raise
    `JournalWriteError` if it is not.
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
        """Queues a payload for the next batch.

        :raises JournalWriteError: when the group has failed.
        """
        self._raise_failure()
        self._queued.append(payload)
        self._appended += 1

    async def commit(self) -> None:
        """Waits until all payloads appended before the call are durable.

        :raises JournalWriteError: when the group has failed, or fails before they are durable.
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
        """Marks the group as failed: all later calls raise, and queued payloads are never
        written.
        """
        self.failure = failure

    def _raise_failure(self) -> None:
        if self.failure is not None:
            raise self.failure.again()

    async def _lead(self) -> None:
        """Writes one batch for all waiting callers. A cancelled caller finishes the write, because
        the others wait for it.
        """
        self._round = ended = anyio.Event()
        try:
            with anyio.CancelScope(shield=True):
                # Lets the callers that the last round woke append first: with 64 callers, batches
                # of 64 and not of 1 and 63 in turn.
                await cancel_shielded_checkpoint()
                batch, self._queued, target = self._queued, [], self._appended
                await self._write_batch(batch)
                self._durable = target
        except JournalWriteError as error:
            self.fail(error)
        except BaseException:
            # A native task cancellation ended the wait; the worker thread may still be writing.
            self.fail(JournalWriteError(self._path, EINTR, "waiting for the write"))
            raise
        finally:
            self._round = None
            ended.set()
