"""Routes Codex's notifications: records the facts that they report, then passes them on to clients
in the order of arrival.

Always true: a fact is applied before any client is notified, and `turn/completed` is sent only once
everything of that turn is durable (docs/spec/journal.md). Whatever clients are told about a thread,
requests of Codex included, goes through one queue (`ordered_sink.py`). While a thread is being
opened, messages about unknown provider threads are held back, so that none is lost, reordered, or
sent with a provider's id.
"""

from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import structlog
from anyio.abc import TaskGroup
from msgspec import Raw

from trimpoint.background import spawn
from trimpoint.codex.appserver.peer import FastPath
from trimpoint.codex.notifications.client_sink import ClientSink
from trimpoint.codex.notifications.foreign_usage import ForeignThreadUsage
from trimpoint.codex.notifications.message import CodexMessage
from trimpoint.codex.notifications.provider_compactions import ProviderCompactions
from trimpoint.codex.notifications.translate import RECORDED
from trimpoint.codex.notifications.watches import Watch
from trimpoint.core.model import events as ev
from trimpoint.core.model.commands import AbandonOpenWork
from trimpoint.operations.routing.cut_short import CutShort
from trimpoint.operations.routing.name_reports import NameReports
from trimpoint.operations.routing.ordered_sink import BeforeTurnEnds, OrderedSink
from trimpoint.operations.routing.pauses import Pauses
from trimpoint.operations.routing.prompts import Prompts
from trimpoint.operations.routing.routes import (
    RETIRED_THREAD_METHODS,
    TEMPORARY_THREAD_METHODS,
    TURN_LIMITS,
    Route,
    ThreadRole,
)
from trimpoint.operations.routing.sub_agents import SUB_AGENT_RESTS, SubAgents
from trimpoint.operations.routing.thread_messages import (
    WENT_AWAY,
    alike,
    facts_in,
    has_ended,
    interrupted,
    provider_thread_of,
    rests,
    turn_named_in,
)
from trimpoint.operations.routing.turn_end_buffer import TurnEndBuffer
from trimpoint.threads.errors import JournalRefuses, ThreadError
from trimpoint.threads.registry import ThreadRegistry
from trimpoint.threads.writing.writer import ThreadWriter

log = structlog.get_logger()


