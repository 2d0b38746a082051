"""Trimpoint's own threads as sessions."""

from collections.abc import Collection, Iterable

import msgspec
from trimpoint_protocol.shapes.agent_sessions import SessionOverview

from trimpoint.core.model.clock import rfc3339
from trimpoint.threads.catalogue import ThreadSummary


def own_sessions(summaries: Iterable[ThreadSummary]) -> list[SessionOverview]:
    """Returns an overview of each thread. Counts are null for threads that were not opened since
    trimpoint began to count.
    """
    return [_overview(summary) for summary in summaries]


def conversations(
    logs: Iterable[SessionOverview], summaries: Collection[ThreadSummary]
) -> list[SessionOverview]:
    """Returns the sessions as conversations: all logs that Codex has of one thread of ours are one
    row, the thread's. A thread in which nothing was said has none.
    """
    owners = {
        provider_id: summary.thread_id
        for summary in summaries
        for provider_id in (summary.thread_id, *summary.provider_thread_ids, *summary.scratch_ids)
    }
    of_others: list[SessionOverview] = []
    of_ours: dict[str, list[SessionOverview]] = {}
    for log in logs:
        owner = owners.get(log.id) if log.agent == "codex" else None
        (of_others if owner is None else of_ours.setdefault(owner, [])).append(log)
    own = [
        _with_logs(one, of_ours.get(one.id, []))
        for one in own_sessions(summaries)
        if one.title or one.first_prompt or one.turns
    ]
    return [*of_others, *own]


def _with_logs(own: SessionOverview, logs: list[SessionOverview]) -> SessionOverview:
    return msgspec.structs.replace(
        own,
        tokens=sum(log.tokens or 0 for log in logs) or None,
        files=[name for log in logs for name in log.files],
        bytes=sum(log.bytes for log in logs),
    )


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
