"""What Codex says on its own accord: recorded as facts where it is one, then passed to the audience in the order it came.

The law: a fact is folded before anyone hears of it, and `turn/completed` is heard only once everything of that turn is durable
(spec §7). A provider thread that is not known yet is held back while a thread is being opened, so that no notification is
lost, reordered, or shown under a provider's id.
"""

from collections.abc import Awaitable, Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, NamedTuple

import msgspec
import structlog
from anyio.abc import TaskGroup
from msgspec import Raw

from trimpoint.codex.appserver.peer import Express
from trimpoint.codex.notifications.client_sink import Audience, Nobody
from trimpoint.codex.notifications.foreign_usage import SideMeters
from trimpoint.codex.notifications.provider_compactions import OwnCompactions
from trimpoint.codex.notifications.translate import RECORDED, translate
from trimpoint.codex.notifications.watches import Watch
from trimpoint.core.model.commands import AbandonOpenWork
from trimpoint.operations.routing.sub_agents import SUB_AGENT_RESTS, SubAgents, status_in
from trimpoint.operations.routing.turn_end_buffer import ENDED, Endings
from trimpoint.threads.errors import EngineError, JournalRefuses
from trimpoint.threads.registry import Engine
from trimpoint.threads.writer import ThreadWriter

log = structlog.get_logger()

# What a retired provider thread may still tell: the output of a terminal that outlives the trim.
RETIRED_MAY_SAY = frozenset({"item/commandExecution/outputDelta", "item/completed"})
# What is the scratch thread's own affair and not part of the compaction that clients watch.
SCRATCH_KEEPS = frozenset(
    {"thread/started", "thread/closed", "thread/archived", "thread/deleted", "thread/name/updated", "warning",
     "thread/readState/changed", "thread/settings/updated", "thread/tokenUsage/updated", "rawResponseItem/completed"}
)  # fmt: skip
# The statuses in which Codex is not at work on a thread.
RESTING = frozenset({"idle", "systemError", "notLoaded"})

THREAD_ID_MEMBER = b',"params":{"threadId":"'
# Of `{"method":"` and `"`, around the method's name, and the member above.
LEADING_BYTES = len(b'{"method":""') + len(THREAD_ID_MEMBER)


class Route(NamedTuple):
    """Whose a provider thread is. `role`: current | retired | scratch (its turn is shown) | aside (nothing of it is)."""

    thread_id: str
    role: str
    generation: int


class _ThreadId(msgspec.Struct, rename="camel"):
    thread_id: str | None = None


class _Started(msgspec.Struct):
    thread: dict[str, Any]


_decode_thread_id = msgspec.json.Decoder(_ThreadId).decode


class Held(NamedTuple):
    """What was said of a provider thread that nobody hears yet; a question has a `request_id`, a notification its `line`."""

    method: str
    params: Raw
    line: bytes
    request_id: Raw | None = None


