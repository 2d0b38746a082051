"""Sends notifications to clients once everything that was recorded before them is durable."""

from collections.abc import Awaitable, Callable

import structlog
from anyio.abc import TaskGroup

from trimpoint.background import spawn
from trimpoint.codex.notifications.client_sink import ClientSink
from trimpoint.codex.notifications.message import CodexMessage
from trimpoint.threads.errors import JournalRefuses
from trimpoint.threads.registry import ThreadRegistry

log = structlog.get_logger()

BeforeTurnEnds = Callable[[str], Awaitable[None]]
"""Awaited with the thread's id before clients are notified of the end of a turn."""


class DurableDelivery:
    """The notifications that wait for the disk, by thread and in order."""

    def __init__(
        self,
        engine: ThreadRegistry,
        sink: ClientSink,
        before_turn_ends: BeforeTurnEnds,
        tasks: TaskGroup,
    ) -> None:
        self._engine = engine
        self._sink = sink
        self._before_turn_ends = before_turn_ends
        self._tasks = tasks
        self._waiting: dict[str, list[CodexMessage]] = {}

    def is_waiting(self, thread_id: str) -> bool:
        """Returns whether notifications of the thread wait; later ones must wait too."""
        return thread_id in self._waiting

    def deliver(self, thread_id: str, message: CodexMessage) -> None:
        """Sends a notification to clients once all facts before it are durable.

        The facts themselves are applied at once, so that a thread with another turn is busy; only
        clients wait for the disk.
        """
        waiting = self._waiting.setdefault(thread_id, [])
        waiting.append(message)
        if len(waiting) == 1:
            spawn(self._tasks, self._flush_and_deliver, thread_id, waiting)

    async def _flush_and_deliver(self, thread_id: str, waiting: list[CodexMessage]) -> None:
        while waiting:
            covered = len(waiting)
            try:
                await self._make_durable(thread_id)
                await self._before_turn_ends(thread_id)
            except Exception:
                # A defect in what is waited for must not keep the thread's notifications for ever.
                log.exception("wait_before_delivery_broke", thread_id=thread_id)
            for message in waiting[:covered]:
                self._deliver_settled(thread_id, message)
            del waiting[:covered]
        del self._waiting[thread_id]

    def _deliver_settled(self, thread_id: str, message: CodexMessage) -> None:
        try:
            self._sink.publish(thread_id, message)
        except Exception:
            # A defect in sending one message must not stop the next ones.
            log.exception("line_not_passed_on", thread_id=thread_id, method=message.method)

    async def _make_durable(self, thread_id: str) -> None:
        writer = self._engine.loaded(thread_id)
        try:
            if writer is not None:
                await writer.flush()
        except JournalRefuses as error:
            # The facts are kept in memory and written when the disk can be written again; clients
            # must not wait for that.
            log.error("turn_not_durable", thread_id=thread_id, detail=error.detail)
