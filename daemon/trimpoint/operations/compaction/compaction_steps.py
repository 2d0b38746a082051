"""The steps of `/compact`: summarizes a fork, then trims the context (docs/spec/sessions.md).

The thread's own provider thread does not change before the summary is there, so a compaction that
fails or is cancelled leaves no trace.
"""

import time
from collections.abc import Awaitable, Callable

import anyio
from trimpoint_protocol.errors import Reason

from trimpoint.codex.notifications.watches import TurnWatch
from trimpoint.core.context.generations import items_beside
from trimpoint.core.decide.stretch_summaries import summarized_items, summarized_tokens
from trimpoint.core.decide.trimming import not_smaller, replaced_tokens, summarizer_guidance
from trimpoint.core.model import commands as internal
from trimpoint.core.model import events as ev
from trimpoint.core.model.operations import DRAFT, HANDOFF, SUMMARIZING, Phase
from trimpoint.core.model.state import Operation, ThreadState
from trimpoint.core.model.usage import model_in
from trimpoint.operations.compaction.compaction import (
    CompactionFailed,
    carried_usage,
    sealed_context,
)
from trimpoint.operations.compaction.hidden_answers import ask_hidden, brief_prompt
from trimpoint.operations.compaction.summarizing import summarize
from trimpoint.operations.messages import BRIEFED, DRAFTED, cancelled_message
from trimpoint.operations.phases import complete_context, journal_phase
from trimpoint.operations.provider.provider_threads import (
    ProviderThreads,
    TemporaryThread,
)
from trimpoint.operations.routing.routes import Route, ThreadRole
from trimpoint.operations.session_uses import SessionUses
from trimpoint.threads.off_loop import off_loop
from trimpoint.threads.writing.writer import ThreadWriter

_SUMMARY = "Asking the model for a summary."
ASKING = {HANDOFF: "Asking the model for a brief."}
SEALED = "only Codex can read the summary"