class Inbound:
    """The link's handler."""

    def __init__(self, engine: Engine) -> None:
        self.watches: dict[str, Watch] = {}
        self.endings = Endings(engine, self._tell)
        self.express: Express | None = None
        self.on_epoch_end: list[Callable[[], None]] = []
        self.on_rest: list[Callable[[str], None]] = []
        """Called with a thread of which Codex says that it rests."""
        self.before_turn_ends: Callable[[str], Awaitable[None]] = _at_once
        self._engine = engine
        self._audience: Audience = Nobody()
        self._tasks: TaskGroup | None = None
        self._routes: dict[str, Route] = {}
        self._opening = 0
        self._held: dict[str, list[Held]] = {}
        self._rehearsals: dict[str, list[Held]] = {}
        self._unloadable: set[str] = set()
        self._settling: dict[str, list[tuple[str, bytes]]] = {}
        self._sub_agents = SubAgents(engine)
        self._own_compactions = OwnCompactions()
        self.side_meters = SideMeters()

    def start(self, tasks: TaskGroup, audience: Audience) -> None:
        """Pass on to `audience`; turns settle in `tasks`."""
        self._tasks, self._audience = tasks, audience
        self.endings.start(tasks)

    def bind(self, provider_thread_id: str, route: Route) -> None:
        """Say whose a provider thread is; what was held back of it waits for `release`."""
        self.express = None
        self._routes[provider_thread_id] = route

    def route_of(self, provider_thread_id: str) -> Route | None:
        """Whose a provider thread is, from the engine's index when it was not bound in this run."""
        route = self._routes.get(provider_thread_id)
        if route is None and (owner := self._engine.owner_of(provider_thread_id)) is not None:
            generations = self._provider_threads_of(owner)
            if generations and generations[-1] == provider_thread_id:
                route = Route(owner, "current", len(generations))
            else:
                route = Route(owner, "retired", 0)
            self._routes[provider_thread_id] = route
        return route

    def _provider_threads_of(self, thread_id: str) -> list[str | None]:
        if (writer := self._engine.loaded(thread_id)) is not None:
            return [generation.provider_thread_id for generation in writer.state.generations]
        summary = self._engine.summaries.get(thread_id)
        return summary.provider_thread_ids if summary is not None else []

    @contextmanager
    def holding(self) -> Generator[None]:
        """While a thread is being opened, hold back what is said of threads nobody knows yet."""
        self._opening += 1
        self.express = None
        try:
            yield
        finally:
            self._opening -= 1
            if self._opening == 0:
                for provider_thread_id in list(self._held):
                    self.release(provider_thread_id)

    def release(self, provider_thread_id: str) -> None:
        """Pass on what was held back of a thread that is known now; its opener has said first what it had to."""
        for held in self._held.pop(provider_thread_id, ()):
            self.on_notification(held.method, held.params, held.line)

    def rehearse(self, provider_thread_id: str) -> None:
        """Keep all that is said of a provider thread to ourselves until `rehearsed`; a watch on it hears it."""
        self._rehearsals[provider_thread_id] = []
        for held in self._held.pop(provider_thread_id, ()):
            self._rehearse(provider_thread_id, held)

    def is_rehearsing(self, provider_thread_id: str) -> bool:
        """Whether what is said of the thread is being kept; no longer when Codex is gone."""
        return provider_thread_id in self._rehearsals

    def rehearsed(self, provider_thread_id: str) -> list[Held] | None:
        """What was said, None when Codex is gone since; from here on the thread is heard as any other."""
        return self._rehearsals.pop(provider_thread_id, None)

    def say(self, thread_id: str, method: str, params: dict[str, Any]) -> None:
        """Tell a thread's clients what Codex would say, if it knew."""
        line = msgspec.json.encode({"method": method, "params": {"threadId": thread_id, **params}})
        self._audience.deliver(thread_id, method, line)

    def on_notification(self, method: str, params: Raw, line: bytes) -> None:
        """`PeerHandler`. What is only passed on is looked at once, without decoding its parameters."""
        self.express = None
        provider_thread_id = _leading_thread_id(method, line) or _thread_id_of(method, params)
        if provider_thread_id is None:
            self._audience.deliver(None, method, line)
            return
        if provider_thread_id in self._rehearsals:
            self._rehearse(provider_thread_id, Held(method, params, line))
            return
        route = self._routes.get(provider_thread_id) or self.route_of(provider_thread_id)
        if provider_thread_id in self._held or (route is None and self._opening):
            self._held.setdefault(provider_thread_id, []).append(Held(method, params, line))
        elif route is not None and method in RECORDED and self._must_load(route, method):
            self._held[provider_thread_id] = [Held(method, params, line)]
            self._tasks_of_their_own().start_soon(self._load, route.thread_id, provider_thread_id)
        elif route is None:
            self._sub_agents.hear_stranger(provider_thread_id, method, params)
            self.side_meters.hear(provider_thread_id, method, params)
            self._audience.deliver(None, method, line)
        elif route.role == "current":
            self._take_current(route, provider_thread_id, method, params, line)
        else:
            self._take_other(route, provider_thread_id, method, params, line)

    def is_expecting(self, thread_id: str) -> bool:
        """Whether more is to come about a thread that only this module can place: it must stay in memory for that."""
        return thread_id in self._settling or self._sub_agents.has_any(thread_id)

    def _must_load(self, route: Route, method: str) -> bool:
        records = route.role == "current" or (route.role == "retired" and method in RETIRED_MAY_SAY)
        return records and route.thread_id not in self._unloadable and self._engine.loaded(route.thread_id) is None

    async def _load(self, thread_id: str, provider_thread_id: str) -> None:
        """Codex speaks of a thread that is not in memory; what it says waits, so that it can be written down."""
        writer: ThreadWriter | None = None
        try:
            writer = await self._engine.thread(thread_id)
        except EngineError as error:
            log.error("facts_lost", thread_id=thread_id, detail=str(error))
            self._unloadable.add(thread_id)
        self.release(provider_thread_id)
        self._unloadable.discard(thread_id)
        del writer  # held until here, so that it cannot leave again before it has heard

    def on_server_request(self, request_id: Raw, method: str, params: Raw) -> None:
        """`PeerHandler`."""
        provider_thread_id = _thread_id_of(method, params)
        if provider_thread_id in self._rehearsals:
            self._rehearse(provider_thread_id, Held(method, params, b"", request_id))
            return
        route = self.route_of(provider_thread_id) if provider_thread_id is not None else None
        self._audience.ask(route.thread_id if route is not None else None, request_id, method, params)

    def on_epoch_ended(self, epoch: int, reason: str) -> None:
        """`LinkHandler`: end every turn of the epoch, once, for the ledger and for the clients."""
        self.express = None
        for watch in self.watches.values():
            watch.abort(f"Codex went away: {reason}")
        self._audience.expire_questions(reason)
        self.endings.forget_epoch()
        self._rehearsals.clear()
        for writer in self._engine.loaded_writers():
            self._end_turn(writer, f"Codex went away: {reason}")
        self._sub_agents.forget_epoch()
        self._own_compactions.forget_epoch()
        self.side_meters.forget_epoch()
        for callback in self.on_epoch_end:
            callback()

    def _take_current(self, route: Route, provider_thread_id: str, method: str, params: Raw, line: bytes) -> None:
        answers_compaction = self._own_compactions.answers(provider_thread_id, method, params)
        if method in RECORDED:
            if not answers_compaction:
                self.record(route, method, params)
            if method == "item/completed":
                self._sub_agents.hear_parent(route.thread_id, params)
        elif method in SUB_AGENT_RESTS:
            self._sub_agents.hear_stranger(provider_thread_id, method, params)  # it may be one that a client has opened
        if not self.endings.takes(route.thread_id, method, params, line):
            self._pass_on(route, method, line)
        if _rests(method, params):
            for callback in self.on_rest:
                callback(route.thread_id)

    def _pass_on(self, route: Route, method: str, line: bytes) -> None:
        if method != "thread/started" or route.generation == 1:
            self._tell(route.thread_id, method, line)
        if route.thread_id not in self._settling:
            self._expect_more(route.thread_id, method, line)

    def _tell(self, thread_id: str, method: str, line: bytes) -> None:
        if method == ENDED or thread_id in self._settling:
            self._pass_on_when_settled(thread_id, method, line)
        else:
            self._audience.deliver(thread_id, method, line)

    def _rehearse(self, provider_thread_id: str, held: Held) -> None:
        self._rehearsals[provider_thread_id].append(held)
        if (watch := self.watches.get(provider_thread_id)) is not None:
            watch.hear(held.method, held.params)

    def _expect_more(self, thread_id: str, method: str, line: bytes) -> None:
        """After one delta of a thread the next is most likely another; nothing else may come between, or it is looked at again."""
        if method in RECORDED or method in SUB_AGENT_RESTS or _leading_thread_id(method, line) is None:
            return
        end = line.find(b'"', len(method) + LEADING_BYTES) + 1
        self.express = Express(line[:end], partial(self._audience.deliver_run, thread_id, method))

    def _take_other(self, route: Route, provider_thread_id: str, method: str, params: Raw, line: bytes) -> None:
        watch = self.watches.get(provider_thread_id)
        if watch is not None:
            watch.hear(method, params)
            if route.role == "scratch" and method not in SCRATCH_KEEPS:
                self._audience.deliver_compaction(route.thread_id, method, line)
        elif route.role == "retired" and method in RETIRED_MAY_SAY:
            self.record(route, method, params)
            self._audience.deliver(route.thread_id, method, line)

    def record(self, route: Route, method: str, params: Raw) -> None:
        """Write down what a notification tells, if it tells a fact."""
        writer = self._engine.loaded(route.thread_id)
        if writer is None:
            return
        try:
            facts = translate(method, bytes(params), route.generation, writer.state.settings)
        except msgspec.MsgspecError as error:
            log.warning("notification_not_understood", method=method, thread_id=route.thread_id, detail=str(error))
            return
        if facts:
            writer.record_facts(*facts)

    def _pass_on_when_settled(self, thread_id: str, method: str, line: bytes) -> None:
        """Facts are folded at once, so that a thread that goes on is busy; only what clients hear waits for the disk."""
        waiting = self._settling.setdefault(thread_id, [])
        waiting.append((method, line))
        if len(waiting) == 1:
            self._tasks_of_their_own().start_soon(self._settle, thread_id, waiting)

    def _tasks_of_their_own(self) -> TaskGroup:
        assert self._tasks is not None
        return self._tasks

    async def _settle(self, thread_id: str, waiting: list[tuple[str, bytes]]) -> None:
        while waiting:
            covered = len(waiting)
            await self._make_durable(thread_id)
            await self.before_turn_ends(thread_id)
            for method, line in waiting[:covered]:
                self._deliver_settled(thread_id, method, line)
            del waiting[:covered]
        del self._settling[thread_id]

    def _deliver_settled(self, thread_id: str, method: str, line: bytes) -> None:
        try:
            self._audience.deliver(thread_id, method, line)
        except Exception:  # the boundary of a line, as in the reader: whatever goes wrong with one, the next is passed on
            log.exception("line_not_passed_on", thread_id=thread_id, method=method)

    async def _make_durable(self, thread_id: str) -> None:
        writer = self._engine.loaded(thread_id)
        try:
            if writer is not None:
                await writer.settle()
        except JournalRefuses as error:
            # The facts are kept in memory and written when the disk takes them again; the client must not hang meanwhile.
            log.error("turn_not_durable", thread_id=thread_id, detail=error.detail)

    def _end_turn(self, writer: ThreadWriter, reason: str) -> None:
        state = writer.state
        if not state.exists or writer.read_only is not None:
            return
        turn_id = state.running_turn_id
        with suppress(JournalRefuses):  # the writer keeps what it could not write, and writes it when the disk lets it
            writer.submit(AbandonOpenWork(reason))
        if turn_id is not None:
            for method, params in _interrupted(state.id, turn_id, reason):
                self._audience.deliver(state.id, method, msgspec.json.encode({"method": method, "params": params}))


