"""Overviews of threads without opening them, for lists and for the fleet."""

from trimpoint_protocol import methods as m
from trimpoint_protocol.readmodel import ContextStatus

from trimpoint.core.context.context_size import LAST_KNOWN, ContextSize
from trimpoint.core.model.clock import rfc3339
from trimpoint.core.model.decision import asks, busy
from trimpoint.core.model.usage import UsageTotals
from trimpoint.core.views.meter import context_status, status_of
from trimpoint.threads.catalogue import ThreadSummary, first_prompt
from trimpoint.threads.off_loop import must_weigh, off_loop
from trimpoint.threads.registry import ThreadRegistry
from trimpoint.threads.writing.writer import ThreadWriter


class ThreadOverviews:
    """Makes overviews of the threads of a registry."""

    def __init__(self, registry: ThreadRegistry) -> None:
        self._registry = registry
        self._weighed: dict[str, tuple[int, ContextStatus]] = {}

    async def of(self, summary: ThreadSummary) -> m.ThreadOverview:
        """Returns a thread's overview. Values that only an open thread has are null for other
        threads.
        """
        writer = self._registry.loaded(summary.thread_id)
        block = busy(writer.state) if writer is not None else None
        size = summary.size
        return m.ThreadOverview(
            id=summary.thread_id,
            name=summary.name,
            cwd=summary.cwd,
            archived=summary.archived,
            created_at=rfc3339(summary.created_at_ms),
            updated_at=rfc3339(summary.updated_at_ms),
            generation=len(summary.provider_thread_ids),
            loaded=writer is not None,
            busy=None if block is None else f"{block.kind}: {block.detail}",
            context=await self._meter(summary),
            # The summary is as old as the disk, and the other members are not.
            preview=summary.preview or ("" if writer is None else first_prompt(writer.state)),
            turns=size.turns if size is not None else None,
            trims=size.trims if size is not None else None,
            compactions=size.compactions if size is not None else None,
            new_thread_id=summary.new_thread_id,
            asks=asks(writer.state) if writer is not None else None,
            branch_name=summary.branch_name,
            last_words=summary.last_words,
        )

    async def _meter(self, summary: ThreadSummary) -> ContextStatus | None:
        writer, size, policy = (
            self._registry.loaded(summary.thread_id),
            summary.size,
            self._registry.policy,
        )
        if writer is not None:
            return await self._status(writer)
        self._weighed.pop(summary.thread_id, None)
        if size is None or size.used_tokens is None:
            return None
        note = LAST_KNOWN if size.used_is_estimate else None
        fill = ContextSize(size.used_tokens, size.used_is_estimate, is_unknown=False, note=note)
        return status_of(
            summary.thread_id, UsageTotals(window=size.window_tokens), None, fill, policy
        )

    async def _status(self, writer: ThreadWriter) -> ContextStatus:
        """Returns the meter of a loaded thread. An overview is asked for often, so a long context
        is weighed once for each state of its thread.
        """
        state, policy = writer.state, self._registry.policy
        if not must_weigh(state):
            self._weighed.pop(state.id, None)
            return context_status(state, policy)
        number = state.thread_sequence
        known, status = self._weighed.get(state.id, (0, None))
        if status is None or known != number:
            status = await off_loop(state, lambda now: context_status(now, policy))
            self._weighed[state.id] = (number, status)
        return status
