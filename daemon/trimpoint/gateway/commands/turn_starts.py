"""Starts turns, for clients and for the daemon itself: in a ready session, after a baseline
checkpoint, and with the prompt recorded beforehand.

A person's prompt has priority: a turn that the daemon would start itself gives way to a waiting
prompt and to a busy thread.
"""

from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager

import anyio
import msgspec
from msgspec import Raw
from trimpoint_protocol.errors import Reason

from trimpoint.codex.appserver.errors import ProviderExited
from trimpoint.core.decide.queueing import next_prompt
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import busy
from trimpoint.core.model.queue import QueuedPrompt
from trimpoint.core.model.state import ThreadState
from trimpoint.gateway.commands.unread_prompts import UnreadPrompts
from trimpoint.gateway.ids.identity import Identity
from trimpoint.gateway.session.clients import Client
from trimpoint.gateway.session.requests.errors import wire_error
from trimpoint.gateway.session.requests.ordered_request import request_in_order
from trimpoint.gateway.session.requests.request import ClientRequest
from trimpoint.operations.checkpoints.turn_captures import Baseline, TurnCaptures
from trimpoint.operations.provider.provider_threads import ProviderThreads
from trimpoint.operations.provider.settings import (
    UPDATABLE,
    acknowledged_changes,
    awaits_report,
    with_unconfirmed,
)
from trimpoint.operations.sessions import ReadySession, Sessions
from trimpoint.threads.ids import new_uuid7
from trimpoint.threads.registry import ThreadRegistry
from trimpoint.threads.writing.writer import ThreadWriter

# How long a request that Codex accepted keeps the thread busy without a turn that runs.
BEGUN_WITHIN_S = 5.0
_WITHDRAWN = "The prompt was withdrawn while it waited; nothing was sent to the agent."


