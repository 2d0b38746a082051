"""Tells people when a thread's journal cannot be written, and keeps what Codex says meanwhile from
filling the memory.

Always true: while the disk refuses or hangs, the agent may go on, since what it does is written
later. Only when too much waits in memory, its turn is interrupted.
"""

import structlog
from anyio.abc import TaskGroup

from trimpoint.background import spawn
from trimpoint.codex.appserver.errors import ProviderFailure
from trimpoint.operations.provider.provider_threads import ProviderThreads
from trimpoint.threads.registry import ThreadRegistry
from trimpoint.threads.writing.flushing import Trouble

log = structlog.get_logger()

CANNOT_BE_WRITTEN = (
    "This thread cannot be written to its journal: {detail}. What the agent does is kept in memory "
    "and written later. Free disk space, or repair the journal's folder."
)
INTERRUPTED = (
    "The turn is interrupted, because this thread cannot be written to its journal and too much "
    "waits for it in memory."
)
WRITTEN_AGAIN = "This thread is written to its journal again; nothing is missing."


class JournalTroubles:
    """Handles the troubles of the threads of one Codex. Its requests run in `tasks`."""

    def __init__(
        self, registry: ThreadRegistry, threads: ProviderThreads, tasks: TaskGroup
    ) -> None:
        self._registry = registry
        self._threads = threads
        self._tasks = tasks
        self._reported: set[str] = set()
        self._interrupting: set[str] = set()
        registry.subscribe_trouble(self._on_trouble)

    def _on_trouble(self, thread_id: str, trouble: Trouble | None) -> None:
        if trouble is None:
            self._warn(thread_id, WRITTEN_AGAIN)
            self._reported.discard(thread_id)
            return
        if thread_id not in self._reported:
            self._reported.add(thread_id)
            self._warn(thread_id, CANNOT_BE_WRITTEN.format(detail=trouble.detail))
        if trouble.is_too_much and thread_id not in self._interrupting:
            self._interrupting.add(thread_id)
            spawn(self._tasks, self._interrupt, thread_id)

    def _warn(self, thread_id: str, message: str) -> None:
        self._threads.router.notify(thread_id, "warning", {"message": message})

    async def _interrupt(self, thread_id: str) -> None:
        writer = self._registry.loaded(thread_id)
        provider_id = None if writer is None else writer.state.generation.provider_thread_id
        try:
            if self._threads.is_loaded(provider_id):
                self._warn(thread_id, INTERRUPTED)
                # An empty id names whatever runs (measured: 0.163). The state may not know of it.
                params = {"threadId": provider_id, "turnId": ""}
                await self._threads.link.request("turn/interrupt", params)
        except ProviderFailure as error:
            log.warning("turn_not_interrupted", thread_id=thread_id, detail=str(error))
        finally:
            self._interrupting.discard(thread_id)
