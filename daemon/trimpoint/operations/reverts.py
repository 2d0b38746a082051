"""Runs a revert (docs/spec/checkpoints.md): makes a safety checkpoint, prepares a provider thread,
restores the files, and writes one final record.

Always true: until that record is written, the thread's session, ledger and context are unchanged. A
failure before it leaves everything as it was. If a daemon dies while files are written, the next
one completes the revert.
"""

from typing import Any, NamedTuple

import msgspec
import structlog

from trimpoint.codex.appserver.errors import ProviderError, ProviderLacks
from trimpoint.core.decide.reverting import (
    RevertTarget,
    has_other_pins,
    resolve_target,
    target_items,
)
from trimpoint.core.model import commands as internal
from trimpoint.core.model import events as ev
from trimpoint.core.model.operations import Phase
from trimpoint.core.model.state import Operation, Reverting, ThreadState
from trimpoint.operations.messages import reverted_message
from trimpoint.operations.phases import complete_context, journal_phase, journal_phase_deferred
from trimpoint.operations.provider.names import give_name
from trimpoint.operations.provider.provider_threads import ProviderThreads
from trimpoint.operations.provider.settings import session_params
from trimpoint.operations.routing.routes import Route, ThreadRole
from trimpoint.threads.errors import CommandRefused, JournalRefuses
from trimpoint.threads.off_loop import off_loop
from trimpoint.threads.worktrees import Restored, WorktreeRefuses, Worktrees
from trimpoint.threads.writing.writer import ThreadWriter

log = structlog.get_logger()


class Prepared(NamedTuple):
    """A provider thread with the context of the revert's target. `in_provider` is true for a fork,
    whose context Codex already had. `name` is the name that it was given.
    """

    id: str
    rollout_path: str | None
    in_provider: bool
    not_carried: list[str]
    name: str | None


