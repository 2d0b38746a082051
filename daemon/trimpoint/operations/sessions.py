"""A thread's session: ready when it is used, let go when it is not, following what the thread's
events ask for.
"""

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import anyio
import msgspec
import structlog
from anyio.abc import TaskGroup
from msgspec import Raw
from trimpoint_protocol.commands import (
    AnyClientCommand,
    CompactContext,
    DiscardContext,
    PinContext,
    RevertToCheckpoint,
    TrimContext,
    UndoTrim,
    UnpinContext,
)

from trimpoint.codex.appserver.peer import ProviderError, ProviderFailure
from trimpoint.codex.appserver.supervisor import (
    CodexLink,
    ProviderUnavailable,
    is_archived_error,
    is_in_use_error,
    is_missing_error,
)
from trimpoint.codex.history.adoption import imported_turns, inherited_history, started_with
from trimpoint.core.context.context_size import overhead_tokens
from trimpoint.core.decide.undoing import UndoPlan, plan_undo
from trimpoint.core.model import commands as internal
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import busy
from trimpoint.core.model.lenient import as_dict, as_list
from trimpoint.core.model.operations import Phase, is_open
from trimpoint.core.model.state import ThreadState
from trimpoint.core.model.usage import model_in
from trimpoint.operations.compaction.automatic import AutoCompaction
from trimpoint.operations.phases import complete_context
from trimpoint.operations.provider.client_resumes import ClientResume
from trimpoint.operations.provider.provider_threads import (
    ProviderThreads,
    model_in_answer,
    thread_in,
)
from trimpoint.operations.provider.settings import (
    has_agent_tools,
    inherited_params,
    initial_settings,
    lasting,
    overridden_settings,
)
from trimpoint.operations.provider.version_requirements import refuse_if_too_old
from trimpoint.operations.routing.notification_router import Route, ThreadRole
from trimpoint.operations.runner import OperationRunner
from trimpoint.threads.errors import EngineError
from trimpoint.threads.registry import ThreadRegistry
from trimpoint.threads.writer import CommandResult, ThreadWriter

log = structlog.get_logger()

# How long a retired provider thread may stay loaded after the last of its background terminals has
# ended.
TERMINAL_SWEEP_S = 30.0

Step = Callable[[ThreadWriter], Awaitable[None]]

# Commands whose outcome depends on the turns that the thread has.
LOOKS_AT_TURNS = (
    TrimContext,
    CompactContext,
    DiscardContext,
    UndoTrim,
    PinContext,
    UnpinContext,
    RevertToCheckpoint,
)


class ReadySession(NamedTuple):
    """A thread's writer and the provider thread that holds exactly its active context."""

    writer: ThreadWriter
    provider_thread_id: str


