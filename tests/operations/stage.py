"""Threads and their operations with a Codex that is an object of the test: it answers at once, or
as the test says, and nothing starts a process.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, cast

import anyio
import msgspec
from anyio.abc import TaskGroup
from msgspec import Raw
from trimpoint.codex.appserver.errors import ProviderError, ProviderFailure
from trimpoint.codex.appserver.launch import LaunchProfile
from trimpoint.codex.appserver.peer import Outcome
from trimpoint.codex.appserver.supervisor import CodexLink
from trimpoint.config.sections import CheckpointsSection, CompactionSection
from trimpoint.core.model.decision import Policy
from trimpoint.gateway.client_side import build_client_side
from trimpoint.gateway.gateway import Routes
from trimpoint.gateway.ids.identity import Identity
from trimpoint.gateway.methods.extension.fleet_methods import NoFleet
from trimpoint.gateway.methods.extension.http_addresses import HttpAddresses
from trimpoint.gateway.metrics.metrics import Metrics
from trimpoint.gateway.profiles import RunningProfiles
from trimpoint.gateway.routes import DaemonDeps, RouteDeps, build_routes
from trimpoint.gateway.session.clients import Clients
from trimpoint.gateway.session.server_requests import PendingServerRequests
from trimpoint.journal.storage.directory import StateDirectory
from trimpoint.operations.build import Operations, build_files, build_operations
from trimpoint.recall.recall import Recall
from trimpoint.threads.registry import ThreadRegistry
from trimpoint.threads.writing.writer import ThreadWriter

from tests.deadlines import STEP_S
from tests.gateway.stage import FakeClient, client_request
from tests.threads.stage import THREAD, Disk, Store, begin, turn

_numbers = count(1)
Answer = Callable[[dict[str, Any]], Awaitable[Any]]


def refusal(message: str) -> ProviderError:
    """Returns an error that Codex answers with."""
    return ProviderError.read(Raw(msgspec.json.encode({"code": -32600, "message": message})))


class ScriptedCodex:
    """Stands in for the link to Codex. `asked` are the requests in order, `answered` the methods of
    those that were answered; `answers` replaces the answer of a method. An idle thread begins the first prompt of its queue at once, as in Codex:
    `begun` has each prompt that was begun, and the thread that began it.
    """

    version = (0, 163, 0)
    identity = None
    epoch = 1
    request_deadline_s = STEP_S
    profile = LaunchProfile(Path("codex"))

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.answered: list[str] = []
        self.answers: dict[str, Answer] = {}
        self.queues: dict[str, list[dict[str, Any]]] = {}
        self.begun: list[tuple[str, str]] = []
        self.threads: set[str] = {THREAD}
        self.tasks: TaskGroup
        self._numbers = count(1)
        self._more = anyio.Event()

    def hold(self, method: str, result: Any = None) -> tuple[anyio.Event, anyio.Event]:
        """Has `method` wait, and answer with `result` or as ever. Returns what is set when it was
        asked, and what lets it be answered.
        """
        asked, may_answer = anyio.Event(), anyio.Event()

        async def held(params: dict[str, Any]) -> Any:
            asked.set()
            await may_answer.wait()
            return self.answer(method, params) if result is None else result

        self.answers[method] = held
        return asked, may_answer

    async def until(self, is_so: Callable[[], bool]) -> None:
        """Waits until `is_so` returns True; it is asked again after each answer of Codex."""
        while not is_so():
            await self._more.wait()

    @property
    def peer(self) -> "ScriptedCodex":
        return self

    async def connected(self) -> "ScriptedCodex":
        return self

    def wake(self) -> None: ...

    def begin(
        self, method: str, params: Any, *, deadline_s: float, on_outcome: Callable[[Outcome], None]
    ) -> int:
        """Answers a request of a client, in a task of its own."""

        async def answer() -> None:
            try:
                outcome: Outcome = await self.request(method, params)
            except ProviderFailure as failure:
                outcome = failure
            on_outcome(outcome)

        self.tasks.start_soon(answer)
        return len(self.asked)

    def abandon(self, request_id: int) -> None: ...

    async def request(
        self, method: str, params: Any = None, *, deadline_s: float | None = None
    ) -> Raw:
        given = msgspec.json.decode(msgspec.json.encode(params or {}))
        self.asked.append((method, given))
        await anyio.lowlevel.checkpoint()
        try:
            if (answer := self.answers.get(method)) is not None:
                return Raw(msgspec.json.encode(await answer(given)))
            return Raw(msgspec.json.encode(self.answer(method, given)))
        finally:
            self.answered.append(method)
            self._more.set()
            self._more = anyio.Event()

    def answer(self, method: str, params: dict[str, Any]) -> Any:
        thread_id = str(params.get("threadId"))
        match method:
            case "thread/start" | "thread/fork":
                thread_id = f"provider-{next(self._numbers)}"
                self.threads.add(thread_id)
                return {"thread": {"id": thread_id, "path": None}, "model": "m"}
            case "thread/resume":
                return {"thread": {"id": thread_id, "path": None}, "model": "m"}
            case "thread/delete" | "thread/archive":
                self.threads.discard(thread_id)
                return {}
            case "thread/queue/list":
                if thread_id not in self.threads:
                    raise refusal(f"session {thread_id} is archived.")
                return {"data": self.queues.get(thread_id, [])}
            case "thread/queue/add":
                self.begun.append((params["input"][0]["text"], thread_id))
                return {}
            case "thread/queue/delete":
                queue = self.queues[thread_id]
                queue[:] = [one for one in queue if one["id"] != params["queuedSubmissionId"]]
                return {}
            case "thread/turns/list":
                begun = [prompt for prompt, where in self.begun if where == thread_id]
                items = [{"type": "userMessage", "clientId": f"id of {one}"} for one in begun]
                return {"data": [{"id": f"turn of {thread_id}", "items": items}] if items else []}
            case _:
                return {}

    def queue(self, prompt: str, thread_id: str = THREAD) -> None:
        """Puts a prompt into the queue of a thread that begins none now."""
        queued = {
            "id": f"queued {prompt}",
            "input": [{"type": "text", "text": prompt}],
            "clientUserMessageId": f"id of {prompt}",
        }
        self.queues.setdefault(thread_id, []).append(queued)

    def count(self, method: str) -> int:
        return sum(asked == method for asked, _ in self.asked)


class Stage(NamedTuple):
    """What a test of operations acts on. `client` takes part in the thread."""

    registry: ThreadRegistry
    operations: Operations
    routes: Routes
    codex: ScriptedCodex
    disk: Disk
    clients: Clients
    client: FakeClient
    tasks: TaskGroup
    questions: PendingServerRequests

    async def ask(self, method: str, /, **params: Any) -> Any:
        """Sends a request of the client, and returns what it is answered."""
        number = next(_numbers)
        message = {"id": number, "method": method, "params": {"threadId": THREAD, **params}}
        request = client_request(self.client, msgspec.json.encode(message))
        result = await self.routes.handlers.get(method, self.routes.forward)(request)
        if not request.is_answered:
            request.answer(result)
        return next(one["result"] for one in self.client.received if one.get("id") == number)

    async def hears(self, method: str, times: int = 1) -> None:
        """Waits until the client was sent so many messages of a method."""
        while self.client.methods().count(method) < times:
            await anyio.lowlevel.checkpoint()

    def says(self, method: str, **params: Any) -> None:
        """Has Codex send a notification about the thread, or about that in `params`."""
        encoded = msgspec.json.encode({"threadId": THREAD, **params})
        line = msgspec.json.encode({"method": method, "params": Raw(encoded)})
        self.operations.router.on_notification(method, Raw(encoded), line)

    async def thread(self, *turns: str) -> ThreadWriter:
        """Returns a thread that Codex has loaded, with these turns."""
        writer = await begin(self.registry)
        await self.operations.sessions.ready(writer.thread_id)
        for one in turns:
            writer.record_facts(*turn(one))
        await writer.flush()
        return writer

    async def refusals(self, more: int = 1) -> None:
        """Waits until the disk has refused so many more writes."""
        wanted, refused = self.disk.refused + more, anyio.Event()

        def count() -> None:
            if self.disk.refused >= wanted:
                refused.set()

        self.disk.on_refusal = count
        await refused.wait()

    async def ended(self, writer: ThreadWriter) -> None:
        """Waits until the thread's operation has ended."""
        await self.operations.sessions.operation_ended(writer)