class RevertSteps:
    """Runs reverts. `step` runs one phase; the runner calls it until the operation has ended."""

    def __init__(self, threads: ProviderThreads, worktrees: Worktrees) -> None:
        self._threads = threads
        self._worktrees = worktrees
        self._prepared: dict[str, Prepared] = {}
        # Those that nothing was prepared for yet, by an earlier daemon neither.
        self._begun: set[str] = set()

    async def step(self, writer: ThreadWriter, operation: Operation, reverting: Reverting) -> None:
        """Runs one phase. If the phase raises, what was prepared is undone and the exception is
        raised again.
        """
        try:
            await self._step(writer, operation, reverting)
        except (JournalRefuses, CommandRefused):
            raise  # the runner repeats the step
        except (
            Exception
        ) as error:  # whatever the error is, the revert is undone before it is reported
            await self._undo(writer, operation, reverting, error)
            raise

    async def _step(self, writer: ThreadWriter, operation: Operation, reverting: Reverting) -> None:
        if operation.phase in (Phase.REQUESTED, Phase.CHECKPOINTING):
            self._begun.add(operation.id)
        match operation.phase:
            case Phase.REQUESTED if reverting.commit:
                journal_phase_deferred(
                    writer, operation, Phase.CHECKPOINTING, "Saving the files as they are now."
                )
            case Phase.REQUESTED:
                # Durable before a fork is made, which the next daemon then looks for.
                await journal_phase(writer, operation, Phase.STARTING, "Preparing the session.")
            case Phase.CHECKPOINTING:
                secured = await self._worktrees.secure(writer, reverting, operation.id)
                await journal_phase(
                    writer, operation, Phase.STARTING, "Preparing the session.", "", *secured
                )
            case Phase.RESTORING:
                await self._restore(writer, operation, reverting)
            case _:
                await self._start(writer, operation, reverting)

    async def _start(
        self, writer: ThreadWriter, operation: Operation, reverting: Reverting
    ) -> None:
        await self._prepare_if_needed(writer, operation, reverting)
        if reverting.commit:
            # Durable before a file is written, so that after a crash the next daemon continues.
            await journal_phase(writer, operation, Phase.RESTORING, "Restoring the files.")
        else:
            await self._complete(writer, operation, Restored(0, 0))

    async def _restore(
        self, writer: ThreadWriter, operation: Operation, reverting: Reverting
    ) -> None:
        restored = await self._worktrees.restore(writer, reverting)
        await self._prepare_if_needed(
            writer, operation, reverting
        )  # needed again after a crash of the daemon
        await self._complete(writer, operation, restored)

    async def _prepare_if_needed(
        self, writer: ThreadWriter, operation: Operation, reverting: Reverting
    ) -> None:
        is_first = operation.id in self._begun
        self._begun.discard(operation.id)
        target = resolve_target(writer.state, reverting)
        if target is None or self._is_prepared(operation, reverting):
            return
        await self._threads.delete_quietly(reverting.prepared)
        if not is_first and reverting.prepared is None:
            await self._threads.forking.delete_unknown(writer.state)
        prepared = await self._from_provider(writer, operation, target) or await self._from_ledger(
            writer, operation, reverting, target
        )
        self._prepared[operation.id] = prepared

    def _is_prepared(self, operation: Operation, reverting: Reverting) -> bool:
        prepared = self._prepared.get(operation.id)
        return (
            prepared is not None
            and prepared.id == reverting.prepared
            and self._threads.is_loaded(prepared.id)
        )

    async def _from_provider(
        self, writer: ThreadWriter, operation: Operation, target: RevertTarget
    ) -> Prepared | None:
        """Returns a fork of the provider thread that had the target's context, forked after the
        target turn; None when Codex no longer has it, or its fork would have more than that, unless
        only Codex can read the context.
        """
        source = _source(writer.state, target)
        is_exact = target.through is None or self._threads.forks_exactly
        if source is None or not (is_exact or target.is_sealed):
            return None
        try:
            fork = await self._threads.fork_hidden(
                writer, source, _provider_turn_id(writer.state, target.through)
            )
        except (ProviderError, ProviderLacks) as error:
            if target.is_sealed:
                raise
            log.info("context_rebuilt_from_ledger", thread_id=writer.thread_id, detail=str(error))
            return None
        return await self._carried_over(writer, operation, fork, in_provider=True)

    async def _from_ledger(
        self, writer: ThreadWriter, operation: Operation, reverting: Reverting, target: RevertTarget
    ) -> Prepared:
        lost = await complete_context(writer, target.active)
        target = resolve_target(writer.state, reverting) or target  # now with the completed items
        params = {**session_params(writer.state), "sessionStartSource": "clear"}
        thread = await self._threads.start_hidden(writer, params)
        writer.record_facts(ev.RevertPrepared(operation.id, str(thread["id"])))
        await writer.flush()  # so that a filled thread is never forgotten
        items = await off_loop(writer.state, lambda now: target_items(now, target))
        await self._threads.inject(str(thread["id"]), items)
        prepared = await self._carried_over(writer, operation, thread, in_provider=False)
        return prepared._replace(not_carried=[*prepared.not_carried, *lost])

    async def _carried_over(
        self,
        writer: ThreadWriter,
        operation: Operation,
        thread: dict[str, Any],
        *,
        in_provider: bool,
    ) -> Prepared:
        provider_id = str(thread["id"])
        writer.record_facts(ev.RevertPrepared(operation.id, provider_id))
        present = writer.state.generation.provider_thread_id
        name = None if writer.is_unwritten(ev.ThreadRenamed) else writer.state.name
        not_carried = await self._threads.inherit_state(writer, present, provider_id)
        return Prepared(provider_id, thread.get("path"), in_provider, not_carried, name)

    async def _complete(
        self, writer: ThreadWriter, operation: Operation, restored: Restored
    ) -> None:
        prepared = self._prepared.get(operation.id)
        message = reverted_message(
            writer.state, operation, restored, prepared.not_carried if prepared is not None else []
        )
        command = internal.CompleteRevert(
            operation.id, written=restored.written, removed=restored.removed, message=message
        )
        if prepared is not None:
            command = msgspec.structs.replace(
                command,
                provider_thread_id=prepared.id,
                rollout_path=prepared.rollout_path,
                raw_events=not prepared.in_provider,  # a fork reports none (measured: 0.163, 0.171)
                in_provider=prepared.in_provider,
            )
        await writer.execute(command)
        if prepared is not None:
            del self._prepared[operation.id]
            await self._change_over(writer, prepared)

    async def _change_over(self, writer: ThreadWriter, prepared: Prepared) -> None:
        self._threads.use(
            prepared.id, Route(writer.thread_id, ThreadRole.CURRENT, writer.state.generation.number)
        )
        if writer.state.name != prepared.name:  # the thread was renamed meanwhile
            await give_name(self._threads.link, self._threads.names, writer, prepared.id)
        await self._threads.archive_previous(writer)

    async def _undo(
        self, writer: ThreadWriter, operation: Operation, reverting: Reverting, error: Exception
    ) -> None:
        """Deletes the prepared provider thread, and restores the files unless `restore` has done so
        itself.
        """
        present = writer.state.open_operation
        if present is None or present.id != operation.id:
            return  # the revert is complete; the error came after its final record
        prepared = self._prepared.pop(operation.id, None)
        if prepared is not None:
            await self._threads.delete_quietly(prepared.id)
        if operation.phase is Phase.RESTORING and not isinstance(error, WorktreeRefuses):
            await self._worktrees.undo(writer, reverting)


def _source(state: ThreadState, target: RevertTarget) -> str | None:
    """Returns the provider thread to fork, or None if no turns ran in it: Codex tells the model
    "turn aborted" in a fork of a thread that has only injected items (0.163).
    """
    if target.generation is None or (has_other_pins(state, target) and not target.is_sealed):
        return None
    generation = state.generations[target.generation - 1]
    ran_turns = generation.turn_count > 0 or generation.bootstrap == "provider"
    return generation.provider_thread_id if ran_turns else None


def _provider_turn_id(state: ThreadState, turn_id: str | None) -> str | None:
    """Returns Codex's id of a turn; a repeated turn has another id there."""
    tried_again = [theirs for theirs, ours in state.turn_aliases.items() if ours == turn_id]
    return tried_again[-1] if tried_again else turn_id
