"""A thread's session with Codex: prepared when it is needed. All commands of clients are dispatched
here.
"""

from collections.abc import AsyncGenerator
from contextlib import AbstractContextManager, asynccontextmanager
from typing import NamedTuple

import anyio
import structlog
from anyio.abc import TaskGroup
from trimpoint_protocol import commands as wire

from trimpoint.codex.appserver.errors import ProviderError, ProviderFailure
from trimpoint.codex.appserver.supervisor import (
    CodexLink,
    ProviderUnavailable,
    is_in_use_error,
    is_missing_error,
)
from trimpoint.core.decide.reverting import FILES
from trimpoint.core.decide.stretches import names_stretch
from trimpoint.core.decide.undoing import UndoPlan, plan_undo
from trimpoint.core.model import commands as internal
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import busy, when_idle
from trimpoint.core.model.operations import SUMMARIZING, Phase
from trimpoint.core.model.state import Operation
from trimpoint.operations.compaction.automatic import AutoCompaction
from trimpoint.operations.phases import complete_context
from trimpoint.operations.provider.client_resumes import ClientResume
from trimpoint.operations.provider.provider_threads import ProviderThreads
from trimpoint.operations.provider.resuming import ArchivedElsewhere
from trimpoint.operations.provider.settings import overridden_settings
from trimpoint.operations.provider.version_requirements import refuse_if_too_old
from trimpoint.operations.runner import OperationRunner
from trimpoint.operations.session_reactions import SessionReactions
from trimpoint.threads.errors import (
    CommandRefused,
    JournalRefuses,
    OperationDelayed,
    journal_read_only,
)
from trimpoint.threads.off_loop import active_turns
from trimpoint.threads.registry import ThreadRegistry
from trimpoint.threads.worktrees import Worktrees
from trimpoint.threads.writing.receipts import CommandResult
from trimpoint.threads.writing.writer import ThreadWriter

log = structlog.get_logger()

# How long `thread/delete` waits. After that the thread is deleted as soon as Codex answers.
DELETE_WAIT_S = 60.0


class ReadySession(NamedTuple):
    """A thread's writer, and the provider thread that holds exactly the thread's active context."""

    writer: ThreadWriter
    provider_thread_id: str