class NotificationRouter:
    """Handles the messages of the link to Codex. Implements `LinkHandler`."""

    def __init__(
        self,
        registry: ThreadRegistry,
        sink: ClientSink,
        before_turn_ends: BeforeTurnEnds,
        tasks: TaskGroup,
    ) -> None:
        self.watches: dict[str, Watch] = {}
        self._sink = OrderedSink(registry, sink, before_turn_ends, tasks)
        self.in_order, self.begun = self._sink.in_order, self._sink.begun
        self.turn_ends = TurnEndBuffer(registry, self._sink.publish, tasks)
        self.fast_path: FastPath | None = None
        self._child_exit_subscribers: list[Callable[[], None]] = []
        self._rest_subscribers: list[Callable[[str], None]] = []
        self._registry = registry
        self._tasks = tasks
        self._routes: dict[str, Route] = {}
        self._opening = 0
        self._buffered: dict[str, list[CodexMessage]] = {}
        self._paused: Counter[str] = Counter()
        self._quarantined: dict[str, list[CodexMessage]] = {}
        self._unloadable: set[str] = set()
        self._sub_agents = SubAgents(registry)
        self._provider_compactions = ProviderCompactions()
        self.foreign_usage = ForeignThreadUsage()
        self.names = NameReports()
        self.prompts, self.pauses = Prompts(), Pauses()
        self.cut_short = CutShort(registry.unfinished_items)

    def subscribe_child_exit(self, subscriber: Callable[[], None]) -> None:
        """Calls `subscriber` each time Codex has ended, after its open turns and requests were
        closed.
        """
        self._child_exit_subscribers.append(subscriber)

    def subscribe_rest(self, subscriber: Callable[[str], None]) -> None:
        """Calls `subscriber` with a thread's id each time Codex reports that the thread is idle."""
        self._rest_subscribers.append(subscriber)

    def bind(self, provider_thread_id: str, route: Route) -> None:
        """Assigns a provider thread to a thread. Notifications that were held back wait for
        `release`.
        """
        self.fast_path = None
        self._routes[provider_thread_id] = route

    def route_of(self, provider_thread_id: str) -> Route | None:
        """Returns the route of a provider thread, or None if it is not ours. If it was not bound in
        this run, the registry's index decides.
        """
        route = self._routes.get(provider_thread_id)
        if route is None and (owner := self._registry.owner_of(provider_thread_id)) is not None:
            generations = self._provider_threads_of(owner)
            if generations and generations[-1] == provider_thread_id:
                route = Route(owner, ThreadRole.CURRENT, len(generations))
            else:
                known = provider_thread_id in generations
                number = generations.index(provider_thread_id) + 1 if known else 0
                route = Route(owner, ThreadRole.RETIRED, number)
            self._routes[provider_thread_id] = route
        return route

    def _provider_threads_of(self, thread_id: str) -> list[str | None]:
        if (writer := self._registry.loaded(thread_id)) is not None:
            return [generation.provider_thread_id for generation in writer.state.generations]
        summary = self._registry.summaries.get(thread_id)
        return summary.provider_thread_ids if summary is not None else []

    @contextmanager
    def buffering(self) -> Generator[None]:
        """Holds back notifications of unknown provider threads while a thread is being opened."""
        self._opening += 1
        self.fast_path = None
        try:
            yield
        finally:
            self._opening -= 1
            if self._opening == 0:
                for provider_thread_id in list(self._buffered):
                    self.release(provider_thread_id)

    @contextmanager
    def pausing(self, provider_thread_id: str) -> Generator[None]:
        """Holds back a provider thread's notifications until a client's request is answered."""
        self._paused[provider_thread_id] += 1
        self._buffered.setdefault(provider_thread_id, [])
        self.fast_path = None
        try:
            yield
        finally:
            self._paused[provider_thread_id] -= 1
            if not self._paused[provider_thread_id]:
                del self._paused[provider_thread_id]
            self.release(provider_thread_id)

    def release(self, provider_thread_id: str) -> None:
        """Passes on the notifications that were held back, once the provider thread is bound and
        its opener has sent its own answer.
        """
        if provider_thread_id in self._paused:
            return
        for buffered in self._buffered.pop(provider_thread_id, ()):
            try:
                self.route(buffered)
            except Exception:
                # A defect in handling one message must not lose the next ones.
                log.exception("held_back_message_broke", method=buffered.method)

    def quarantine(self, provider_thread_id: str) -> None:
        """Holds back the messages of a provider thread until `take_quarantined`. A watch still
        receives them.
        """
        self._quarantined[provider_thread_id] = []
        for buffered in self._buffered.pop(provider_thread_id, ()):
            self._quarantine(provider_thread_id, buffered)

    def is_quarantined(self, provider_thread_id: str) -> bool:
        """Returns whether the provider thread is quarantined. The quarantine ends when Codex
        ends.
        """
        return provider_thread_id in self._quarantined

    def take_quarantined(self, provider_thread_id: str) -> list[CodexMessage] | None:
        """Ends the quarantine and returns the messages that were held back, or None if Codex has
        ended since.
        """
        return self._quarantined.pop(provider_thread_id, None)

    def notify(self, thread_id: str, method: str, params: dict[str, Any]) -> None:
        """Sends a thread's clients a notification that Codex itself cannot send."""
        message = CodexMessage.compose(method, {"threadId": thread_id, **params})
        self._sink.publish(thread_id, message)

    def on_notification(self, method: str, params: Raw, line: bytes) -> None:
        """Implements `PeerHandler`: routes a line of Codex."""
        self.route(CodexMessage(method, params, line))

    def route(self, message: CodexMessage) -> None:
        """Records the facts of a message and passes it on, or holds it back."""
        self.fast_path = None
        provider_thread_id = provider_thread_of(message)
        if provider_thread_id is None:
            if message.request_id is None:
                self._sink.publish(None, message)
            else:
                self._ask(None, message)
            return
        if provider_thread_id in self._quarantined:
            self._quarantine(provider_thread_id, message)
            return
        route = self._routes.get(provider_thread_id) or self.route_of(provider_thread_id)
        if provider_thread_id in self._buffered or (
            route is None and self._opening and not self.is_sub_agent(provider_thread_id)
        ):
            self._buffered.setdefault(provider_thread_id, []).append(message)
        elif route is not None and self._must_load(route, message):
            self._buffered[provider_thread_id] = [message]
            spawn(self._tasks, self._load, route.thread_id, provider_thread_id)
        elif message.request_id is not None:
            self._ask(None if route is None else route.thread_id, message)
        elif route is None:
            self._sub_agents.on_foreign_notification(provider_thread_id, message)
            self.foreign_usage.on_notification(provider_thread_id, message)
            self._sink.publish(None, message)
        elif route.role is ThreadRole.CURRENT:
            self._route_current(route, provider_thread_id, message)
        else:
            self._route_other(route, provider_thread_id, message)

    def must_stay_in_memory(self, thread_id: str) -> bool:
        """Returns whether the thread must stay in memory, because notifications wait to be sent or
        it has had sub-agents.
        """
        return self._sink.is_waiting(thread_id) or self._sub_agents.has_any(thread_id)

    def is_sub_agent(self, provider_thread_id: str) -> bool:
        """Returns whether the provider thread belongs to a sub-agent of a thread of ours."""
        return self._sub_agents.is_one(provider_thread_id)

    def _must_load(self, route: Route, message: CodexMessage) -> bool:
        records = route.role is ThreadRole.CURRENT or (
            route.role is ThreadRole.RETIRED and message.method in RETIRED_THREAD_METHODS
        )
        return (
            records
            and (message.method in RECORDED or message.request_id is not None)
            and route.thread_id not in self._unloadable
            and self._registry.loaded(route.thread_id) is None
        )

    async def _load(self, thread_id: str, provider_thread_id: str) -> None:
        """Opens a thread that is not in memory, so that facts about it can be recorded, then
        releases its notifications.
        """
        writer: ThreadWriter | None = None
        try:
            writer = await self._registry.thread(thread_id)
        except ThreadError as error:
            log.error("facts_lost", thread_id=thread_id, detail=str(error))
            self._unloadable.add(thread_id)
        finally:
            self.release(provider_thread_id)
            self._unloadable.discard(thread_id)
            del writer  # referenced until here, so that it stays loaded for its facts

    def on_server_request(self, request_id: Raw, method: str, params: Raw) -> None:
        """Implements `PeerHandler`: passes a request of Codex on to clients."""
        self.route(CodexMessage(method, params, request_id=request_id))

    def _ask(self, thread_id: str | None, request: CodexMessage) -> None:
        assert request.request_id is not None
        self._sink.ask(thread_id, request.request_id, request.method, request.params)

    def on_epoch_ended(self, epoch: int, reason: str) -> None:
        """Implements `LinkHandler`: ends the open turns of the epoch, for clients, too."""
        self.fast_path = None
        for watch in self.watches.values():
            watch.abort(f"{WENT_AWAY}: {reason}")
        self._sink.expire_server_requests(reason)
        self.turn_ends.forget_epoch()
        self._quarantined.clear()
        for held_back in self._buffered.values():
            held_back.clear()  # what Codex said before its end must not begin a turn after it
        for writer in self._registry.loaded_writers():
            self._end_turn(writer, f"{WENT_AWAY}: {reason}")
        self._sub_agents.forget_epoch()
        self._provider_compactions.forget_epoch()
        self.foreign_usage.forget_epoch()
        self.names.forget_epoch()
        for callback in self._child_exit_subscribers:
            callback()

    def _route_current(self, route: Route, provider_thread_id: str, message: CodexMessage) -> None:
        answers_compaction = self._provider_compactions.is_compaction_reply(
            provider_thread_id, message
        )
        if message.method in RECORDED:
            if not answers_compaction and not self._is_own_name(route, provider_thread_id, message):
                self.record(route, message)
            if message.method == "item/completed":
                self._sub_agents.on_parent_item(route.thread_id, message)
        elif message.method in SUB_AGENT_RESTS:
            # The thread may be a sub-agent's that a client has opened.
            self._sub_agents.on_foreign_notification(provider_thread_id, message)
        self.cut_short.note(route.thread_id, message)
        if not self.turn_ends.intercept(route.thread_id, message):
            self._pass_on(route, self.pauses.told(route.thread_id, message))
        if rests(message):
            for callback in self._rest_subscribers:
                callback(route.thread_id)

    def _is_own_name(self, route: Route, provider_thread_id: str, message: CodexMessage) -> bool:
        """Returns whether Codex reports a name that a client of ours gave, or an older one."""
        if message.method != "thread/name/updated":
            return False
        is_own = self.names.is_own(provider_thread_id, message.member("threadName"))
        writer = self._registry.loaded(route.thread_id)
        return is_own or (writer is not None and writer.state.name_unconfirmed)

    def _pass_on(self, route: Route, message: CodexMessage) -> None:
        if message.method != "thread/started" or route.generation == 1:
            self._sink.publish(route.thread_id, message)
        if not self._sink.is_waiting(route.thread_id):
            self._arm_fast_path(route.thread_id, message)

    def _quarantine(self, provider_thread_id: str, message: CodexMessage) -> None:
        self._quarantined[provider_thread_id].append(message)
        if (watch := self.watches.get(provider_thread_id)) is not None:
            watch.on_message(message)

    def _arm_fast_path(self, thread_id: str, message: CodexMessage) -> None:
        """Prepares the fast path for further deltas of the same thread, or items that Codex was
        given. Any other message disarms it.
        """
        begins = alike(message, self._registry.loaded(thread_id))
        if begins is not None:
            self.fast_path = FastPath(begins, partial(self._run, thread_id, message.method))

    def _run(self, thread_id: str, method: str, lines: list[bytes]) -> None:
        self.cut_short.note_run(thread_id, method, lines)
        self._sink.publish_run(thread_id, method, lines)

    def _route_other(self, route: Route, provider_thread_id: str, message: CodexMessage) -> None:
        watch = self.watches.get(provider_thread_id)
        if watch is not None:
            watch.on_message(message)
            if (
                route.role is ThreadRole.TEMPORARY
                and message.method not in TEMPORARY_THREAD_METHODS
            ):
                self._sink.publish_compaction(route.thread_id, message)
        elif route.role is ThreadRole.RETIRED and message.method in RETIRED_THREAD_METHODS:
            self._route_retired(route, message)

    def _route_retired(self, route: Route, message: CodexMessage) -> None:
        """Records what a session that was left still reports. Clients are told of a turn only if it
        is recorded: Codex began it as the session was left, and ends it when it is archived. It may
        have been read back before Codex said that it began.
        """
        writer = self._registry.loaded(route.thread_id)
        running = None if writer is None else writer.state.running_turn_id
        if message.method != "turn/started" or (route.generation and running is None):
            self.record(route, message)
        turn_id = turn_named_in(message)
        is_told = turn_id in {running, self._sink.begun(route.thread_id)} - {None}
        if message.method not in TURN_LIMITS:
            is_told = is_told or writer is None or has_ended(writer.state, turn_id)
        if is_told or (writer is not None and writer.state.running_turn_id != running):
            self._sink.publish(route.thread_id, message)

    def record(self, route: Route, message: CodexMessage) -> None:
        """Records the facts of a notification, if it has any."""
        writer = self._registry.loaded(route.thread_id)
        if writer is not None and (facts := facts_in(message, route, writer)):
            self.record_facts(writer, facts)

    def record_facts(self, writer: ThreadWriter, facts: tuple[ev.AnyEvent, ...]) -> None:
        """Records facts; those that cut a turn short with what was unfinished in it."""
        known = self.prompts.before_end(writer.state, facts)
        cut = self.cut_short.before_end(writer.thread_id, known)
        writer.record_facts(*self.pauses.facts(writer.thread_id, cut))

    def _end_turn(self, writer: ThreadWriter, reason: str) -> None:
        state, said = writer.state, self.cut_short.take(writer.thread_id)
        if not state.exists or writer.read_only is not None:
            return
        writer.record_facts(*said)
        told = None if self.turn_ends.is_buffered(state.id) else self._sink.begun(state.id)
        # What the disk has refused is not in the state, but clients were told of it.
        turn_ids = dict.fromkeys((state.running_turn_id, state.turn_aliases.get(told or "", told)))
        with suppress(JournalRefuses):  # the writer writes it when the disk can be written again
            writer.submit(AbandonOpenWork(reason))
        for turn_id in filter(None, turn_ids):
            for method, params in interrupted(state.id, turn_id, reason):
                self._sink.publish(state.id, CodexMessage.compose(method, params))
