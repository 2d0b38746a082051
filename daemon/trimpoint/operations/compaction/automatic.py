"""Starts automatic compaction after a turn, once its end is durable, and before the next turn.

The rule when it is due is in the core (`core/decide/auto_compaction.py`). A daemon compacts nothing
merely because it starts: a critical thread is compacted before its next prompt.
"""

import structlog
from anyio.abc import TaskGroup

from trimpoint.background import spawn
from trimpoint.codex.appserver.supervisor import CodexLink
from trimpoint.codex.appserver.versions import OLDEST_SUPPORTED
from trimpoint.core.decide.autopilot import may_be_due
from trimpoint.core.model import events as ev
from trimpoint.core.model.commands import TrimWhenDue
from trimpoint.core.model.decision import busy
from trimpoint.threads.errors import ThreadError
from trimpoint.threads.registry import ThreadRegistry
from trimpoint.threads.writing.sequencer import now_ms
from trimpoint.threads.writing.writer import ThreadWriter

log = structlog.get_logger()


class AutoCompaction:
    """Compacts a thread between turns when its context has become critical."""

    def __init__(self, registry: ThreadRegistry, link: CodexLink, tasks: TaskGroup) -> None:
        self._registry = registry
        self._link = link
        self._tasks = tasks
        registry.subscribe(self._on_record)

    def may_be_due(self, writer: ThreadWriter) -> bool:
        """Returns whether the thread is idle and its context may have to be trimmed now."""
        if (
            writer.read_only is not None
            or (self._link.version or OLDEST_SUPPORTED) < OLDEST_SUPPORTED
        ):
            return False
        return busy(writer.state) is None and may_be_due(
            writer.state, self._registry.policy, now_ms()
        )

    async def begin(self, writer: ThreadWriter) -> None:
        """Begins the trim of a thread, if it is still due. Never raises, because a turn does
        not depend on it.
        """
        try:
            await writer.execute(TrimWhenDue())
        except ThreadError as error:
            log.warning(
                "automatic_compaction_not_begun", thread_id=writer.thread_id, detail=str(error)
            )

    def _on_record(self, thread_id: str, record: ev.Record) -> None:
        writer = self._registry.loaded(thread_id)
        if (
            writer is not None
            and any(_may_end_busy(event) for event in record.events)
            and self.may_be_due(writer)
        ):
            spawn(self._tasks, self.begin, writer)


def _may_end_busy(event: ev.AnyEvent) -> bool:
    """Returns whether the thread may be idle after the event: the end of a turn, or of a request or
    sub-agent that outlived its turn, or whether another mode was chosen. Returns False for a turn
    that was broken off.
    """
    match event:
        case ev.TurnCompleted(items_heard=items_heard):
            return items_heard
        case ev.RequestClosed() | ev.AutoChosen():
            return True
        case _:
            return False