class Sessions:
    """The sessions of the threads of one Codex. `wait_s` is how many seconds a request waits for an
    operation.
    """

    def __init__(
        self,
        registry: ThreadRegistry,
        threads: ProviderThreads,
        runner: OperationRunner,
        reactions: SessionReactions,
        worktrees: Worktrees,
        wait_s: float,
        tasks: TaskGroup,
    ) -> None:
        self._registry = registry
        self._worktrees = worktrees
        self._threads = threads
        self._runner = runner
        self._wait_s = wait_s
        self._reactions = reactions
        self.filling = runner.fillings.filling
        self._auto = AutoCompaction(registry, threads.link, tasks)

    @property
    def link(self) -> CodexLink:
        """Returns the link to Codex."""
        return self._threads.link

    async def ready(self, thread_id: str, asked: ClientResume | None = None) -> ReadySession:
        """Prepares the thread's session and returns it. If the provider thread has to be loaded,
        the client's request `asked` is used for that, if given.

        Nothing is awaited between the last check and the return, so the session is still ready when
        the caller uses it at once.

        :raises ThreadNotFound: when there is no such thread.
        :raises SessionRestarting: when an operation did not end in time.
        :raises ArchivedElsewhere: when the thread is archived in Codex.
        :raises ProviderFailure: when the session could not be prepared.
        :raises JournalRefuses: when the journal cannot be written.
        """
        with structlog.contextvars.bound_contextvars(thread_id=thread_id):
            return await self._ready(thread_id, asked)

    async def _ready(self, thread_id: str, asked: ClientResume | None) -> ReadySession:
        writer = await self._registry.thread(thread_id)
        while True:
            await self._runner.operation_ended(writer, self._wait_s)
            if writer.state.archived and (refusal := when_idle(writer.state, "open")) is not None:
                raise CommandRefused(*refusal)  # it may have been archived while this waited
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

    @asynccontextmanager
    async def present(
        self, thread_id: str, asked: ClientResume | None = None
    ) -> AsyncGenerator[ReadySession]:
        """Yields the thread's session for requests that leave its context as it is, also while a
        summary is awaited: what such a request changes is carried over. The session is not replaced
        before the block ends.

        With `asked`, that client attaches to the thread. If it requests settings for which the
        thread has to be loaded again, the end of the operation is waited for.

        :raises ThreadError: as `ready`.
        :raises ProviderFailure: as `ready`.
        """
        with structlog.contextvars.bound_contextvars(thread_id=thread_id):
            session = await self._present(thread_id, asked)
        with self._runner.uses.using(thread_id):
            yield session

    def using(self, thread_id: str) -> AbstractContextManager[None]:
        """Keeps the thread's session from being replaced until the block ends. Enter it directly
        after `ready`.
        """
        return self._runner.uses.using(thread_id)

    def lock(self, thread_id: str) -> anyio.Lock:
        """Returns the lock that is held while a thread's provider thread is changed."""
        return self._runner.lock(thread_id)

    async def _present(self, thread_id: str, asked: ClientResume | None) -> ReadySession:
        writer = await self._registry.thread(thread_id)
        if asked is None or not asked.wants_reload():
            await self._runner.until(
                writer,
                lambda: writer.state.open_operation is None or self._serves(writer, asked),
                self._wait_s,
            )
            if writer.state.open_operation is not None:
                return ReadySession(writer, str(writer.state.generation.provider_thread_id))
        return await self._ready(thread_id, asked)

    def _serves(self, writer: ThreadWriter, asked: ClientResume | None) -> bool:
        """Returns whether the thread's session serves requests beside its open operation."""
        operation = writer.state.open_operation
        if operation is None or self._runner.uses.are_paused(writer.thread_id):
            return False
        # When the turn is repeated after an overflow, everything has been carried over. A client
        # that attaches changes nothing.
        is_served = operation.is_summarizing or (
            asked is not None and operation.phase is Phase.RETRYING
        )
        return is_served and self._is_in_place(writer)

    async def ready_for_turn(self, thread_id: str) -> ReadySession:
        """Prepares the thread's session for a turn and returns it. A critical context is compacted
        before, at most once for each turn.

        :raises ThreadError: as `ready`.
        :raises ProviderFailure: as `ready`.
        """
        writer = await self._registry.thread(thread_id)
        attempts = writer.state.auto_attempts
        session = await self.ready(thread_id)
        if self._auto.may_be_due(writer) and writer.state.auto_attempts is attempts:
            await self._auto.begin(writer)
            session = await self.ready(thread_id)
        return session

    async def operation_ended(self, writer: ThreadWriter, wait_s: float | None = None) -> None:
        """Waits until an accepted command's operation has ended; see `runner.operation_ended`.

        :raises OperationDelayed: when it cannot continue, because the journal cannot be written.
        """
        try:
            await self._runner.operation_ended(writer, self._wait_s if wait_s is None else wait_s)
        except JournalRefuses as error:
            raise OperationDelayed(error) from error

    def interrupt_recovery(self, thread_id: str, turn_id: str) -> bool:
        """Ends the recovery of the turn, or of any if `turn_id` is empty; returns if one ran."""
        writer = self._registry.loaded(thread_id)
        recovering = writer.state.recovering_turn_id if writer is not None else None
        if recovering is None or turn_id not in (recovering, ""):
            return False
        self._runner.recovery.interrupt(thread_id)
        return True

    def open_operation(self, thread_id: str) -> Operation | None:
        """Returns the thread's open operation, or None."""
        writer = self._registry.loaded(thread_id)
        return writer.state.open_operation if writer is not None else None

    def is_compacting(self, thread_id: str) -> bool:
        """Returns whether a compaction is the thread's open operation."""
        operation = self.open_operation(thread_id)
        return operation is not None and operation.kind in SUMMARIZING

    def begin_cancelling(self, thread_id: str) -> bool:
        """Begins to cancel the thread's compaction; returns whether there is one to cancel."""
        writer = self._registry.loaded(thread_id)
        return writer is not None and self._runner.compactions.cancel(writer)

    async def cancel_compaction(self, thread_id: str) -> bool:
        """Cancels the thread's compaction, as `begin_cancelling`, and waits until it has ended."""
        if not self.begin_cancelling(thread_id):
            return False
        await self._runner.operation_ended(await self._registry.thread(thread_id), self._wait_s)
        return True

    async def cancel_operation(self, operation_id: str) -> bool:
        """Cancels an operation, and waits until it has ended. Returns False when the operation is
        not an open compaction, or its summary has arrived.
        """
        for writer in self._registry.loaded_writers():
            operation = writer.state.open_operation
            if operation is not None and operation.id == operation_id:
                return await self.cancel_compaction(writer.thread_id)
        return False

    async def delete(self, writer: ThreadWriter) -> None:
        """Deletes what Codex has of the thread, and archives it. It is finished in any case unless
        Codex refuses.

        :raises ThreadError: when the thread is busy, or Codex has not answered in time.
        :raises ProviderError: when Codex refuses.
        """
        asked = await writer.execute(internal.DeleteThread())
        await self.operation_ended(writer, DELETE_WAIT_S)
        if (refusal := self._runner.deletions.refusal(asked.operation_id)) is not None:
            raise refusal

    def _is_in_place(self, writer: ThreadWriter) -> bool:
        generation = writer.state.generation
        return generation.ready and self._threads.is_loaded(generation.provider_thread_id)

    async def _resume_in_place(
        self, writer: ThreadWriter, asked: ClientResume | None = None
    ) -> bool:
        """Loads the provider thread of a ready generation again, as after a restart of Codex or the
        daemon. Returns False when a new generation has to be opened instead.
        """
        async with self._runner.lock(writer.thread_id):
            generation = writer.state.generation
            if writer.state.archived:
                return True  # while this waited: its session is being stopped
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
                    # An earlier daemon may have died before it archived the thread before this one.
                    number = generation.number
                    self._reactions.spawn(
                        lambda writer: self._archive_superseded(writer, number), writer.thread_id
                    )
                except (ProviderError, ArchivedElsewhere) as error:
                    if writer.read_only is not None:
                        # Its journal ends at the damage, so it may name an outdated Codex thread.
                        raise journal_read_only(writer.read_only) from error
                    if isinstance(error, ProviderError) and is_missing_error(error):
                        return False
                    raise
            return True

    async def _archive_superseded(self, writer: ThreadWriter, number: int) -> None:
        async with self._runner.lock(writer.thread_id):
            if writer.state.generation.number == number:
                await self._threads.archive_superseded(writer, number)

    async def dispatch(self, command: wire.AnyClientCommand) -> CommandResult:
        """Prepares the thread for a client's command, and dispatches the command to the thread's
        writer. Its record is durable on return.

        :raises ThreadError: when the command was refused, see `ThreadRegistry.dispatch`; or when
            the thread is archived in Codex.
        :raises ProviderFailure: when another program has the thread open.
        """
        writer = await self._registry.thread(command.thread_id)
        # A command that is repeated gets its stored answer, whatever has become of the thread.
        is_known = command.command_id in writer.state.receipts
        if not is_known and not isinstance(command, wire.WITHOUT_CODEX):
            await self.prepare(writer, command)
        return await self._registry.dispatch(command)

    async def prepare(self, writer: ThreadWriter, command: wire.AnyClientCommand) -> None:
        """Records everything that the decision about a command depends on.

        :raises ThreadError: when this Codex cannot execute the command, or has archived the thread.
        :raises ProviderFailure: when another program has the thread open.
        """
        refuse_if_too_old(command, self._threads.link.version)
        await self._catch_up(writer, must_look=isinstance(command, wire.LOOK_AT_TURNS))
        if isinstance(command, wire.AcceptDraft | wire.DiscardContext | wire.MaskContext) or (
            isinstance(command, wire.TrimContext | wire.CompactContext) and names_stretch(command)
        ):
            await self.complete_context(writer)
        elif isinstance(command, wire.ArchiveAndNew) and command.pins:
            await complete_context(writer, ())
        elif (
            isinstance(command, wire.RevertToCheckpoint)
            and command.scope == FILES
            and busy(writer.state) is None
        ):
            await self._worktrees.captured(writer)

    async def complete_context(self, writer: ThreadWriter) -> None:
        """Records the missing raw items of the active context, except for a running turn."""
        await complete_context(writer, await active_turns(writer.state))

    async def complete_undone(self, writer: ThreadWriter, *, redo: bool) -> None:
        """Records the missing raw items of the turns that the context would hold after an undo or
        redo.
        """
        plan = plan_undo(writer.state, redo=redo)
        if isinstance(plan, UndoPlan):
            await complete_context(writer, plan.context.active_turns)

    async def _catch_up(self, writer: ThreadWriter, *, must_look: bool) -> None:
        """Records turns that the ledger lacks, because a session was interrupted or another program
        continued the thread. Called before a command is decided.
        """
        state = writer.state
        is_cold = must_look and not self._threads.is_loaded(state.generation.provider_thread_id)
        if (
            (state.may_have_missed or is_cold)
            and writer.read_only is None
            and not state.archived
            and state.open_operation is None
        ):
            try:
                await self._resume_in_place(writer)
            except (ProviderFailure, ArchivedElsewhere) as error:
                if must_look and (isinstance(error, ArchivedElsewhere) or is_in_use_error(error)):
                    # The command would act on an outdated conversation.
                    raise
                log.warning("not_caught_up", thread_id=writer.thread_id, detail=str(error))

    async def take_in(self, writer: ThreadWriter) -> None:
        """Records changes that other programs made to a thread that is not loaded, without loading
        it.

        :raises ProviderFailure: when Codex has ended or does not answer.
        """
        if self._may_lack_turns(writer):
            async with self._runner.lock(writer.thread_id):
                if self._may_lack_turns(writer):  # an operation may have begun meanwhile
                    await self._threads.take_in(writer)

    def _may_lack_turns(self, writer: ThreadWriter) -> bool:
        state = writer.state
        is_settled = state.open_operation is None and state.generation.ready and not state.archived
        is_loaded = self._threads.is_loaded(state.generation.provider_thread_id)
        return is_settled and writer.read_only is None and not is_loaded

    async def _open(self, writer: ThreadWriter) -> None:
        result = await writer.execute(internal.OpenSession(force=writer.state.generation.ready))
        await self._runner.operation_ended(writer, self._wait_s)
        ended = writer.state.operation
        if ended and ended.id == result.operation_id and ended.phase is Phase.FAILED:
            raise ProviderUnavailable(ended.message)


def _must_reload(writer: ThreadWriter, asked: ClientResume | None) -> bool:
    """Returns whether a client requests settings that Codex takes only when it loads the thread,
    and the thread can be loaded again now.
    """
    return asked is not None and asked.wants_reload() and busy(writer.state) is None
