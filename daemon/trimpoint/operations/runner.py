"""Runs a thread's open operation, phase by phase, until `ready` or `failed` (docs/spec/model.md).

The effect of a phase is appended to the journal before the next phase begins, and `ready` is
durable before subscribers are called. So after a crash, the next daemon finishes or undoes the
operation. A provider thread that was only partly prepared is never used: it is deleted and another
is prepared.
"""

from collections.abc import Callable
from weakref import WeakValueDictionary

import anyio
import anyio.lowlevel
import structlog
from anyio.abc import TaskGroup
from trimpoint_protocol.errors import Reason

from trimpoint.background import spawn
from trimpoint.codex.appserver.errors import ProviderError, ProviderFailure, ProviderTimeout
from trimpoint.codex.appserver.supervisor import is_missing_error
from trimpoint.codex.appserver.versions import lacking, missing_method
from trimpoint.core.context.generations import bootstrap_items, rebuilt_generation
from trimpoint.core.model import events as ev
from trimpoint.core.model.operations import DELETE, FILL, SUMMARIZING, Phase
from trimpoint.core.model.state import Generation, Operation
from trimpoint.operations.compaction.compaction import CompactionFailed
from trimpoint.operations.compaction.compaction_steps import CompactionSteps
from trimpoint.operations.compaction.overflow_recovery import OverflowRecovery
from trimpoint.operations.deletions import Deletions
from trimpoint.operations.fillings import Fillings
from trimpoint.operations.messages import failure_message, ready_message
from trimpoint.operations.phases import (
    complete_context,
    is_end_durable,
    journal_phase,
    journal_phase_deferred,
)
from trimpoint.operations.provider.provider_threads import ProviderThreads, thread_in
from trimpoint.operations.provider.resuming import ArchivedElsewhere
from trimpoint.operations.provider.settings import session_params
from trimpoint.operations.reverts import RevertSteps
from trimpoint.operations.routing.routes import Route, ThreadRole
from trimpoint.operations.session_uses import SessionUses
from trimpoint.threads.errors import CommandRefused, JournalRefuses, ThreadError
from trimpoint.threads.off_loop import active_turns, off_loop
from trimpoint.threads.registry import ThreadRegistry
from trimpoint.threads.worktrees import WorktreeRefuses, Worktrees
from trimpoint.threads.writing.writer import ThreadWriter

log = structlog.get_logger()

RETRY_WRITE_S = 1.0


class SessionRestarting(ThreadError):
    """Raised when a thread's operation did not end while a request waited for it."""

    reason = Reason.SESSION_RESTARTING
    hint = "Send it again in a moment; it was not sent to the agent."

    def __init__(self, kind: str, waited_s: float) -> None:
        super().__init__(kind, waited_s)
        self.kind = kind
        self.waited_s = waited_s

    def __str__(self) -> str:
        return f"The thread's {self.kind} operation has not ended within {self.waited_s:g} seconds."


