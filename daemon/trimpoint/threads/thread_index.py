"""Indexes all threads without opening them: their summaries, and the owner of each provider thread.

The index is updated by records as they become durable, at a cost that does not grow with the age of
a thread.
"""

from __future__ import annotations

import structlog

from trimpoint.core.model import events as ev
from trimpoint.core.model.state import ThreadState
from trimpoint.threads.catalogue import ThreadSummary, refresh, summarize

log = structlog.get_logger()

# Events that change more of a summary than `refresh` updates.
_RESHAPES = (ev.ThreadCreated, ev.GenerationOpened, ev.ProviderThreadBound, ev.TurnsRolledBack)


class ThreadIndex:
    """The index of all threads. `changes` counts the changes that are not in the catalogue on disk
    yet.
    """

    def __init__(self) -> None:
        self.summaries: dict[str, ThreadSummary] = {}
        self.owners: dict[str, str] = {}
        self.renamed: dict[str, str] = {}
        self.retried: dict[str, str] = {}
        self.launches: dict[str, bytes] = {}
        self.changes = 0
        self._temporary: dict[str, list[str]] = {}

    def remember(self, summary: ThreadSummary) -> None:
        """Adds or replaces the summary of a thread."""
        self.changes += 1
        self.summaries[summary.thread_id] = summary
        if summary.launch:
            self.launches[summary.thread_id] = summary.launch
        self._temporary[summary.thread_id] = summary.scratch_ids
        for provider_thread_id in (*summary.provider_thread_ids, *summary.scratch_ids):
            if provider_thread_id is not None:
                self.set_owner(provider_thread_id, summary.thread_id)

    def on_record(
        self, thread_id: str, state: ThreadState, size_bytes: int, record: ev.Record | None = None
    ) -> None:
        """Updates the index after `record`, or computes the thread's summary from the whole state
        if `record` is None.
        """
        for provider_turn_id, turn_id in state.turn_aliases.items():
            self.renamed[provider_turn_id], self.retried[turn_id] = turn_id, provider_turn_id
        operation = state.operation
        if operation is not None and operation.compaction_fork is not None:
            self.record_temporary(thread_id, operation.compaction_fork)
        if (
            operation is not None
            and operation.reverting is not None
            and operation.reverting.prepared is not None
        ):
            self.record_temporary(thread_id, operation.reverting.prepared)
        summary = self.summaries.get(thread_id)
        if summary is None or record is None or _reshapes(record, summary):
            self.remember(summarize(state, size_bytes, self._temporary.setdefault(thread_id, [])))
        else:
            self.changes += 1
            refresh(summary, state, size_bytes, record)

    def set_owner(self, provider_thread_id: str, thread_id: str) -> None:
        """Records that a provider thread serves or served the thread `thread_id`."""
        self.owners[provider_thread_id] = thread_id
        if provider_thread_id != thread_id:
            self.renamed[provider_thread_id] = thread_id

    def record_temporary(self, thread_id: str, provider_thread_id: str) -> None:
        """Records a temporary provider thread that was made for a thread. Clients never see it as a
        thread.
        """
        self.set_owner(provider_thread_id, thread_id)
        scratch = self._temporary.setdefault(thread_id, [])
        if provider_thread_id not in scratch:
            scratch.append(provider_thread_id)
            self.changes += 1


def _reshapes(record: ev.Record, summary: ThreadSummary) -> bool:
    return any(
        isinstance(event, _RESHAPES) or _may_be_preview(event, summary) for event in record.events
    )


def _may_be_preview(event: ev.AnyEvent, summary: ThreadSummary) -> bool:
    return not summary.preview and isinstance(event, ev.EntryRecorded) and event.role == "user"
