"""The context meter for clients: returned on request, and sent to clients whenever it changes.

Clients that do not know trimpoint receive a `warning`, Codex's own notification for people, when
the context fills up.
"""

from functools import partial

import anyio
import msgspec
from anyio.abc import TaskGroup
from trimpoint_protocol.methods import CommandProgress
from trimpoint_protocol.readmodel import ContextStatus

from trimpoint.background import spawn
from trimpoint.codex.notifications.foreign_usage import ForeignThreadUsage
from trimpoint.core.context.context_size import (
    NOT_REPORTED_AT_ALL,
    ContextSize,
    reported_size,
    window_of,
)
from trimpoint.core.decide.auto_masking import AUTO_MASK
from trimpoint.core.evolve.compaction_attempts import AUTO
from trimpoint.core.model import events as ev
from trimpoint.core.model.operations import Phase, is_open
from trimpoint.core.model.state import ThreadState
from trimpoint.core.model.usage import UsageTotals
from trimpoint.core.views.meter import context_status, status_of
from trimpoint.core.views.trim_outcome import UNDO
from trimpoint.gateway.session.clients import Clients, Delivery
from trimpoint.threads.off_loop import must_weigh, weighed
from trimpoint.threads.registry import ThreadRegistry
from trimpoint.threads.writing.writer import ThreadWriter

CONTEXT_UPDATED = "context/updated"
PROGRESS = "commands/progress"
# Codex's own notification for people (measured: 0.163, 0.171).
WARNING = "warning"
LEVELS = ("ok", "warning", "critical")
# At the most so often is a long context weighed.
BETWEEN_ESTIMATES_S = 0.25
# Events that can change the meter. It is not computed for others, such as a long turn's many items.
_MOVES = (
    ev.UsageReported
    | ev.TurnCompleted
    | ev.TurnsRolledBack
    | ev.GenerationOpened
    | ev.SettingsChanged
    | ev.AutoChosen
    | ev.OperationStarted
    | ev.OperationAdvanced
)


