"""Reacts to recorded events by changing provider threads: runs operations, releases archived
threads, and passes on names.
"""

from collections.abc import Awaitable, Callable
from itertools import chain, repeat

import anyio
import structlog
from anyio.abc import TaskGroup

from trimpoint.background import spawn
from trimpoint.codex.appserver.errors import ProviderFailure
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import busy
from trimpoint.core.model.operations import Phase, is_open
from trimpoint.operations.provider.names import give_name
from trimpoint.operations.provider.provider_threads import ProviderThreads
from trimpoint.operations.runner import OperationRunner
from trimpoint.threads.errors import ThreadError
from trimpoint.threads.registry import ThreadRegistry
from trimpoint.threads.writing.writer import ThreadWriter

log = structlog.get_logger()

# How long a retired provider thread may stay loaded after the last of its background terminals has
# ended.
TERMINAL_SWEEP_S = 30.0
# The pauses before a session that could not be stopped is stopped again; the last one repeats.
RETRY_PAUSES_S = (1.0, 5.0, 30.0, 120.0)

Step = Callable[[ThreadWriter], Awaitable[None]]


class SessionReactions:
    """Reacts to the records of all threads. Each reaction runs as its own task in `tasks`."""

    def __init__(
        self,
        registry: ThreadRegistry,
        threads: ProviderThreads,
        runner: OperationRunner,
        tasks: TaskGroup,
    ) -> None:
        self._registry = registry
        self._threads = threads
        self._runner = runner
        self._tasks = tasks
        self._releasing: set[str] = set()
        self._renaming: set[str] = set()
        registry.subscribe(self._on_record)
        threads.router.subscribe_child_exit(self._on_child_exit)

    def resume(self) -> None:
        """Continues the work that an earlier daemon left open."""
        self._runner.resume_open_operations()
        self._finish_archiving()
        spawn(self._tasks, self._sweep_terminals, lasting=True)

    def spawn(self, step: Step, thread_id: str) -> None:
        """Runs `step` with the thread's writer in the background. Its failures are only logged."""
        spawn(self._tasks, self._run_guarded, step, thread_id)

    def _on_record(self, thread_id: str, record: ev.Record) -> None:
        for event in record.events:
            match event:
                case ev.OperationStarted():
                    self._runner.schedule(thread_id)
                case ev.OperationAdvanced() if not is_open(Phase(event.phase)):
                    self._runner.on_moved(thread_id)
                    self._threads.prompts.forget(thread_id)
                case ev.CompactionForked():
                    self._runner.on_moved(thread_id)
                case ev.TurnCompleted():
                    self._forget_prompt(thread_id)
                case _ if record.command_id is not None and record.operation_id is None:
                    self._on_client_event(thread_id, event)
                case _:
                    pass

    def _forget_prompt(self, thread_id: str) -> None:
        """Removes the prompt of an ended turn, unless the same record began the turn's recovery."""
        writer = self._registry.loaded(thread_id)
        if writer is None or writer.state.recovering_turn_id is None:
            self._threads.prompts.forget(thread_id)

    def _on_client_event(self, thread_id: str, event: ev.AnyEvent) -> None:
        match event:
            case ev.SessionStopRequested():
                self.spawn(self._release, thread_id)
            case ev.ThreadUnarchived():
                self.spawn(self._unarchive, thread_id)
            case ev.ThreadRenamed():
                self.spawn(self._rename, thread_id)
            case _:
                pass

    async def _run_guarded(self, step: Step, thread_id: str) -> None:
        # Each task has its own log context, so this affects no other task.
        structlog.contextvars.bind_contextvars(thread_id=thread_id)
        try:
            await step(await self._registry.thread(thread_id))
        except (ProviderFailure, ThreadError) as error:
            log.warning("session_step_failed", thread_id=thread_id, detail=str(error))
        except Exception:
            # The boundary of a task: a defect in one reaction must not end the daemon.
            log.exception("session_step_broke", thread_id=thread_id)

    async def _release(self, writer: ThreadWriter) -> None:
        """Stops the session of a thread. A thread that is archived stays unfinished until Codex has
        archived it too, so that is tried again with growing pauses.
        """
        self._releasing.add(writer.thread_id)
        try:
            for pause_s in chain(RETRY_PAUSES_S, repeat(RETRY_PAUSES_S[-1])):
                try:
                    if await self._release_once(writer):
                        return
                except ProviderFailure as error:
                    if not writer.state.archived:
                        raise
                    log.warning("not_archived_in_codex", detail=str(error), again_in_s=pause_s)
                await anyio.sleep(pause_s)
        finally:
            self._releasing.discard(writer.thread_id)

    async def _release_once(self, writer: ThreadWriter) -> bool:
        """Returns whether nothing is left to do."""
        retained = ""
        async with self._runner.lock(writer.thread_id):
            generation = writer.state.generation
            if busy(writer.state) is not None or (
                writer.state.session_stopped and not writer.state.archived
            ):
                # A prompt that arrived meanwhile keeps the session, unless it is archived.
                return not writer.state.archived
            if writer.state.archived:
                retained = await self._threads.detach(writer, generation)
                await self._threads.archive(writer, generation)
            elif generation.provider_thread_id is not None:
                await self._threads.release(generation.provider_thread_id)
            writer.record_facts(ev.SessionStopped(generation.number, retained))
        return True

    async def _unarchive(self, writer: ThreadWriter) -> None:
        async with self._runner.lock(writer.thread_id):  # after an archiving that is under way
            provider_id = writer.state.generation.provider_thread_id
            if writer.state.archived or provider_id is None or self._threads.reattach(writer):
                return
            await self._threads.link.request("thread/unarchive", {"threadId": provider_id})

    async def _rename(self, writer: ThreadWriter) -> None:
        provider_id = writer.state.generation.provider_thread_id
        if (
            provider_id is None
            or not writer.state.name_unconfirmed
            or writer.thread_id in self._renaming  # that task gives the newest name
        ):
            return
        self._renaming.add(writer.thread_id)
        try:
            with self._threads.read_back_if_unanswered(provider_id):
                await give_name(self._threads.link, self._threads.names, writer, provider_id)
        finally:
            self._renaming.discard(writer.thread_id)

    def _on_child_exit(self) -> None:
        self._threads.forget_epoch()
        self._threads.link.wake()
        self._finish_archiving()

    def _finish_archiving(self) -> None:
        """Stops the sessions of archived threads that were still open when a daemon or Codex
        ended.
        """
        for writer in self._registry.loaded_writers():
            state = writer.state
            is_open = writer.read_only is None and state.archived and not state.session_stopped
            if is_open and writer.thread_id not in self._releasing:
                self.spawn(self._release, writer.thread_id)

    async def _sweep_terminals(self) -> None:
        while True:
            await anyio.sleep(TERMINAL_SWEEP_S)
            try:
                await self._threads.archive_finished()
            except ProviderFailure as error:
                log.info("terminal_sweep_failed", detail=str(error))
