"""How long a client waits for a disk that does not answer: until people are told of it."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio
from anyio.abc import TaskGroup

from trimpoint.background import spawn
from trimpoint.threads.errors import CommandUnconfirmed, JournalRefuses
from trimpoint.threads.writing.flushing import SLOW, Flusher
from trimpoint.threads.writing.writer import ThreadWriter

T = TypeVar("T")


class Patience:
    """Waits for writes of clients in `tasks`, where they go on without the client."""

    def __init__(self, tasks: TaskGroup, flusher: Flusher) -> None:
        self._tasks = tasks
        self._flusher = flusher

    def refuse_while_it_hangs(self) -> None:
        """Refuses what would only wait, so that it does not pile up.

        :raises JournalRefuses: while the disk does not answer to some thread.
        """
        if self._flusher.hangs():
            raise JournalRefuses(SLOW)

    async def written(self, writer: ThreadWriter) -> None:
        """Waits until everything submitted so far is durable.

        :raises JournalRefuses: as `ThreadWriter.flush`, and when the disk does not answer. What was
            submitted may become durable later.
        """
        try:
            await self.unless_it_hangs(writer, writer.flush, is_begun=True)
        except CommandUnconfirmed:
            raise JournalRefuses(SLOW) from None

    async def unless_it_hangs(
        self, writer: ThreadWriter, step: Callable[[], Awaitable[T]], *, is_begun: bool
    ) -> T:
        """Runs a step that ends with a write, and returns its result. `is_begun` says that its
        record is in the journal or waits for the disk.

        :raises CommandUnconfirmed: when the disk does not answer; the step goes on.
        :raises JournalRefuses: if it did not answer before; what is not begun is not begun then.
        """
        if not is_begun:
            self.refuse_while_it_hangs()
        elif self._flusher.hangs(writer):
            raise CommandUnconfirmed
        moved = anyio.Event()
        results, errors = list[T](), list[Exception]()

        async def run() -> None:
            try:
                results.append(await step())
            except Exception as error:  # the caller raises it, unless it has left
                errors.append(error)
            finally:
                moved.set()

        with self._flusher.told_if_it_hangs(writer, moved):
            spawn(self._tasks, run)
            await moved.wait()
        for error in errors:
            raise error
        for result in results:
            return result
        raise CommandUnconfirmed
