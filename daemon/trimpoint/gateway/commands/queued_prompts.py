"""Sends the queued prompts of all threads of one Codex, each as soon as its thread can take it,
whether or not a client is connected.

Always true: a prompt is sent at most once. It leaves the queue in the record that begins its turn.
If the daemon or Codex ends before that record, the turns that Codex has recorded tell whether the
prompt was accepted.
"""

import msgspec
import structlog
from anyio.abc import TaskGroup
from msgspec import Raw

from trimpoint.background import spawn
from trimpoint.codex.appserver.errors import ProviderError, ProviderFailure, ProviderTimeout
from trimpoint.core.decide.queueing import is_recorded, next_prompt
from trimpoint.core.model import events as ev
from trimpoint.core.model.queue import QueuedPrompt
from trimpoint.gateway.commands.turn_starts import TurnStarts
from trimpoint.gateway.session.clients import Clients
from trimpoint.operations.sessions import ReadySession
from trimpoint.threads.errors import JournalRefuses, ThreadError
from trimpoint.threads.registry import ThreadRegistry
from trimpoint.threads.writing.writer import ThreadWriter

log = structlog.get_logger()

MAX_ATTEMPTS = 3
"""How often a prompt is sent if Codex ends each time before it answers."""

CHANGES = (
    ev.PromptQueued,
    ev.PromptEdited,
    ev.PromptsReordered,
    ev.PromptWithdrawn,
    ev.PromptSent,
)
CHANGED = "thread/queue/changed"


class QueuedPrompts:
    """Sends queued prompts, in tasks of `tasks`. Also tells clients of changed queues as Codex
    does.
    """

    def __init__(
        self, registry: ThreadRegistry, clients: Clients, starts: TurnStarts, tasks: TaskGroup
    ) -> None:
        self._registry = registry
        self._clients = clients
        self._starts = starts
        self._tasks = tasks
        self._sending: set[str] = set()
        registry.subscribe(self._on_record)
        for writer in registry.loaded_writers():
            self.look_at(writer)

    def _on_record(self, thread_id: str, record: ev.Record) -> None:
        if any(isinstance(event, CHANGES) for event in record.events):
            message = {"method": CHANGED, "params": {"threadId": thread_id}}
            self._clients.broadcast(thread_id, CHANGED, lambda: msgspec.json.encode(message))
        if (writer := self._registry.loaded(thread_id)) is not None:
            self.look_at(writer)

    def look_at(self, writer: ThreadWriter) -> None:
        """Sends the first prompt of the thread if it can be sent now."""
        thread_id = writer.thread_id
        if (
            writer.read_only is None
            and thread_id not in self._sending
            and self._next(writer) is not None
        ):
            self._sending.add(thread_id)
            spawn(self._tasks, self._send_waiting, thread_id)

    async def _send_waiting(self, thread_id: str) -> None:
        """Sends the prompts that can be sent now. Each record of the thread begins this anew."""
        try:
            with structlog.contextvars.bound_contextvars(thread_id=thread_id):
                await self._send_next(thread_id)
        except JournalRefuses as error:
            log.warning("queued_prompt_not_sent", detail=str(error))
        except Exception:  # a defect in one thread's queue must not end the daemon
            log.exception("queue_broke")
        finally:
            self._sending.discard(thread_id)

    async def _send_next(self, thread_id: str) -> None:
        """Sends the next prompt, if there is one. The queue is held if Codex does not accept it."""
        writer = await self._registry.thread(thread_id)
        for attempt in range(1, MAX_ATTEMPTS + 1):
            try:
                await self._send_first(writer)
            except JournalRefuses:
                raise
            except (ProviderFailure, ThreadError) as error:
                log.warning("queued_prompt_not_sent", attempt=attempt, detail=str(error))
                has_answered = isinstance(error, ProviderError | ProviderTimeout)
                if has_answered or attempt == MAX_ATTEMPTS:
                    writer.record_facts(ev.QueueHeld("refused", _problem(error)))
                    return
            else:
                return

    def _next(self, writer: ThreadWriter) -> QueuedPrompt | None:
        is_later = writer.thread_id in self._starts.before_queue
        return None if is_later else next_prompt(writer.state)

    async def _send_first(self, writer: ThreadWriter) -> None:
        if self._next(writer) is None:
            return
        session, baseline = await self._starts.ready(writer.thread_id)
        prompt = self._next(writer)  # a client may have changed the queue meanwhile
        if prompt is None:
            return
        turn_id = is_recorded(writer.state, prompt)
        if turn_id is not None:
            writer.record_facts(ev.PromptSent(prompt.id, turn_id))
        else:
            params = _turn_start(session, prompt)
            await self._starts.send(session, baseline, params, _nothing, prompt)


def _problem(error: Exception) -> str:
    return error.message if isinstance(error, ProviderError) else str(error)


def _turn_start(session: ReadySession, prompt: QueuedPrompt) -> dict[str, Raw]:
    return {
        "threadId": Raw(msgspec.json.encode(session.provider_thread_id)),
        "input": Raw(prompt.input),
        "clientUserMessageId": Raw(msgspec.json.encode(prompt.client_user_message_id)),
    }


def _nothing(raw: Raw) -> None:
    """Takes Codex's response, which no client waits for."""