class OperationRunner:
    """Runs the open operations of threads, each in one task. A compaction fails after
    `compaction_deadline_s` seconds. `lock` keeps other tasks from changing the provider
    thread meanwhile.
    """

    def __init__(
        self,
        registry: ThreadRegistry,
        threads: ProviderThreads,
        worktrees: Worktrees,
        compaction_deadline_s: float,
        tasks: TaskGroup,
    ) -> None:
        self._registry = registry
        self._threads = threads
        self._reverts = RevertSteps(threads, worktrees)
        self.deletions = Deletions(threads)
        self.fillings = Fillings(self.schedule)
        self.uses = SessionUses()
        self.compactions = CompactionSteps(threads, self.uses, compaction_deadline_s)
        self.recovery = OverflowRecovery(threads, self.uses, compaction_deadline_s)
        # A lock is removed when no task holds it or waits for it, so that locks do not accumulate.
        self._locks: WeakValueDictionary[str, anyio.Lock] = WeakValueDictionary()
        self._moved: dict[str, anyio.Event] = {}
        self._running: set[str] = set()
        self._tasks = tasks

    def resume_open_operations(self) -> None:
        """Continues the operations that an earlier daemon left open."""
        for writer in self._registry.loaded_writers():
            if writer.read_only is None and writer.state.open_operation is not None:
                self.schedule(writer.thread_id)

    def lock(self, thread_id: str) -> anyio.Lock:
        """Returns the lock that is held while a thread's provider thread is changed."""
        return self._locks.setdefault(thread_id, anyio.Lock())

    def schedule(self, thread_id: str) -> None:
        """Starts a task for the thread's open operation, unless one is running."""
        if thread_id not in self._running and thread_id not in self.fillings:
            self._running.add(thread_id)
            spawn(self._tasks, self._run, thread_id)

    def on_moved(self, thread_id: str) -> None:
        """Wakes the tasks that wait for the thread's operation: it has ended, or has its fork."""
        if (moved := self._moved.pop(thread_id, None)) is not None:
            moved.set()

    async def operation_ended(self, writer: ThreadWriter, wait_s: float) -> None:
        """Waits until no operation is open on the thread.

        :raises SessionRestarting: when that takes longer than `wait_s` seconds.
        :raises JournalRefuses: when the operation cannot continue, because the journal cannot be
            written.
        """
        await self.until(writer, lambda: writer.state.open_operation is None, wait_s)

    async def until(self, writer: ThreadWriter, is_so: Callable[[], bool], wait_s: float) -> None:
        """Waits until `is_so` returns True. It is called again when the thread's operation has
        ended, and when a compaction has its fork.

        :raises SessionRestarting: when that takes longer than `wait_s` seconds.
        :raises JournalRefuses: as `operation_ended`.
        """
        with anyio.move_on_after(wait_s):
            while not (is_so() and is_end_durable(writer)):
                await writer.flush()
                if is_so():  # it may have become so during the flush
                    continue
                self.schedule(writer.thread_id)
                await self._moved.setdefault(writer.thread_id, anyio.Event()).wait()
            return
        operation = writer.state.open_operation
        raise SessionRestarting(operation.kind if operation is not None else "last", wait_s)

    async def _run(self, thread_id: str) -> None:
        # The task belongs to the thread, so the log context of the request that began it is
        # removed.
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(thread_id=thread_id)
        try:
            writer = await self._registry.thread(thread_id)
            while not await self._ends(writer):
                # Whoever waits for the operation is told; nothing is done at Codex meanwhile.
                self.on_moved(thread_id)
                await self._writable(writer)
        except ThreadError as error:
            log.error("operation_stuck", thread_id=thread_id, detail=str(error))
        finally:
            self._running.discard(thread_id)
            self._threads.router.turn_ends.release(thread_id)

    async def _ends(self, writer: ThreadWriter) -> bool:
        """Runs the thread's open operation. Returns False if the journal refused a step, which must
        be repeated.
        """
        async with self.lock(writer.thread_id):
            while (operation := writer.state.open_operation) is not None:
                about = {
                    "operation_id": operation.id,
                    "generation": writer.state.generation.number,
                }
                with structlog.contextvars.bound_contextvars(**about):
                    try:
                        await self._step_or_fail(writer, operation)
                    except (JournalRefuses, CommandRefused) as error:
                        # The journal cannot be written, or the state was reset to the durable one.
                        log.warning(
                            "operation_step_refused", kind=operation.kind, detail=str(error)
                        )
                        return False
        return True

    async def _writable(self, writer: ThreadWriter) -> None:
        """Waits until the journal can be written again.

        :raises JournalRefuses: when that never happens, because the thread is read-only.
        """
        while True:
            await anyio.sleep(RETRY_WRITE_S)
            try:
                return await writer.flush()
            except JournalRefuses:
                if writer.read_only is not None:
                    raise

    async def _step_or_fail(self, writer: ThreadWriter, operation: Operation) -> None:
        try:
            await self._step(writer, operation)
        except (CompactionFailed, ArchivedElsewhere) as error:
            await self._fail(writer, operation, str(error), error.reason)
        except ProviderFailure as error:
            await self._fail(writer, operation, *self._failure_reason(error))
        except WorktreeRefuses as error:
            await self._fail(writer, operation, f"{error} {error.hint}".strip(), error.reason)
        except ThreadError:
            raise
        except Exception:
            # The boundary of an operation: a defect in a step ends the operation, not the daemon.
            log.exception("operation_broke", thread_id=writer.thread_id, kind=operation.kind)
            await self._fail(
                writer,
                operation,
                "Codex answered something unexpected; the log has the details",
                Reason.INTERNAL,
            )

    def _failure_reason(self, error: ProviderFailure) -> tuple[str, Reason]:
        if (method := missing_method(error)) is not None:
            return lacking(method, self._threads.link.version), Reason.NOT_SUPPORTED
        timed_out = isinstance(error, ProviderTimeout)
        return str(error), Reason.PROVIDER_TIMEOUT if timed_out else Reason.PROVIDER_UNAVAILABLE

    async def _fail(
        self, writer: ThreadWriter, operation: Operation, detail: str, reason: Reason
    ) -> None:
        # When the daemon ends, Codex ends too. Then the operation has not failed: the next daemon
        # continues it.
        await anyio.lowlevel.checkpoint_if_cancelled()
        present = writer.state.open_operation
        if present is None or present.id != operation.id:
            # The operation is complete and durable. The error came after that, and is repaired when
            # the session is used.
            log.warning(
                "operation_untidy", thread_id=writer.thread_id, kind=operation.kind, detail=detail
            )
            return
        log.warning(
            "operation_failed", thread_id=writer.thread_id, kind=operation.kind, detail=detail
        )
        message = failure_message(operation, detail)
        try:
            await journal_phase(writer, operation, Phase.FAILED, message, reason)
        finally:
            self._threads.router.turn_ends.release(writer.thread_id, message)

    async def _step(self, writer: ThreadWriter, operation: Operation) -> None:
        if operation.phase is Phase.REQUESTED:
            # A request that changes the context is in the ledger before anything is made of that.
            await self.uses.ended(writer.thread_id)
        match operation.phase:
            case _ if operation.kind == "overflow":
                await self.recovery.step(writer, operation)
            case _ if operation.kind in (DELETE, FILL):
                await self.deletions.step(writer, operation)
            case _ if operation.reverting is not None:
                await self._reverts.step(writer, operation, operation.reverting)
            case Phase.REQUESTED if operation.kind in SUMMARIZING:
                await self.compactions.run(writer, operation)
            case Phase.REQUESTED if operation.kind == "start":
                journal_phase_deferred(writer, operation, Phase.STARTING, "Starting the session.")
            case Phase.REQUESTED:
                journal_phase_deferred(
                    writer, operation, Phase.STOPPING, "Stopping the old session."
                )
            case Phase.COMPACTING:
                await self._threads.delete_quietly(operation.compaction_fork)
                await self._threads.forking.delete_unknown(writer.state)
                raise CompactionFailed("the daemon was restarted during the compaction")
            case Phase.STOPPING:
                await self._stop_previous(writer, operation)
            case Phase.BOOTSTRAPPING:
                # Interrupted before `ready`: it is unknown whether the items were injected, so
                # another provider thread is prepared.
                journal_phase_deferred(
                    writer, operation, Phase.STARTING, "Starting the new session once more."
                )
            case _:
                await self._open_generation(writer, operation)

    async def _stop_previous(self, writer: ThreadWriter, operation: Operation) -> None:
        previous = writer.state.generations[-2]
        # What a request changes now is carried over once Codex has acknowledged it.
        await self.uses.ended(writer.thread_id)
        retained = await self._threads.detach(writer, previous)
        stopped = ev.SessionStopped(previous.number, retained)
        journal_phase_deferred(
            writer, operation, Phase.STARTING, "Starting the new session.", stopped
        )

    async def _ready(
        self,
        writer: ThreadWriter,
        operation: Operation,
        not_carried: list[str],
        *facts: ev.AnyEvent,
    ) -> None:
        """Ends the operation as `ready`, then moves the queued prompts and archives the old
        provider thread: only then, because a repeated phase would carry over from it, and because a
        queued prompt begins a turn, which must not be begun twice.
        """
        await journal_phase(
            writer,
            operation,
            Phase.READY,
            ready_message(writer.state, operation, not_carried),
            "",
            *facts,
        )
        await self._threads.archive_superseded(writer, writer.state.generation.number)

    async def _open_generation(self, writer: ThreadWriter, operation: Operation) -> None:
        generation = writer.state.generation
        if generation.provider_thread_id is not None and generation.ready:
            await self._open_known(writer, operation, generation)
        else:
            await self._threads.delete_quietly(generation.provider_thread_id)
            await self._open_fresh(writer, operation, generation)

    async def _open_known(
        self, writer: ThreadWriter, operation: Operation, generation: Generation
    ) -> None:
        try:
            facts: tuple[ev.AnyEvent, ...] = ()
            if not self._threads.is_loaded(generation.provider_thread_id):
                facts = await self._threads.resume(writer, generation)
        except ProviderError as error:
            if not is_missing_error(error):
                raise
            await self._rebuild(writer, operation, generation)
            return
        not_carried: list[str] = []
        if operation.kind == "compact":
            # The compacted thread is a fork, which has the context but not the other properties.
            previous = writer.state.generations[-2].provider_thread_id
            not_carried = await self._threads.inherit_state(
                writer, previous, str(generation.provider_thread_id)
            )
        await self._ready(writer, operation, not_carried, *facts)

    async def _rebuild(
        self, writer: ThreadWriter, operation: Operation, generation: Generation
    ) -> None:
        """Prepares a provider thread in place of one that Codex has lost. If turns ran in the lost
        one, a new generation is opened from the ledger.
        """
        if generation.turn_count == 0 and generation.bootstrap != "provider":
            await self._open_fresh(writer, operation, generation)
            return
        message = "Codex no longer has the conversation; rebuilding it from the journal."
        await journal_phase(
            writer, operation, Phase.STARTING, message, "", *rebuilt_generation(writer.state)
        )

    async def _open_fresh(
        self, writer: ThreadWriter, operation: Operation, generation: Generation
    ) -> None:
        lost = await complete_context(writer, await active_turns(writer.state))
        params = session_params(writer.state)
        if generation.number > 1:
            params["sessionStartSource"] = "clear"
        with self._threads.router.buffering():
            thread = thread_in(await self._threads.start(params))
            provider_id = str(thread["id"])
            bound = ev.ProviderThreadBound(
                generation.number, provider_id, thread.get("path"), raw_events=True
            )
            await self._bind(writer, operation, bound)
            self._threads.use(
                provider_id, Route(writer.thread_id, ThreadRole.CURRENT, generation.number)
            )
            self._threads.router.release(provider_id)
        previous = (
            writer.state.generations[-2].provider_thread_id if generation.number > 1 else None
        )
        items = await off_loop(writer.state, lambda now: bootstrap_items(now, generation))
        await self._threads.inject(provider_id, items)
        not_carried = await self._threads.inherit_state(writer, previous, provider_id)
        await self._ready(
            writer, operation, [*not_carried, *lost], ev.SessionReady(generation.number)
        )

    async def _bind(
        self, writer: ThreadWriter, operation: Operation, bound: ev.ProviderThreadBound
    ) -> None:
        """Makes the id of a provider thread durable before it is given anything. Then a filled one
        is never forgotten: the next daemon deletes it. If the journal refuses, it is deleted now.
        """
        try:
            await journal_phase(
                writer, operation, Phase.BOOTSTRAPPING, "Giving the session its context.", "", bound
            )
        except (JournalRefuses, CommandRefused):
            await self._threads.delete_quietly(bound.provider_thread_id)
            raise