class Sessions:
    """`wait_s` bounds how long a turn waits for an operation."""

    def __init__(
        self,
        engine: ThreadRegistry,
        threads: ProviderThreads,
        runner: OperationRunner,
        wait_s: float,
        tasks: TaskGroup,
    ) -> None:
        self._engine = engine
        self._threads = threads
        self._runner = runner
        self._wait_s = wait_s
        self._tasks = tasks
        engine.subscribe(self._on_record)
        self._auto = AutoCompaction(engine, threads.link, tasks)
        threads.inbound.subscribe_child_exit(self._on_child_exit)

    @property
    def link(self) -> CodexLink:
        """The way to Codex."""
        return self._threads.link

    def resume(self) -> None:
        """Continues what an earlier daemon left open."""
        self._runner.resume_open_operations()
        self._finish_archiving()
        self._tasks.start_soon(self._sweep_terminals)

    async def begin(
        self,
        params: dict[str, Any],
        on_begun: Callable[[Raw, str], None],
        *,
        agent_tools: bool = False,
        launch: bytes = b"",
    ) -> None:
        """`thread/start` for a client; `on_begun` is given Codex's answer as it came and the new
        thread's stable id. The thread keeps `launch`.

        It is called before anything that Codex says of the thread is passed on, as Codex itself
        answers first.

        The first provider thread's id is the stable id (docs/adr/0002). An ephemeral thread is
        Codex's alone: nothing of it is kept.

        :raises ProviderFailure: Codex refused or is gone.
        :raises JournalRefuses: the thread could not be written down.
        """
        with self._threads.inbound.buffering():
            raw = await self._threads.start(params)
            thread = thread_in(raw)
            thread_id = str(thread["id"])
            if not params.get("ephemeral"):
                settings = initial_settings(
                    params, _cwd(thread, params), model_in_answer(raw), agent_tools=agent_tools
                )
                creation = _creation(thread, params, "started", settings, raw_events=True)
                await self._engine.create(msgspec.structs.replace(creation, launch=launch))
                self._threads.use(thread_id, Route(thread_id, ThreadRole.CURRENT, 1))
            on_begun(raw, thread_id)
            self._threads.inbound.release(thread_id)

    async def adopt(
        self,
        raw: Raw,
        params: dict[str, Any],
        origin: str,
        parent: ThreadState | None = None,
        launch: bytes = b"",
    ) -> None:
        """Take a thread that Codex has loaded for us (resumed, forked) into the books, its turns
        with it.

        `raw` is Codex's answer. `parent` is the thread of ours that it was forked from, whose
        earlier generations are its past too, and whose launch it keeps; without one, `launch`.

        :raises JournalRefuses: it could not be written down.
        """
        thread = thread_in(raw)
        thread_id = str(thread["id"])
        has_tools = parent is not None and has_agent_tools(parent.settings)
        whole = (
            {**await started_with(thread), **lasting(params)}
            if parent is None
            else inherited_params(params, parent.settings)
        )
        settings = initial_settings(
            whole,
            _cwd(thread, params),
            model_in_answer(raw),
            agent_tools=has_tools,
            answer=msgspec.json.decode(raw),
        )
        inherited = inherited_history(parent, thread_id) if parent is not None else ()
        unknown_to_provider = tuple(
            fact.turn_id for fact in inherited if isinstance(fact, ev.TurnStarted)
        )
        creation = _creation(thread, params, origin, settings, raw_events=False)
        creation = msgspec.structs.replace(
            creation,
            inherited_turn_ids=unknown_to_provider,
            launch=launch if parent is None else parent.launch,
            **({} if parent is None else _measured_in(parent, settings)),
        )
        writer = await self._engine.create(creation)
        self._threads.use(
            thread_id, Route(thread_id, ThreadRole.CURRENT, writer.state.generation.number)
        )
        if not writer.state.turns:
            writer.record_facts(
                *inherited, *await imported_turns(thread, as_list(thread.get("turns")), parent)
            )
            await writer.flush()

    async def ready(self, thread_id: str, asked: ClientResume | None = None) -> ReadySession:
        """Make the thread's session ready, with a client's own request to resume it if that has to
        load it.

        There is no await between the last check and the return, so what the caller does at once
        happens in that state.

        :raises ThreadNotFound: there is no such thread.
        :raises SessionRestarting: an operation did not end in time.
        :raises ProviderFailure: the session could not be made ready.
        :raises JournalRefuses: nothing can be written down.
        """
        with structlog.contextvars.bound_contextvars(thread_id=thread_id):
            return await self._ready(thread_id, asked)

    async def _ready(self, thread_id: str, asked: ClientResume | None) -> ReadySession:
        writer = await self._engine.thread(thread_id)
        while True:
            await self._runner.operation_ended(writer, self._wait_s)
            generation = writer.state.generation
            if (
                generation.provider_thread_id is not None
                and self._is_in_place(writer)
                and not _must_reload(writer, asked)
            ):
                return ReadySession(writer, generation.provider_thread_id)
            if not await self._resume_in_place(writer, asked):
                if asked is not None and asked.overrides:
                    settings = overridden_settings(writer.state.settings, asked.params)
                    writer.record_facts(ev.SettingsChanged(settings))
                    asked.is_used = True
                await self._open(writer)

    async def ready_for_turn(self, thread_id: str) -> ReadySession:
        """Waits until the session is ready, and compacts a critical context first, at most once for
        each turn.

        :raises EngineError: as `ready`.
        :raises ProviderFailure: as `ready`.
        """
        writer = await self._engine.thread(thread_id)
        attempts = writer.state.auto_attempts
        session = await self.ready(thread_id)
        if self._auto.is_due(writer) and writer.state.auto_attempts is attempts:
            await self._auto.begin(writer)
            session = await self.ready(thread_id)
        return session

    async def operation_ended(self, writer: ThreadWriter, wait_s: float) -> None:
        """See `OperationRunner.operation_ended`."""
        await self._runner.operation_ended(writer, wait_s)

    def interrupt_recovery(self, thread_id: str, turn_id: str) -> bool:
        """Give up trying a turn again that did not fit; False when none is being tried, and its end
        is all there is.
        """
        writer = self._engine.loaded(thread_id)
        if writer is None or writer.state.recovering_turn_id != turn_id:
            return False
        self._runner.recovery.interrupt(thread_id)
        return True

    def open_operation_id(self, thread_id: str) -> str | None:
        """Returns the id of the operation that is under way on a thread."""
        writer = self._engine.loaded(thread_id)
        operation = writer.state.open_operation if writer is not None else None
        return operation.id if operation is not None else None

    def begin_cancelling(self, thread_id: str) -> bool:
        """Give up the thread's compaction; False when none is under way that could be."""
        writer = self._engine.loaded(thread_id)
        return writer is not None and self._runner.cancel_compaction(writer)

    async def cancel_compaction(self, thread_id: str) -> bool:
        """As `begin_cancelling`, and wait until it has ended."""
        if not self.begin_cancelling(thread_id):
            return False
        await self._runner.operation_ended(await self._engine.thread(thread_id), self._wait_s)
        return True

    async def cancel_operation(self, operation_id: str) -> bool:
        """Cancel an operation, and wait until it has ended; False when it cannot be cancelled: it
        is no compaction that is under way, or its summary has come.
        """
        for writer in self._engine.loaded_writers():
            operation = writer.state.open_operation
            if operation is not None and operation.id == operation_id:
                return await self.cancel_compaction(writer.thread_id)
        return False

    async def note_unarchived(self, thread_id: str, params: dict[str, Any]) -> None:
        """Write down that another program has taken a thread out of Codex's archive; `params` are
        those of a `thread/resume`.

        :raises ProviderFailure: Codex has it in its archive.
        :raises JournalRefuses: it could not be written down.
        """
        writer = await self._engine.thread(thread_id)
        provider_id = str(writer.state.generation.provider_thread_id)
        await self.link.request("thread/resume", {**params, "threadId": provider_id})
        await self._threads.release(provider_id)
        writer.record_facts(ev.ThreadUnarchived())
        await writer.flush()

    async def _sweep_terminals(self) -> None:
        while True:
            await anyio.sleep(TERMINAL_SWEEP_S)
            try:
                await self._threads.archive_finished()
            except ProviderFailure as error:
                log.info("terminal_sweep_failed", detail=str(error))

    def _is_in_place(self, writer: ThreadWriter) -> bool:
        generation = writer.state.generation
        return generation.ready and self._threads.is_loaded(generation.provider_thread_id)

    async def _resume_in_place(
        self, writer: ThreadWriter, asked: ClientResume | None = None
    ) -> bool:
        """Load a ready generation again, as after a restart of either side; False when that is not
        enough.
        """
        async with self._runner.lock(writer.thread_id):
            generation = writer.state.generation
            if not generation.ready or writer.state.open_operation is not None:
                return False
            if (
                generation.provider_thread_id is not None
                and self._is_in_place(writer)
                and _must_reload(writer, asked)
            ):
                await self._threads.release(generation.provider_thread_id)
            if not self._is_in_place(writer):
                try:
                    writer.record_facts(*await self._threads.resume(writer, generation, asked))
                    # A daemon may have died before it was archived.
                    number = generation.number
                    self._spawn(
                        lambda writer: self._threads.archive_superseded(writer, number),
                        writer.thread_id,
                    )
                except ProviderError as error:
                    if is_missing_error(error):
                        return False
                    raise
            return True

    async def dispatch(self, command: AnyClientCommand) -> CommandResult:
        """Prepares the thread for a client's command and gives the command to the thread's writer;
        durable on return.

        :raises EngineError: when it was refused; see `ThreadRegistry.dispatch`.
        """
        await self.prepare(await self._engine.thread(command.thread_id), command)
        return await self._engine.dispatch(command)

    async def prepare(self, writer: ThreadWriter, command: AnyClientCommand) -> None:
        """Has everything at hand that a command is decided by.

        :raises EngineError: this Codex cannot carry it out, or another program uses the thread.
        """
        refuse_if_too_old(command, self._threads.link.version)
        await self._catch_up(writer, must_look=isinstance(command, LOOKS_AT_TURNS))
        if isinstance(command, DiscardContext):
            await self.complete_context(writer)

    async def complete_context(self, writer: ThreadWriter) -> None:
        """Have the raw items of the active context at hand, but for a turn that still runs: what is
        to go is named by them.
        """
        await complete_context(writer, writer.state.active_turns)

    async def complete_undone(self, writer: ThreadWriter, *, redo: bool) -> None:
        """Have the raw items of the turns at hand that the context would hold after an undo."""
        plan = plan_undo(writer.state, redo=redo)
        if isinstance(plan, UndoPlan):
            await complete_context(writer, plan.context.active_turns)

    async def _catch_up(self, writer: ThreadWriter, *, must_look: bool) -> None:
        """Before a command is decided: the ledger must hold every turn of a session that broke off,
        or that others went on with.
        """
        state = writer.state
        is_cold = must_look and not self._threads.is_loaded(state.generation.provider_thread_id)
        if (
            (state.may_have_missed or is_cold)
            and not state.archived
            and state.open_operation is None
        ):
            try:
                await self._resume_in_place(writer)
            except ProviderFailure as error:
                if must_look and (is_in_use_error(error) or is_archived_error(error)):
                    # what the command would do is done to a conversation that is not the present
                    # one
                    raise
                log.warning("not_caught_up", thread_id=writer.thread_id, detail=str(error))

    async def take_in(self, writer: ThreadWriter) -> None:
        """Write down what other programs did with a thread that is not loaded, without loading it.

        :raises ProviderFailure: Codex is gone or does not answer.
        """
        state = writer.state
        is_settled = state.open_operation is None and state.generation.ready and not state.archived
        if (
            is_settled
            and writer.read_only is None
            and not self._threads.is_loaded(state.generation.provider_thread_id)
        ):
            async with self._runner.lock(writer.thread_id):
                await self._threads.take_in(writer)

    async def _open(self, writer: ThreadWriter) -> None:
        result = await writer.execute(internal.OpenSession(force=writer.state.generation.ready))
        await self._runner.operation_ended(writer, self._wait_s)
        operation = writer.state.operation
        if (
            operation is not None
            and operation.id == result.operation_id
            and operation.phase is Phase.FAILED
        ):
            raise ProviderUnavailable(operation.message)

    def _on_record(self, thread_id: str, record: ev.Record) -> None:
        for event in record.events:
            match event:
                case ev.OperationStarted():
                    self._runner.schedule(thread_id)
                case ev.OperationAdvanced() if not is_open(Phase(event.phase)):
                    self._runner.on_ended(thread_id)
                    self._threads.prompts.forget(thread_id)
                case ev.TurnCompleted():
                    self._forget_prompt(thread_id)
                case _ if record.command_id is not None and record.operation_id is None:
                    self._on_client_event(thread_id, event)
                case _:
                    pass

    def _forget_prompt(self, thread_id: str) -> None:
        """A turn is over, unless its recovery was begun in the same breath."""
        writer = self._engine.loaded(thread_id)
        if writer is None or writer.state.recovering_turn_id is None:
            self._threads.prompts.forget(thread_id)

    def _on_client_event(self, thread_id: str, event: ev.AnyEvent) -> None:
        match event:
            case ev.SessionStopRequested():
                self._spawn(self._release, thread_id)
            case ev.ThreadUnarchived():
                self._spawn(self._unarchive, thread_id)
            case ev.ThreadRenamed():
                self._spawn(self._rename, thread_id)
            case _:
                pass

    def _spawn(self, step: Step, thread_id: str) -> None:
        self._tasks.start_soon(self._run_guarded, step, thread_id)

    async def _run_guarded(self, step: Step, thread_id: str) -> None:
        structlog.contextvars.bind_contextvars(
            thread_id=thread_id
        )  # it has a task, and so a context, of its own
        try:
            await step(await self._engine.thread(thread_id))
        except (ProviderFailure, EngineError) as error:
            log.warning("session_step_failed", thread_id=thread_id, detail=str(error))
        # a boundary: what an event asks for is done in a task of its own, and must not end the
        # daemon
        except Exception:
            log.exception("session_step_broke", thread_id=thread_id)

    async def _release(self, writer: ThreadWriter) -> None:
        retained = ""
        async with self._runner.lock(writer.thread_id):
            generation = writer.state.generation
            if busy(writer.state) is not None or (
                writer.state.session_stopped and not writer.state.archived
            ):
                return  # a prompt that came in between keeps its session
            if writer.state.archived:
                retained = await self._threads.detach(writer, generation)
                await self._threads.archive(writer, generation)
            elif generation.provider_thread_id is not None:
                await self._threads.release(generation.provider_thread_id)
        writer.record_facts(ev.SessionStopped(generation.number, retained))

    async def _unarchive(self, writer: ThreadWriter) -> None:
        provider_id = writer.state.generation.provider_thread_id
        if provider_id is not None and not self._threads.reattach(writer):
            await self._threads.link.request("thread/unarchive", {"threadId": provider_id})

    async def _rename(self, writer: ThreadWriter) -> None:
        provider_id = writer.state.generation.provider_thread_id
        if provider_id is not None and writer.state.name is not None:
            await self._threads.link.request(
                "thread/name/set", {"threadId": provider_id, "name": writer.state.name}
            )

    def _on_child_exit(self) -> None:
        self._threads.forget_epoch()
        self._threads.link.wake()
        self._finish_archiving()

    def _finish_archiving(self) -> None:
        """Stops the sessions of archived threads that were still open when a daemon or a child
        died.
        """
        for writer in self._engine.loaded_writers():
            state = writer.state
            if writer.read_only is None and state.archived and not state.session_stopped:
                self._spawn(self._release, writer.thread_id)