class TurnStarts:
    """Sends the requests that begin turns; no other code does."""

    def __init__(
        self,
        registry: ThreadRegistry,
        sessions: Sessions,
        threads: ProviderThreads,
        identity: Identity,
        captures: TurnCaptures,
    ) -> None:
        self._registry = registry
        self._sessions = sessions
        self._threads = threads
        self._identity = identity
        self._captures = captures
        self.unread = UnreadPrompts()
        self._client_prompts: Counter[str] = Counter()
        self.before_queue: set[str] = set()
        """The threads in which a turn of the daemon's own comes before the queued prompts."""
        self._waiting: defaultdict[str, list[ClientRequest]] = defaultdict(list)

    @contextmanager
    def client_prompt_pending(self, thread_id: str) -> Generator[None]:
        """Marks a client's prompt as waiting for the thread until the block ends."""
        self._client_prompts[thread_id] += 1
        try:
            yield
        finally:
            self._client_prompts[thread_id] -= 1
            if not self._client_prompts[thread_id]:
                del self._client_prompts[thread_id]

    def has_prompt(self, state: ThreadState) -> bool:
        """Returns whether a client's prompt waits for the thread, or to be read in its turn."""
        return bool(self._client_prompts[state.id]) or self.unread.has_any(state)

    async def ready(self, thread_id: str) -> tuple[ReadySession, Baseline | None]:
        """Waits until the thread is ready for a turn, and returns its session and the baseline
        checkpoint, or None for the latter if there are no checkpoints.

        Repeats both if an operation, such as a revert of files, happened in between.
        """
        while True:
            session = await self._sessions.ready_for_turn(thread_id)
            operation = session.writer.state.operation
            baseline = await self._captures.before_turn(session.writer)
            session = await self._sessions.ready(thread_id)
            if (
                session.writer.state.operation is operation
            ):  # otherwise a revert may have changed the files since
                return session, baseline

    async def ready_for(
        self, client_request: ClientRequest, thread_id: str
    ) -> tuple[ReadySession, Baseline | None] | None:
        """Does as `ready` for a client's request; returns None if that was withdrawn meanwhile."""
        self._waiting[thread_id].append(client_request)
        try:
            found = await self.ready(thread_id)
        finally:
            self._waiting[thread_id].remove(client_request)
            if not self._waiting[thread_id]:
                del self._waiting[thread_id]
        return None if client_request.is_answered else found

    def withdraw(self, thread_id: str, client: Client) -> bool:
        """Refuses the client's requests that wait until the thread is ready: their turns will not
        begin. Returns whether there was one.
        """
        own = [one for one in self._waiting.get(thread_id, ()) if one.client is client]
        for one in own:
            one.refuse_with(wire_error(Reason.CANCELLED, _WITHDRAWN, "Send the prompt again."))
        return bool(own)

    async def send(
        self,
        session: ReadySession,
        baseline: Baseline | None,
        params: dict[str, Raw],
        answered: Callable[[Raw], None],
        queued: QueuedPrompt | None = None,
    ) -> None:
        """Sends `turn/start` with `params`. Call it directly after `ready`, without waiting in
        between.

        `answered` receives Codex's response before anything else of the turn is passed on. `queued`
        is the prompt of the queue that is sent; it leaves the queue in the record that begins the
        turn.

        :raises ProviderFailure: when Codex did not accept the turn.
        """
        writer = session.writer
        left = () if queued is None else (queued.id,)
        request_id = None if queued is None else queued.id
        async with self.requested(session, request_id) as request_id:

            def taken(raw: Raw) -> None:
                turn_id = self._identity.turn_of(str(msgspec.json.decode(raw)["turn"]["id"]))
                generation = writer.state.generation.number
                self._captures.turn_began(writer, turn_id, baseline)
                writer.record_facts(
                    ev.TurnStarted(turn_id, generation),
                    ev.TurnRequestEnded(request_id, turn_id),
                    *(ev.PromptSent(prompt_id, turn_id) for prompt_id in left),
                )
                writer.record_facts(*_overridden(writer.state.settings, params))
                self._threads.prompts.note(writer.thread_id, turn_id, params)
                answered(raw)

            with self.unread.sending(writer):
                await request_in_order(self._threads.link, "turn/start", params, taken)

    @asynccontextmanager
    async def requested(
        self, session: ReadySession, request_id: str | None = None
    ) -> AsyncGenerator[str]:
        """Makes the thread busy for a request that begins a turn, and yields the request's id, with
        which the block records the end of the request. Enter it directly after `ready`.

        The record is durable before Codex can act on the request: after a crash it shows that a
        turn may have begun. Whatever error the block raises, a request that no task waits for does
        not keep the thread busy.
        """
        writer, request_id = session.writer, request_id or new_uuid7()
        writer.record_facts(ev.TurnRequested(request_id))
        try:
            await self._registry.written(writer)
            _require_open(writer, request_id)
            with self._threads.read_back_if_unanswered(session.provider_thread_id):
                yield request_id
        except BaseException as error:
            writer.record_facts(ev.TurnRequestEnded(request_id, None, str(error)))
            raise

    async def send_other(
        self, session: ReadySession, forward: Callable[[], Awaitable[None]]
    ) -> None:
        """Sends a request other than `turn/start` that begins a turn, by calling `forward`. The
        thread is busy until the turn runs, which Codex reports after its answer.

        :raises ProviderFailure: when Codex did not accept the request.
        """
        async with self.requested(session) as request_id:
            await forward()
            begun = await self._running_turn(session.writer)
            session.writer.record_facts(ev.TurnRequestEnded(request_id, begun))

    async def _running_turn(self, writer: ThreadWriter) -> str | None:
        """Returns the turn that runs, once one does, or None if none begins within a bounded
        time.
        """
        begun = anyio.Event()

        def note(thread_id: str, record: ev.Record) -> None:
            if thread_id == writer.thread_id and any(
                isinstance(event, ev.TurnStarted) for event in record.events
            ):
                begun.set()

        self._registry.subscribe(note)
        try:
            with anyio.move_on_after(BEGUN_WITHIN_S):
                while writer.state.running_turn_id is None and not begun.is_set():
                    await begun.wait()
        finally:
            self._registry.unsubscribe(note)
        is_any = begun.is_set() or writer.state.running_turn_id is not None
        return writer.state.turns[-1].id if is_any else None

    async def start_automatic(
        self,
        thread_id: str,
        text: str = "",
        extra: dict[str, Raw] | None = None,
        is_wanted: Callable[[], bool] = lambda: True,
    ) -> bool:
        """Starts a turn with the prompt `text`, or without one for the context as it stands, unless
        a person's prompt is waiting or the thread is busy or archived. Returns whether the turn was
        started. `extra` are further parameters of `turn/start`; `is_wanted` is asked at last.

        :raises ThreadError: when the thread could not be made ready, or its journal cannot be
            written.
        :raises ProviderFailure: when Codex did not accept the turn.
        """
        if self._client_prompts[thread_id]:
            return False
        session, baseline = await self.ready(thread_id)
        state = session.writer.state
        is_queued = next_prompt(state) is not None and thread_id not in self.before_queue
        is_taken = bool(self._client_prompts[thread_id]) or is_queued
        if is_taken or state.archived or busy(state) is not None or not is_wanted():
            return False
        prompt = [{"type": "text", "text": text}] if text else []
        params = {"threadId": _raw(session.provider_thread_id), "input": _raw(prompt)}
        params |= extra or {}
        await self.send(session, baseline, params, lambda raw: None)
        return True


def _require_open(writer: ThreadWriter, request_id: str) -> None:
    """Raises if Codex has ended since the request was recorded: it ended the request, so the next
    Codex would begin a turn in a thread that is not busy.

    :raises ProviderExited: when it has.
    """
    if request_id not in writer.state.turn_requests:
        raise ProviderExited("it ended before the request was sent", "")


def _overridden(settings: bytes, params: dict[str, Raw]) -> tuple[ev.AnyEvent, ...]:
    """Returns the fact that a turn's parameters replace changes whose report is awaited, or
    nothing.
    """
    if not awaits_report(settings):
        return ()
    given = {name: params[name] for name in UPDATABLE if name in params}
    changes = acknowledged_changes(msgspec.json.decode(msgspec.json.encode(given)))
    return (ev.SettingsChanged(with_unconfirmed(settings, changes)),) if changes else ()


def _raw(value: object) -> Raw:
    return Raw(msgspec.json.encode(value))
