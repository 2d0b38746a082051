"""Sends clients what they are told about a thread in one order, and the end of a turn only once
everything that was recorded before it is durable.

Always true: while something about a thread waits, all that comes later waits behind it: turns and
their items, requests of Codex, the turns of compactions and of typed commands. The end of a turn is
told once, whether Codex or the daemon reports it, or both, and before another turn begins.
"""

from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from typing import NamedTuple

import anyio
import structlog
from anyio.abc import TaskGroup
from msgspec import Raw

from trimpoint.background import spawn
from trimpoint.codex.notifications.client_sink import ClientSink
from trimpoint.codex.notifications.message import CodexMessage
from trimpoint.core.model import events as ev
from trimpoint.core.model.operations import Phase, is_open
from trimpoint.operations.routing.thread_messages import ended_as_interrupted
from trimpoint.operations.routing.turn_end_buffer import BEGUN, ENDED, turn_id_of
from trimpoint.threads.errors import JournalRefuses
from trimpoint.threads.registry import ThreadRegistry

log = structlog.get_logger()

BeforeTurnEnds = Callable[[str], Awaitable[None]]
"""Awaited with the thread's id before clients are notified of the end of a turn."""

Send = Callable[[], object]
# A disk that does not answer must not keep everything that Codex says in memory, unseen.
LONGEST_WAIT_S = 10.0
# Two reports of one end come within seconds of each other.
REMEMBERED_ENDS = 256
OVERTAKEN = "Codex began another turn before it reported how this one ended."


class Outgoing(NamedTuple):
    """Something to be sent. With `when_durable`, only once all facts before it are durable."""

    send: Send
    when_durable: bool


