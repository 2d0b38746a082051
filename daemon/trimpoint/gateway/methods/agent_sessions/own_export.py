"""Exports a thread of ours in one answer: `sessions/export`, and `session/export`, its older name
for threads.
"""

import hashlib
from typing import Literal, assert_never

import msgspec
from anyio.lowlevel import checkpoint
from trimpoint_protocol.errors import Reason
from trimpoint_protocol.readmodel import TimelineEntry
from trimpoint_protocol.shapes.agent_sessions import ExportFormat

from trimpoint.core.model.clock import rfc3339
from trimpoint.core.model.state import ThreadState
from trimpoint.core.views.export import Heading, document, markdown
from trimpoint.core.views.timeline import Timeline
from trimpoint.core.views.unified import unified_end, unified_records
from trimpoint.gateway.session.requests.errors import Refusal
from trimpoint.sessionlogs.export import document_of

MAX_EXPORT_BYTES = 16 * 1024 * 1024
ENTRIES_AT_ONCE = 500


async def own_export(
    state: ThreadState, form: ExportFormat | Literal["json"], *, include_compacted: bool
) -> str:
    """Returns the thread in the form `form`; "json" is the timeline with a heading.

    :raises Refusal: when the thread is too large for one answer, or changed while it was read.
    """
    match form:
        case "unified" | "unified-json":
            return _unified(state, form, include_compacted=include_compacted)
        case "markdown" | "json":
            heading = Heading(state.id, state.name, state.cwd, rfc3339(state.created_at_ms))
            entries = await _all_entries(state, pruned=include_compacted)
            if form == "markdown":
                return "".join(markdown(heading, entries))
            return msgspec.json.encode(document(heading, entries)).decode()
        case _:
            assert_never(form)


def _unified(
    state: ThreadState, form: Literal["unified", "unified-json"], *, include_compacted: bool
) -> str:
    records = list(unified_records(state, include_compacted=include_compacted))
    lines = b"".join(msgspec.json.encode(record) + b"\n" for record in records)
    if len(lines) > MAX_EXPORT_BYTES:
        raise _too_large()
    if form == "unified-json":
        pieces = document_of(records, lambda digest: unified_end(state, records, digest))
        return b"".join(pieces).decode()
    end = unified_end(state, records, hashlib.sha256(lines).hexdigest())
    return (lines + msgspec.json.encode(end) + b"\n").decode()


def _too_large() -> Refusal:
    return Refusal(
        Reason.NOT_SUPPORTED,
        "The thread is too large for one answer.",
        "`trimpoint export` writes it to a file, and timeline/read gives it page by page.",
    )


async def _all_entries(state: ThreadState, *, pruned: bool) -> list[TimelineEntry]:
    timeline = Timeline(
        state, frozenset(point.id for point in state.boundaries) if pruned else frozenset()
    )
    before, entries, room_bytes = state.thread_sequence, list[TimelineEntry](), MAX_EXPORT_BYTES
    for at in range(len(timeline)):
        entry = timeline[at]
        room_bytes -= len(msgspec.json.encode(entry))
        if room_bytes < 0:
            raise _too_large()
        entries.append(entry)
        if at % ENTRIES_AT_ONCE == ENTRIES_AT_ONCE - 1:
            await checkpoint()
            if state.thread_sequence != before:
                raise Refusal(
                    Reason.TURN_IN_PROGRESS,
                    "The thread changed while it was read.",
                    "Try again when no turn is running.",
                )
    return entries