def _must_reload(writer: ThreadWriter, asked: ClientResume | None) -> bool:
    """Returns whether a client asks for settings that Codex takes only when it loads the thread,
    and nothing stands in the way.
    """
    return asked is not None and asked.wants_reload() and busy(writer.state) is None


def _cwd(thread: dict[str, Any], params: dict[str, Any]) -> str:
    return str(thread.get("cwd") or params.get("cwd") or "")


def _measured_in(parent: ThreadState, settings: bytes) -> dict[str, Any]:
    """Returns what a fork knows of its context before Codex reports anything: the overhead and the
    window that were measured in its parent, where both have the same model.
    """
    if model_in(settings) != model_in(parent.settings):
        return {}
    return {
        "overhead_tokens": overhead_tokens(parent),
        "window_tokens": parent.usage.window,
    }


def _creation(
    thread: dict[str, Any],
    params: dict[str, Any],
    origin: str,
    settings: bytes,
    *,
    raw_events: bool,
) -> internal.CreateThread:
    cwd = _cwd(thread, params)
    return internal.CreateThread(
        thread_id=str(thread["id"]),
        cwd=cwd,
        origin=origin,
        settings=settings,
        provider_thread_id=str(thread["id"]),
        rollout_path=thread.get("path"),
        raw_events=raw_events,
        parent_thread_id=thread.get("forkedFromId"),
        project_id=thread.get("projectId"),
        worktree_id=cwd,
        branch_name=as_dict(thread.get("gitInfo")).get("branch"),
        name=thread.get("name"),
    )