class OrderedSink:
    """Passes on to `sink` in order, and implements `ClientSink` itself."""

    def __init__(
        self,
        registry: ThreadRegistry,
        sink: ClientSink,
        before_turn_ends: BeforeTurnEnds,
        tasks: TaskGroup,
    ) -> None:
        self._registry = registry
        self._sink = sink
        self._before_turn_ends = before_turn_ends
        self._tasks = tasks
        self._waiting: dict[str, list[Outgoing]] = {}
        self._epochs_ended = 0
        self._ended: deque[tuple[str, str]] = deque(maxlen=REMEMBERED_ENDS)
        self._begun: dict[str, str] = {}
        registry.subscribe(self._on_record)

    def is_waiting(self, thread_id: str) -> bool:
        """Returns whether something about the thread waits."""
        return thread_id in self._waiting

    def begun(self, thread_id: str) -> str | None:
        """Returns the turn that clients were told has begun, and not that it has ended. On a disk
        that refuses, the thread's state may not have it.
        """
        return self._begun.get(thread_id)

    def publish(self, thread_id: str | None, message: CodexMessage) -> None:
        """Sends a notification; the end of a turn once all facts before it are durable.

        The facts themselves are applied at once, so that a thread with another turn is busy; only
        clients wait for the disk.
        """
        send = partial(self._sink.publish, thread_id, message)
        if thread_id is None or message.method != ENDED:
            if thread_id is not None and message.method == BEGUN:
                self._begin(thread_id, self._turn_in(thread_id, message))
            self.in_order(thread_id, send)
            return
        end = thread_id, self._turn_in(thread_id, message)
        if self._begun.get(thread_id) == end[1]:
            del self._begun[thread_id]
        if end in self._ended:
            # Codex reports it after the daemon has done so, or died before it was durable.
            log.info("end_told_already", thread_id=thread_id, turn_id=end[1])
            return
        self._ended.append(end)
        waiting = self._waiting.setdefault(thread_id, [])
        waiting.append(Outgoing(send, when_durable=True))
        if len(waiting) == 1:
            spawn(self._tasks, self._send_waiting, thread_id, waiting)

    def _begin(self, thread_id: str, turn_id: str) -> None:
        """Notes that a turn begins, before which clients are told that the one before it has ended.
        Codex may say so later, as of a turn that it began in a session as that was left.
        """
        before = self._begun.get(thread_id)
        if before is not None and before != turn_id:
            method, params = ended_as_interrupted(thread_id, before, OVERTAKEN)
            self.publish(thread_id, CodexMessage.compose(method, params))
        self._begun[thread_id] = turn_id

    def _turn_in(self, thread_id: str, message: CodexMessage) -> str:
        """Returns the id of the turn that begins or ends; Codex has another one for a repeated
        turn.
        """
        turn_id, writer = turn_id_of(message), self._registry.loaded(thread_id)
        return turn_id if writer is None else writer.state.turn_aliases.get(turn_id, turn_id)

    def publish_compaction(self, thread_id: str, message: CodexMessage) -> None:
        self.in_order(thread_id, partial(self._sink.publish_compaction, thread_id, message))

    def end_compaction(self, thread_id: str, why: str) -> None:
        self.in_order(thread_id, partial(self._sink.end_compaction, thread_id, why))

    def publish_run(self, thread_id: str, method: str, lines: list[bytes]) -> None:
        self.in_order(thread_id, partial(self._sink.publish_run, thread_id, method, lines))

    def ask(self, thread_id: str | None, request_id: Raw, method: str, params: Raw) -> None:
        """Sends a request of Codex, unless Codex has ended when its turn comes."""
        epoch = self._epochs_ended

        def ask() -> None:
            if epoch == self._epochs_ended:
                self._sink.ask(thread_id, request_id, method, params)

        self.in_order(thread_id, ask)

    def expire_server_requests(self, reason: str) -> None:
        """Withdraws the requests of a Codex that has ended, also those that wait to be sent."""
        self._epochs_ended += 1
        self._sink.expire_server_requests(reason)

    def in_order(self, thread_id: str | None, send: Send) -> None:
        """Calls `send` at once, or behind what waits for the thread."""
        if thread_id is not None and (waiting := self._waiting.get(thread_id)) is not None:
            waiting.append(Outgoing(send, when_durable=False))
        else:
            send()

    def _on_record(self, thread_id: str, record: ev.Record) -> None:
        """Ends the turn of a compaction that has ended without it, as when Codex was killed."""
        for event in record.events:
            if isinstance(event, ev.OperationAdvanced) and not is_open(Phase(event.phase)):
                self.end_compaction(thread_id, event.message)

    async def _send_waiting(self, thread_id: str, waiting: list[Outgoing]) -> None:
        while waiting:
            covered = len(waiting)
            if any(one.when_durable for one in waiting):
                await self._settle(thread_id)
            for one in waiting[:covered]:
                _send(thread_id, one.send)
            del waiting[:covered]
        del self._waiting[thread_id]

    async def _settle(self, thread_id: str) -> None:
        try:
            await self._make_durable(thread_id)
            await self._before_turn_ends(thread_id)
        except Exception:
            # A defect in what is waited for must not keep the thread's notifications for ever.
            log.exception("wait_before_delivery_broke", thread_id=thread_id)

    async def _make_durable(self, thread_id: str) -> None:
        """Waits until what was recorded is durable, but not without end: the facts are kept in
        memory and written when the disk can be written again, and clients must not wait for that.
        """
        synced = anyio.Event()
        spawn(self._tasks, self._sync, thread_id, synced)
        with anyio.move_on_after(LONGEST_WAIT_S) as scope:
            await synced.wait()
        if scope.cancelled_caught:
            log.error("turn_not_durable", thread_id=thread_id, detail="the disk does not answer")

    async def _sync(self, thread_id: str, synced: anyio.Event) -> None:
        """Flushes in a task of its own, because a write that has begun cannot be cancelled."""
        writer = self._registry.loaded(thread_id)
        try:
            if writer is not None:
                await writer.flush()
        except JournalRefuses as error:
            log.error("turn_not_durable", thread_id=thread_id, detail=error.detail)
        finally:
            synced.set()


def _send(thread_id: str, send: Send) -> None:
    try:
        send()
    except Exception:
        # A defect in sending one message must not stop the next ones.
        log.exception("line_not_passed_on", thread_id=thread_id)
