"""New threads that are given a context. Until a thread has it, its operation is open.

Always true: that a thread is to be filled is durable before it is given anything. If that fails, or
the daemon is killed, the thread is deleted: nobody was told of it.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager

from trimpoint.core.model import events as ev
from trimpoint.core.model.operations import Phase
from trimpoint.operations.phases import journal_phase, journal_phase_deferred
from trimpoint.threads.writing.writer import ThreadWriter


class Fillings:
    """The threads that are being filled. `schedule` runs the open operation of one that was left
    unfilled.
    """

    def __init__(self, schedule: Callable[[str], None]) -> None:
        self._schedule = schedule
        self._open: set[str] = set()

    def __contains__(self, thread_id: str) -> bool:
        return thread_id in self._open

    @contextmanager
    def filling(self, thread_id: str) -> Generator[None]:
        """Leaves a new thread to the block, which fills it and calls `end_filling`."""
        self._open.add(thread_id)
        try:
            yield
        finally:
            self._open.discard(thread_id)
            self._schedule(thread_id)


async def end_filling(writer: ThreadWriter, *facts: ev.AnyEvent) -> None:
    """Records that a thread has its context, and these facts with it.

    :raises JournalRefuses: when the journal cannot be written.
    """
    operation = writer.state.open_operation
    assert operation is not None
    journal_phase_deferred(writer, operation, Phase.STARTING, "The session has its context.")
    await journal_phase(writer, operation, Phase.READY, "The thread is made.", "", *facts)