class ContextMeters:
    """Sends clients the meter of a thread when it changes."""

    def __init__(
        self,
        registry: ThreadRegistry,
        clients: Clients,
        foreign_usage: ForeignThreadUsage,
        tasks: TaskGroup,
    ) -> None:
        self._registry = registry
        self._clients = clients
        self._foreign_usage = foreign_usage
        self._published: dict[str, ContextStatus] = {}
        self._automatic: dict[str, str] = {}
        self._tasks = tasks
        self._outdated: set[str] = set()
        self._weighing: set[str] = set()
        foreign_usage.subscribe(self._publish_foreign_status)
        registry.subscribe(self.on_record)

    async def status(self, thread_id: str) -> ContextStatus:
        """Returns the meter of a thread, which may also be one that only Codex knows.

        :raises ThreadNotFound: when neither trimpoint nor Codex knows the thread.
        :raises JournalRefuses: when the thread's journal cannot be opened.
        """
        if (foreign_usage := self._foreign_status(thread_id)) is not None:
            return foreign_usage
        writer = await self._registry.thread(thread_id)
        return await self.status_of(writer)

    async def status_of(self, writer: ThreadWriter) -> ContextStatus:
        """Returns the meter of a thread of ours. A long context is weighed beside the loop."""
        policy = self._registry.policy
        return await weighed(writer.state, lambda present: context_status(present, policy))

    def on_record(self, thread_id: str, record: ev.Record) -> None:
        """Sends clients the meter when a durable record has changed it, and the progress of
        automatic compactions.
        """
        writer = self._registry.loaded(thread_id)
        for event in record.events:
            self._publish_progress(thread_id, event)
        if writer is not None and any(isinstance(event, _MOVES) for event in record.events):
            self._update(writer.state)

    def _update(self, state: ThreadState) -> None:
        """Sends the meter at once, or soon if that takes long: each record of a long context whose
        size Codex has not reported would keep all clients waiting. While a session is replaced, it
        would keep the operation waiting, whose end changes the meter again.
        """
        if not must_weigh(state) and state.id not in self._weighing:
            self._publish(context_status(state, self._registry.policy))
            return
        if state.open_operation is not None and not state.open_operation.is_summarizing:
            return
        self._outdated.add(state.id)
        if state.id not in self._weighing:
            self._weighing.add(state.id)
            spawn(self._tasks, self._weigh, state.id)

    async def _weigh(self, thread_id: str) -> None:
        try:
            while thread_id in self._outdated:
                self._outdated.discard(thread_id)
                if (writer := self._registry.loaded(thread_id)) is not None:
                    self._publish(await self.status_of(writer))
                    del writer  # so that it can leave memory during the pause
                    await anyio.sleep(BETWEEN_ESTIMATES_S)
        finally:
            self._weighing.discard(thread_id)
            self._outdated.discard(thread_id)

    def _publish_foreign_status(self, thread_id: str) -> None:
        if (status := self._foreign_status(thread_id)) is not None:
            self._publish(status)

    def _foreign_status(self, thread_id: str) -> ContextStatus | None:
        usage = self._foreign_usage.usage_of(thread_id)
        is_ours = (
            thread_id in self._registry.summaries or self._registry.loaded(thread_id) is not None
        )
        return None if usage is None or is_ours else self._metered(thread_id, usage)

    def _metered(self, thread_id: str, usage: UsageTotals) -> ContextStatus:
        policy = self._registry.policy
        fill = reported_size(usage, window_of(usage, None, policy)) or ContextSize(
            0, is_estimate=True, is_unknown=True, note=NOT_REPORTED_AT_ALL
        )
        return status_of(thread_id, usage, None, fill, policy)

    def _publish(self, status: ContextStatus) -> None:
        before = self._published.get(status.thread_id)
        if before == status:
            return
        self._published[status.thread_id] = status
        self._send(CONTEXT_UPDATED, status.thread_id, status)
        if status.auto is not None and _is_worse(status, before):
            self._clients.broadcast(
                status.thread_id, WARNING, partial(_warning, status.thread_id, status.auto.message)
            )

    def _publish_progress(self, thread_id: str, event: ev.AnyEvent) -> None:
        """Sends clients the progress of an automatic compaction or mask, and people the word that
        old output has left the context.
        """
        match event:
            case ev.CompactionRequested(trigger=trigger) if trigger == AUTO:
                self._automatic[event.operation_id] = "compact"
            # A fork inherits the masks of its parent in its first generation.
            case ev.ContextMasked(trigger=trigger, trim_point_id=operation_id) if (
                trigger == AUTO_MASK and event.generation > 1
            ):
                self._automatic[operation_id] = "compress"
            case ev.OperationAdvanced() if event.operation_id in self._automatic:
                command = self._automatic[event.operation_id]
                step = CommandProgress(
                    thread_id=thread_id,
                    command=command,
                    phase=event.phase,
                    message=event.message,
                    operation_id=event.operation_id,
                    trigger=AUTO,
                )
                self._send(PROGRESS, thread_id, step)
                if not is_open(Phase(event.phase)):
                    del self._automatic[event.operation_id]
                    if command == "compress":
                        said = f"{event.message} {UNDO} brings it back."
                        self._clients.broadcast(
                            thread_id, WARNING, partial(_warning, thread_id, said)
                        )
            case _:
                pass

    def _send(self, method: str, thread_id: str, params: ContextStatus | CommandProgress) -> None:
        concerned = self._clients.recipients_of(thread_id, method)
        Delivery(method, partial(msgspec.json.encode, {"method": method, "params": params})).to(
            concerned
        )


def _is_worse(status: ContextStatus, before: ContextStatus | None) -> bool:
    """Returns whether the meter's level has risen, or automatic compaction has just stopped, so
    that clients need a warning.
    """
    if status.auto is None or not status.auto.message or status.auto.state == "running":
        return False
    had_stopped = before is not None and before.auto is not None and before.auto.state == "stopped"
    has_just_stopped = status.auto.state == "stopped" and not had_stopped
    return has_just_stopped or _rank(status) > _rank(before)


def _rank(status: ContextStatus | None) -> int:
    return LEVELS.index(status.level) if status is not None and status.level is not None else 0


def _warning(thread_id: str, message: str) -> bytes:
    return msgspec.json.encode(
        {"method": WARNING, "params": {"threadId": thread_id, "message": message}}
    )
