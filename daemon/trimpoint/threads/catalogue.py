"""The catalogue: the facts about every thread that the daemon needs without opening its journal
(docs/spec/journal.md).

The catalogue is derived. An entry is used only if the journal still has the recorded size, and is
rebuilt from the journal otherwise.
"""

from collections.abc import Sequence

import msgspec

from trimpoint.core.context.context_size import reported_size
from trimpoint.core.decide.queueing import next_prompt
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import busy
from trimpoint.core.model.ledger import Entry
from trimpoint.core.model.state import ThreadState
from trimpoint.core.views.totals import encoded_spent

FILE_NAME = "catalogue"
PREVIEW_CHARS = 200
PREVIEW_ENTRIES = 64
_COUNTED = (
    ev.UsageReported,
    ev.TrimPointCreated,
    ev.ContextDiscarded,
    ev.ContextMasked,
    ev.TrimUndone,
    ev.TrimRedone,
    ev.CheckpointRestored,
)


class Size(msgspec.Struct, array_like=True, frozen=True):
    """The size of a thread, for lists. `compactions` includes those that Codex made by itself.

    `used_tokens` is None if no size was reported for the present context; `window_tokens` is the
    window that Codex reported, or None.
    """

    turns: int
    trims: int
    compactions: int
    used_tokens: int | None
    used_is_estimate: bool
    window_tokens: int | None


class ThreadSummary(msgspec.Struct, array_like=True):
    """The catalogue's entry for one thread. `provider_thread_ids` are the provider threads of its
    generations in order, None for a generation without one. `scratch_ids` are the temporary
    provider threads made for the thread.

    `size` is None in a catalogue of an older release until the thread is opened or written to
    again; so is `spent`, which `core/views/totals.py` reads.
    """

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
    size: Size | None = None
    launch: bytes = b""
    branch_name: str | None = None
    last_words: str = ""
    handoff_id: str | None = None
    spent: bytes | None = None

    @property
    def successor_ids(self) -> list[str]:
        """Returns the ids of the threads that the thread has announced: by `/new`, and by its last
        `/handoff`.
        """
        return [one for one in (self.new_thread_id, self.handoff_id) if one is not None]


class Catalogue(msgspec.Struct, array_like=True):
    """The file's content: the summaries of all threads."""

    threads: list[ThreadSummary]


_decoder = msgspec.msgpack.Decoder(Catalogue)


def encode_catalogue(summaries: list[ThreadSummary]) -> bytes:
    """Returns the catalogue as the payload of a checked file."""
    return msgspec.msgpack.encode(Catalogue(summaries))


def decode_catalogue(payload: bytes | memoryview | None) -> dict[str, ThreadSummary]:
    """Returns the summaries by thread id; empty if there is no catalogue or it has another
    format.
    """
    if payload is None:
        return {}
    try:
        return {summary.thread_id: summary for summary in _decoder.decode(payload).threads}
    except msgspec.MsgspecError:
        return {}


def summarize(state: ThreadState, size_bytes: int, scratch_ids: list[str]) -> ThreadSummary:
    """Returns the catalogue's entry for `state`."""
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
        preview=first_prompt(state),
        size=_size(state),
        launch=state.launch,
        branch_name=state.branch_name,
        last_words=last_words(state.entries[-PREVIEW_ENTRIES:]),
        handoff_id=_handoff_id(state),
        spent=encoded_spent(state),
    )


def refresh(summary: ThreadSummary, state: ThreadState, size_bytes: int, record: ev.Record) -> None:
    """Updates the parts of a summary that any record may change; not the provider threads and the
    preview.
    """
    summary.size_bytes, summary.sequence, summary.updated_at_ms = (
        size_bytes,
        state.sequence,
        state.updated_at_ms,
    )
    summary.name, summary.archived, summary.new_thread_id = (
        state.name,
        state.archived,
        state.new_thread_id,
    )
    summary.branch_name, summary.handoff_id = state.branch_name, _handoff_id(state)
    said = [event for event in record.events if isinstance(event, ev.EntryRecorded)]
    summary.last_words = last_words(said) or summary.last_words
    summary.unfinished = is_unfinished(state)
    summary.size = _size(state)
    if any(isinstance(event, _COUNTED) for event in record.events):
        summary.spent = encoded_spent(state)


def _handoff_id(state: ThreadState) -> str | None:
    return state.handoffs[-1].thread_id if state.handoffs else None


def _size(state: ThreadState) -> Size:
    reported = reported_size(state.usage, state.usage.window)
    return Size(
        turns=len(state.turns),
        trims=len(state.trim_points) + len(state.discards) - state.compaction_count,
        compactions=state.compaction_count + state.provider_compaction_count,
        used_tokens=None if reported is None else reported.used,
        used_is_estimate=reported is not None and reported.is_estimate,
        window_tokens=state.usage.window,
    )


def is_unfinished(state: ThreadState) -> bool:
    """Returns whether the thread must be opened at the next start, because it is busy, a prompt
    waits to be sent, or its session is not stopped although it is archived.
    """
    return (
        busy(state) is not None
        or next_prompt(state) is not None
        or (state.archived and not state.session_stopped)
    )


def first_prompt(state: ThreadState) -> str:
    """Returns the beginning of the thread's first prompt, empty if there is none."""
    # The first prompt is among the first entries; if there is none, reading all entries of the
    # thread would take too long.
    return next(
        (
            entry.text[:PREVIEW_CHARS]
            for entry in state.entries[:PREVIEW_ENTRIES]
            if entry.role == "user"
        ),
        "",
    )


def last_words(entries: Sequence[ev.EntryRecorded | Entry]) -> str:
    """Returns the beginning of the newest message among entries in one line, empty if there is
    none.
    """
    said = (
        " ".join(entry.text[:PREVIEW_CHARS].split())
        for entry in reversed(entries)
        if entry.kind == "message"
    )
    return next(filter(None, said), "")