async def _at_once(thread_id: str) -> None:
    """Nothing else has to happen before clients hear that the turn has ended."""


def _interrupted(thread_id: str, turn_id: str, reason: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """What Codex would have said, had it been able to."""
    yield "thread/status/changed", {"threadId": thread_id, "status": {"type": "idle"}}
    error = {"message": reason, "codexErrorInfo": None, "additionalDetails": None}
    turn: dict[str, Any] = {
        "id": turn_id, "items": [], "itemsView": "notLoaded", "status": "interrupted", "error": error,
        "startedAt": None, "completedAt": None, "durationMs": None,
    }  # fmt: skip
    yield "turn/completed", {"threadId": thread_id, "turn": turn}


def _rests(method: str, params: Raw) -> bool:
    return method == "thread/closed" or (method == "thread/status/changed" and status_in(params) in RESTING)


def _leading_thread_id(method: str, line: bytes) -> str | None:
    """The thread id of a line that begins `{"method":M,"params":{"threadId":"`, as all deltas do; None for any other."""
    start = len(method) + LEADING_BYTES
    if line[start - len(THREAD_ID_MEMBER) : start] == THREAD_ID_MEMBER:
        return line[start : line.find(b'"', start)].decode()
    return None


def _thread_id_of(method: str, params: Raw) -> str | None:
    if not params:
        return None
    try:
        if method == "thread/started":
            return str(msgspec.json.decode(params, type=_Started).thread.get("id"))
        return _decode_thread_id(params).thread_id
    except msgspec.MsgspecError:
        return None
