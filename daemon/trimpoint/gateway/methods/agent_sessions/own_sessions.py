"""Trimpoint's own threads as sessions."""

from collections.abc import Iterable

from trimpoint_protocol.shapes.agent_sessions import SessionOverview

from trimpoint.core.model.clock import rfc3339
from trimpoint.threads.catalogue import ThreadSummary


def own_sessions(summaries: Iterable[ThreadSummary]) -> list[SessionOverview]:
    """Returns an overview of each thread. Counts are null for threads that were not opened since
    trimpoint began to count.
    """
    return [_overview(summary) for summary in summaries]


def _overview(summary: ThreadSummary) -> SessionOverview:
    size = summary.size
    return SessionOverview(
        id=summary.thread_id,
        agent="trimpoint",
        title=summary.name,
        first_prompt=summary.preview or None,
        cwd=summary.cwd,
        created_at=rfc3339(summary.created_at_ms),
        updated_at=rfc3339(summary.updated_at_ms),
        turns=size.turns if size is not None else None,
        messages=None,
        tokens=None,
        clears=size.trims if size is not None else None,
        compactions=size.compactions if size is not None else None,
        rewinds=None,
        lineage=None,
        lineage_kind=None,
        model=None,
        files=[],
        bytes=0,
    )
