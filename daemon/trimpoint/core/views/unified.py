"""Renders a thread in the common form of the sessions of all agents (docs/session-logs.md). Pure.

The messages are the entries of the ledger in their order. A trim point with a summary is a
boundary, one without is a clear. Both have full confidence, because they are recorded in the
journal.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from trimpoint_protocol import unified as u
from trimpoint_protocol.lenient import as_dict

from trimpoint.core.context.gone_entries import gone_entries
from trimpoint.core.model.clock import rfc3339
from trimpoint.core.model.ledger import Entry, TrimPoint, Turn
from trimpoint.core.model.state import ThreadState

KINDS = {"user": "prompt", "assistant": "answer"}
TOOLS = ("commandExecution", "mcpToolCall", "dynamicToolCall", "fileChange", "webSearch")


def unified_records(state: ThreadState, *, include_compacted: bool) -> Iterator[u.Record]:
    """Yields all records of a thread except the last one, which `unified_end` returns. Without
    `include_compacted`, messages that are not in the active context are left out.
    """
    yield u.SessionRecord(session=_session(state))
    gone = gone_entries(state)
    points = sorted(state.trim_points, key=lambda point: point.entry_index)
    for index, entry in enumerate(state.entries):
        while points and points[0].entry_index <= index:
            yield _point(state, points.pop(0))
        left = gone.get((entry.turn_id, entry.id))
        at = _pruned_at(state, entry)
        if at is None and isinstance(left, TrimPoint):
            at = rfc3339(left.created_at_ms)
        is_active = at is None and left is None and not entry.is_part
        if include_compacted or is_active:
            yield _message(state.id, index, entry, at, is_active=is_active)
    for point in points:
        yield _point(state, point)
    usage = state.usage.thread
    yield u.UsageRecord(
        input_tokens=usage.input,
        cached_input_tokens=usage.cached_input,
        output_tokens=usage.output,
        reasoning_output_tokens=usage.reasoning_output,
        total_tokens=usage.total,
    )


def unified_end(state: ThreadState, records: Sequence[u.Record], digest: str) -> u.EndRecord:
    """Returns the last record, which has the counts of all records."""
    active = [one for one in records if isinstance(one, u.MessageRecord) and one.active]
    return u.EndRecord(
        messages=len(state.entries),
        active_messages=len(active),
        turns=len(state.turns),
        boundaries=sum(isinstance(one, u.BoundaryRecord) for one in records),
        clears=sum(isinstance(one, u.ClearRecord) for one in records),
        rewinds=0,
        lines=0,
        unparsed=0,
        duplicates=0,
        pending=False,
        unknown={},
        notes=[],
        digest=digest,
    )


def _session(state: ThreadState) -> u.Session:
    first = next((one.text for one in state.entries if one.role == "user"), None)
    times = [rfc3339(entry.created_at_ms) for entry in state.entries[-1:]]
    return u.Session(
        id=state.id,
        agent="trimpoint",
        title=state.name,
        first_prompt=first[:500] if first is not None else None,
        cwd=state.cwd,
        created_at=rfc3339(state.created_at_ms),
        updated_at=times[0] if times else rfc3339(state.created_at_ms),
        model=None,
        agent_version=None,
        git_branch=state.branch_name,
        files=[],
        lineage=u.Lineage(forked_from=state.parent_thread_id),
    )


def _pruned_at(state: ThreadState, entry: Entry) -> str | None:
    """Returns the RFC 3339 time when a trim point pruned the entry's turn, or None."""
    turn = state.turn_index[entry.turn_id]
    point = next((point for point in state.trim_points if point.turn_index > turn), None)
    return rfc3339(point.created_at_ms) if point is not None else None


def _message(
    thread_id: str, index: int, entry: Entry, at: str | None, *, is_active: bool
) -> u.MessageRecord:
    is_message = entry.kind == "message"
    is_tool = entry.role in TOOLS
    kind = KINDS.get(entry.role, "other") if is_message else "tool_call" if is_tool else "other"
    calls = [u.ToolCall(id=entry.id, name=entry.role, arguments=_detail(entry))] if is_tool else []
    return u.MessageRecord(
        index=index,
        id=entry.id,
        role=entry.role if is_message else "assistant",
        kind="reasoning" if entry.role == "reasoning" else kind,
        text=entry.text if not is_tool else "",
        timestamp=rfc3339(entry.created_at_ms),
        active=is_active,
        branch=0,
        synthetic=False,
        compacted_at=at,
        source_ref=u.SourceRef(file=thread_id, line=index + 1),
        tool_calls=calls,
    )


def _detail(entry: Entry) -> dict[str, Any]:
    return as_dict(msgspec.json.decode(entry.detail)) if entry.detail else {}


def _point(state: ThreadState, point: TrimPoint) -> u.Record:
    at = rfc3339(point.created_at_ms)
    if point.summary is None and not point.summary_unavailable:
        return u.ClearRecord(
            after_message_index=point.entry_index - 1,
            timestamp=at,
            kind="clear",
            from_session=state.id,
            to_session=state.id,
            confidence=1.0,
            evidence=[u.Evidence(kind="journal", detail=f"trim point {point.id}")],
        )
    first = point.turn_index - (point.pruned_turn_count or len(point.pruned_turn_ids))
    return u.BoundaryRecord(
        after_message_index=point.entry_index - 1,
        uuid=point.id,
        trigger="auto" if point.trigger in ("auto", "overflow") else "manual",
        trigger_source="journal",
        pre_tokens=None,
        summary=point.summary,
        summary_encrypted=point.summary_unavailable,
        replaced_message_indices=_entries_of(state, state.turns[first : point.turn_index]),
        timestamp=at,
    )


def _entries_of(state: ThreadState, turns: Sequence[Turn]) -> list[int]:
    first = turns[0].first_entry_index if turns else 0
    end = state.entries_end(state.turn_index[turns[-1].id]) if turns else 0
    return list(range(first, end))
