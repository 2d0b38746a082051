"""The catalogue: what the daemon must know of every thread without opening its journal (docs/spec/journal.md).

A derived file: it is trusted per thread only while the journal has the size that was noted, and rebuilt from the journals otherwise.
"""

import msgspec

from trimpoint.core.model.decision import busy
from trimpoint.core.model.state import ThreadState

FILE_NAME = "catalogue"
PREVIEW_CHARS = 200
PREVIEW_ENTRIES = 64


class ThreadSummary(msgspec.Struct, array_like=True):
    """One thread. `provider_thread_ids` are its generations' in order (None while unbound); `scratch_ids` are forks made to compact."""

    thread_id: str
    size_bytes: int
    sequence: int
    provider_thread_ids: list[str | None]
    scratch_ids: list[str]
    name: str | None
    cwd: str
    archived: bool
    created_at_ms: int
    updated_at_ms: int
    unfinished: bool
    new_thread_id: str | None
    preview: str = ""


class Catalogue(msgspec.Struct, array_like=True):
    """All threads, by id."""

    threads: list[ThreadSummary]


_decoder = msgspec.msgpack.Decoder(Catalogue)


def encode_catalogue(summaries: list[ThreadSummary]) -> bytes:
    """The catalogue as a checked file's payload."""
    return msgspec.msgpack.encode(Catalogue(summaries))


def decode_catalogue(payload: bytes | memoryview | None) -> dict[str, ThreadSummary]:
    """Summaries by thread id; empty when there is no catalogue or it is of another shape."""
    if payload is None:
        return {}
    try:
        return {summary.thread_id: summary for summary in _decoder.decode(payload).threads}
    except msgspec.MsgspecError:
        return {}


def summarize(state: ThreadState, size_bytes: int, scratch_ids: list[str]) -> ThreadSummary:
    """What the catalogue keeps of `state`."""
    return ThreadSummary(
        thread_id=state.id,
        size_bytes=size_bytes,
        sequence=state.sequence,
        provider_thread_ids=[generation.provider_thread_id for generation in state.generations],
        scratch_ids=scratch_ids,
        name=state.name,
        cwd=state.cwd,
        archived=state.archived,
        created_at_ms=state.created_at_ms,
        updated_at_ms=state.updated_at_ms,
        unfinished=is_unfinished(state),
        new_thread_id=state.new_thread_id,
        preview=_preview(state),
    )


def refresh(summary: ThreadSummary, state: ThreadState, size_bytes: int) -> None:
    """Bring up to date what any record may change; not the provider threads and the preview."""
    summary.size_bytes, summary.sequence, summary.updated_at_ms = size_bytes, state.sequence, state.updated_at_ms
    summary.name, summary.archived, summary.new_thread_id = state.name, state.archived, state.new_thread_id
    summary.unfinished = is_unfinished(state)


def is_unfinished(state: ThreadState) -> bool:
    """Whether the thread must be opened at the next start, because something of it is still under way."""
    return busy(state) is not None or (state.archived and not state.session_stopped)


def _preview(state: ThreadState) -> str:
    # The first prompt is among the first entries; a thread without any must not have all of its entries looked at.
    return next((entry.text[:PREVIEW_CHARS] for entry in state.entries[:PREVIEW_ENTRIES] if entry.role == "user"), "")