@asynccontextmanager
async def opened_stage(
    codex: ScriptedCodex | None = None,
    disk: Disk | None = None,
    deadline_s: float | None = STEP_S,
    reads_file: Callable[[str], bool] = lambda _: False,
) -> AsyncGenerator[Stage]:
    """Yields a daemon's threads and operations; a second one over the same disk and Codex is the
    next daemon. `reads_file` is that of `Archiving`.
    """
    codex, disk = codex or ScriptedCodex(), disk or Disk()
    captures = CheckpointsSection(enabled=False, completion_grace_s=0)
    with anyio.fail_after(deadline_s):
        async with (
            ThreadRegistry.running(Store(disk), Policy()) as registry,
            anyio.create_task_group() as tasks,
        ):
            link, codex.tasks = cast("CodexLink", codex), tasks
            clients, identity = Clients(), Identity(registry)
            side = build_client_side(registry, link, clients, identity)
            files = build_files(registry, captures, tasks)
            compaction = CompactionSection(deadline_s=STEP_S)
            operations = build_operations(
                registry, link, side.codex_events, files, compaction, reads_file, tasks
            )
            recall = Recall(StateDirectory(Path("/nowhere")), registry)
            daemon = DaemonDeps(
                RunningProfiles(), cast("Metrics", None), "", lambda: None, HttpAddresses(), recall,
                NoFleet(), False,
            )  # fmt: skip
            routes = build_routes(
                RouteDeps(registry, link, operations, side, lambda _: True, daemon),
                tasks,
            )
            operations.reactions.resume()
            client = FakeClient(clients, THREAD)
            yield Stage(
                registry, operations, routes, codex, disk, clients, client, tasks,
                side.server_requests,
            )  # fmt: skip
            tasks.cancel_scope.cancel()
            registry.close()