class CompactionSteps:
    """Runs compactions of threads, and can cancel them."""

    def __init__(self, threads: ProviderThreads, uses: SessionUses, deadline_s: float) -> None:
        self._threads = threads
        self._uses = uses
        self._deadline_s = deadline_s
        self._scopes: dict[str, anyio.CancelScope] = {}
        self._unwanted: set[str] = set()

    def cancel(self, writer: ThreadWriter) -> bool:
        """Cancels the thread's compaction. Returns False when there is none, or its summary has
        arrived already.
        """
        operation = writer.state.open_operation
        if (
            operation is None
            or operation.kind not in SUMMARIZING
            or operation.phase not in (Phase.REQUESTED, Phase.COMPACTING)
        ):
            return False
        self._unwanted.add(operation.id)
        if (scope := self._scopes.get(operation.id)) is not None:
            scope.cancel()
        return True

    async def run(self, writer: ThreadWriter, operation: Operation) -> None:
        """Gets the summary and trims the context, unless the compaction is cancelled before.

        :raises CompactionFailed: when there is no acceptable summary.
        :raises ProviderFailure: when Codex refused, ended or did not answer.
        """
        scope = self._scopes[operation.id] = anyio.CancelScope()
        if operation.id in self._unwanted:
            scope.cancel()
        try:
            with scope:
                await journal_phase(
                    writer, operation, Phase.COMPACTING, ASKING.get(operation.kind, _SUMMARY)
                )
                await self._steps_of(operation)(writer, operation)
        finally:
            del self._scopes[operation.id]
            self._unwanted.discard(operation.id)
        if scope.cancelled_caught:
            said = cancelled_message(operation)
            await journal_phase(writer, operation, Phase.CANCELLED, said, Reason.CANCELLED)

    def _steps_of(
        self, operation: Operation
    ) -> Callable[[ThreadWriter, Operation], Awaitable[None]]:
        if operation.kind == HANDOFF:
            return self._brief
        return self._compact if operation.compaction_turns is None else self._compact_stretch

    async def _brief(self, writer: ThreadWriter, operation: Operation) -> None:
        """Has the model write the brief of a new thread, on a hidden fork."""
        began = time.monotonic()
        provider_id = await self._loaded_provider(writer)
        prompt = brief_prompt(operation.compaction_guidance)
        with anyio.move_on_after(self._deadline_s):
            answer = await ask_hidden(
                self._threads,
                writer,
                provider_id,
                prompt,
                model=operation.compaction_model,
                effort=operation.compaction_effort,
            )
            if answer.status != "completed":
                raise CompactionFailed(answer.error or f"its turn ended as {answer.status}")
            if not answer.text.strip():
                raise CompactionFailed("the model answered with an empty brief")
            return await self._written(writer, operation, answer.text.strip(), began)
        raise CompactionFailed(f"it did not finish within {self._deadline_s:g} seconds")

    async def _compact(self, writer: ThreadWriter, operation: Operation) -> None:
        began = time.monotonic()
        provider_id = await self._loaded_provider(writer)
        await complete_context(writer, writer.state.active_turns)
        fork = await self._threads.fork_temporary(
            writer,
            provider_id,
            hidden=operation.kind == DRAFT,
            model=operation.compaction_model,
            effort=operation.compaction_effort,
        )
        carries_on = False
        try:
            writer.record_facts(ev.CompactionForked(operation.id, fork.id))
            await writer.flush()  # so that a filled thread is never forgotten
            guidance = summarizer_guidance(writer.state, operation.compaction_guidance)
            # Without a readable summary, the compacted thread itself becomes the next generation.
            summary = await summarize(self._threads, writer, fork, guidance, self._deadline_s)
            if operation.kind == DRAFT:
                return await self._written(writer, operation, summary, began)
            carries_on = summary is None
            _check_summary(writer.state, operation, summary)
            if summary is None:
                fork = await self._with_kept_turns(writer, operation, fork)
            took_ms = round((time.monotonic() - began) * 1000)
            # A request that the present session answers sees the thread as it is before the trim.
            async with self._uses.paused(writer.thread_id):
                await self._complete(writer, operation, summary, fork, took_ms)
        except BaseException:
            carries_on = False
            raise
        finally:
            if not carries_on:
                with anyio.CancelScope(shield=True):
                    await self._threads.delete_quietly(fork.id)

    async def _compact_stretch(self, writer: ThreadWriter, operation: Operation) -> None:
        """Summarizes turns in the middle on a hidden thread that has nothing else."""
        began = time.monotonic()
        await complete_context(writer, writer.state.active_turns)
        items = await off_loop(writer.state, lambda now: summarized_items(now, operation))
        scratch = await self._scratch(writer, operation)
        try:
            writer.record_facts(ev.CompactionForked(operation.id, scratch.id))
            await writer.flush()  # so that a filled thread is never forgotten
            await self._threads.inject(scratch.id, items)
            guidance = operation.compaction_guidance
            summary = await summarize(self._threads, writer, scratch, guidance, self._deadline_s)
            if operation.kind == DRAFT:
                return await self._written(writer, operation, summary, began)
            if summary is None:
                raise CompactionFailed(SEALED)
            replaced = await off_loop(writer.state, lambda now: summarized_tokens(now, operation))
            if (refusal := not_smaller(operation, summary, replaced)) is not None:
                raise CompactionFailed(refusal.message, refusal.reason)
            took_ms = round((time.monotonic() - began) * 1000)
            async with self._uses.paused(writer.thread_id):
                await self._complete(writer, operation, summary, scratch, took_ms)
        finally:
            with anyio.CancelScope(shield=True):
                await self._threads.delete_quietly(scratch.id)

    async def _written(
        self, writer: ThreadWriter, operation: Operation, text: str | None, began: float
    ) -> None:
        """Ends the operation with what was drafted; it stays in the thread until the person accepts
        it, or the context changes.
        """
        if text is None:
            raise CompactionFailed(SEALED)
        took_ms = round((time.monotonic() - began) * 1000)
        drafted = ev.DraftWritten(writer.thread_id, operation.id, text, took_ms)
        with anyio.CancelScope(shield=True):
            said = BRIEFED if operation.kind == HANDOFF else DRAFTED
            await journal_phase(writer, operation, Phase.READY, said, "", drafted)

    async def _scratch(self, writer: ThreadWriter, operation: Operation) -> TemporaryThread:
        with anyio.CancelScope(shield=True):  # as of a fork
            return await self._threads.start_temporary(
                writer, model=operation.compaction_model, effort=operation.compaction_effort
            )
        raise AssertionError("nothing cancels the scope")  # pragma: no cover

    async def _with_kept_turns(
        self, writer: ThreadWriter, operation: Operation, compacted: TemporaryThread
    ) -> TemporaryThread:
        """Returns a provider thread that holds the sealed summary, followed by the pins and the
        kept turns.

        The compacted thread holds the prompts of all turns before its summary, and nothing can be
        removed from it. So if turns are kept, another thread gets its items, without the prompts
        that the kept turns repeat.
        """
        keep = operation.compaction_keep
        kept = await off_loop(writer.state, lambda now: items_beside(now, keep))
        if not kept:
            return compacted
        held = await sealed_context(compacted.path, kept)
        carrier = await self._threads.start_temporary(writer)
        carrier.watch.usage = compacted.watch.usage
        writer.record_facts(ev.CompactionForked(operation.id, carrier.id))
        try:
            await writer.flush()  # so that a filled thread is never forgotten
            await self._threads.inject(carrier.id, [*held, *kept])
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self._threads.delete_quietly(carrier.id)
            raise
        await self._threads.delete_quietly(compacted.id)
        return carrier

    async def _complete(
        self,
        writer: ThreadWriter,
        operation: Operation,
        summary: str | None,
        fork: TemporaryThread,
        duration_ms: int,
    ) -> None:
        carried = (fork.id, fork.path) if summary is None else (None, None)
        # From here on the compaction cannot be cancelled.
        with anyio.CancelScope(shield=True):
            await writer.execute(
                internal.CompleteCompaction(operation.id, summary, duration_ms, *carried)
            )
        if summary is None:
            watch = self._threads.router.watches.pop(fork.id)
            assert isinstance(watch, TurnWatch)  # as every compaction is watched
            self._threads.use(
                fork.id, Route(writer.thread_id, ThreadRole.CURRENT, writer.state.generation.number)
            )
            kept = items_beside(writer.state, len(writer.state.active_turns))
            writer.record_facts(*carried_usage(watch.usage, kept))

    async def _loaded_provider(self, writer: ThreadWriter) -> str:
        generation = writer.state.generation
        if generation.provider_thread_id is None or not generation.ready:
            raise CompactionFailed("the thread has no session yet")
        if not self._threads.is_loaded(generation.provider_thread_id):
            writer.record_facts(*await self._threads.resume(writer, generation))
        return generation.provider_thread_id


def _check_summary(state: ThreadState, operation: Operation, summary: str | None) -> None:
    """Raises if the summary cannot be used.

    :raises CompactionFailed: when the summary is not smaller than the context, or is sealed by
        another model than the thread's.
    """
    if summary is None:
        if operation.compaction_model not in (None, model_in(state.settings)):
            # The compacted thread would serve the thread, but with another model.
            raise CompactionFailed("only Codex can read what that model wrote")
        return
    refusal = not_smaller(operation, summary, replaced_tokens(state, operation))
    if refusal is not None:
        raise CompactionFailed(refusal.message, refusal.reason)
