"""Loads a thread's state from its journal and snapshot, and writes snapshots.

Only the journal is authoritative. A snapshot saves time; one that does not match the journal is
ignored. Loading and writing give control back to the event loop regularly, however long the journal
is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from typing import NamedTuple

import anyio
import anyio.to_thread
import msgspec
import structlog
from anyio.lowlevel import checkpoint

from trimpoint.core.evolve.evolve import apply
from trimpoint.core.model import events as ev
from trimpoint.core.model.ledger import Turn
from trimpoint.core.model.state import ThreadState
from trimpoint.journal.codec.records import UnreadableRecord, decode_record
from trimpoint.journal.codec.snapshots import Snapshot, SnapshotWriter, decode_snapshot
from trimpoint.journal.errors import JournalError
from trimpoint.journal.port import Damage, Journal, StateStore
from trimpoint.journal.storage.directory import snapshot_name
from trimpoint.threads.errors import needed_version

log = structlog.get_logger()
# Each takes a few milliseconds.
EVENTS_AT_ONCE = 1_000
BYTES_AT_ONCE = 128 * 1024
# After such an event a state may no longer have the raw items of turns.
DROPPING = (ev.TrimPointCreated, ev.TurnsRolledBack, ev.CheckpointRestored)


class Loaded(NamedTuple):
    """An open journal and the state after all its records. `flaw` is the reason why the thread is
    read-only, or None. `folded_before` is the number of records that the snapshot covers.
    """

    journal: Journal
    state: ThreadState
    flaw: str | None
    folded_before: int


async def load(store: StateStore, thread_id: str) -> Loaded:
    """Opens a thread's journal and applies its records, from the snapshot on if it matches the
    journal.

    :raises JournalError, OSError, ValueError: see `StateStore.open_journal`.
    """
    snapshot = _decoded(await store.read_checked(snapshot_name(thread_id)), thread_id)
    if (
        snapshot is not None
        and (loaded := await _load_after(store, thread_id, snapshot)) is not None
    ):
        return loaded
    journal = await store.open_journal(thread_id)
    return await _fold(store, journal, ThreadState(), thread_id, 0)


def _decoded(payload: memoryview | None, thread_id: str) -> Snapshot | None:
    try:
        return decode_snapshot(payload, thread_id)
    except Exception:  # the boundary of snapshots, as in `write_snapshot`
        log.exception("snapshot_broke", thread_id=thread_id)
        return None


async def _load_after(store: StateStore, thread_id: str, snapshot: Snapshot) -> Loaded | None:
    """Returns None if the journal does not continue where the snapshot ends."""
    journal = await store.open_journal(thread_id, snapshot.bookmark)
    before = snapshot.bookmark.position.records
    if journal.report.start == snapshot.bookmark.position:
        loaded = await _fold(store, journal, snapshot.state, thread_id, before)
        if loaded.flaw is None or journal.report.damage is not Damage.NONE:
            return loaded
    log.warning("snapshot_ignored", thread_id=thread_id, records=before)
    await journal.close()
    return None


async def _fold(
    store: StateStore, journal: Journal, state: ThreadState, thread_id: str, before: int
) -> Loaded:
    try:
        return Loaded(journal, state, await _flaw_in(store, journal, state, thread_id), before)
    except BaseException:
        with anyio.CancelScope(shield=True):
            await journal.close()
        raise


async def _flaw_in(
    store: StateStore, journal: Journal, state: ThreadState, thread_id: str
) -> str | None:
    """Applies as many records of the journal as possible. Returns the reason why the thread is
    read-only, or None.
    """
    folded, events = journal.report.start.records, 0
    try:
        for payload in journal.read():
            record = decode_record(payload)
            apply(state, record)
            folded += 1
            events += len(record.events)
            if events >= EVENTS_AT_ONCE:
                events = 0
                await checkpoint()
    except UnreadableRecord as error:
        return f"{error}; it needs {needed_version(store.newest_version())}"
    except Exception:
        # A record that cannot be folded makes its thread read-only; the daemon must start.
        log.exception("journal_not_replayed", thread_id=thread_id, folded_records=folded)
        return (
            f"record {folded + 1} of the journal does not follow from those before it; the log has "
            "the details"
        )
    report = journal.report
    if report.damage is Damage.DAMAGED_MIDDLE:
        return f"the journal is damaged at byte {report.end.offset_bytes}: {report.reason}"
    return None


async def write_snapshot(
    store: StateStore,
    thread_id: str,
    journal: Journal,
    state: ThreadState,
    unchanged: Callable[[], bool],
) -> int | None:
    """Writes a snapshot of `state`, to which all records of the journal are applied. Returns the
    number of records that it covers.

    Returns None if the snapshot could not be written, or if `unchanged` returned false while it was
    being written.
    """
    try:
        bookmark = await journal.bookmark()
        if not unchanged():
            return None
        writer, parts, at_once = (
            SnapshotWriter(thread_id, state, bookmark),
            list[bytes | memoryview](),
            0,
        )
        for part in writer:
            parts.append(part)
            at_once += len(part) if part else BYTES_AT_ONCE
            if at_once >= BYTES_AT_ONCE:
                at_once = 0
                await checkpoint()
                if not unchanged():
                    return None
        await store.write_atomic(snapshot_name(thread_id), writer.head(), *parts)
    except (JournalError, OSError) as error:
        log.warning("snapshot_not_written", thread_id=thread_id, detail=str(error))
        return None
    except Exception:  # the boundary of snapshots: what only saves time must not cost the daemon
        log.exception("snapshot_broke", thread_id=thread_id)
        return None
    return bookmark.position.records


class TurnsRead(NamedTuple):
    """Turns with the raw items that a journal has, and the state after its last record."""

    turns: dict[str, Turn]
    state: ThreadState


async def read_turns(store: StateStore, thread_id: str, turn_ids: frozenset[str]) -> TurnsRead:
    """Returns the turns of `turn_ids` with the raw items that the journal has, including those that
    a trim dropped from memory, and those that were taken back.

    Reads the whole journal.

    :raises OSError, ValueError: see `StateStore.read_journal`.
    """
    payloads = await store.read_journal(thread_id)
    first, size = list[memoryview](), 0
    for payload in payloads:
        first.append(payload)
        size += len(payload)
        if size > BYTES_AT_ONCE:
            whole = chain(first, payloads)
            return await anyio.to_thread.run_sync(_turns_in, whole, turn_ids)
    return _turns_in(first, turn_ids)


def _turns_in(payloads: Iterable[memoryview], turn_ids: frozenset[str]) -> TurnsRead:
    state, found = ThreadState(), dict[str, Turn]()
    for payload in payloads:
        record = decode_record(payload)
        if any(isinstance(event, DROPPING) for event in record.events):
            found |= _with_items(state, turn_ids)
        apply(state, record)
    return TurnsRead(found | _with_items(state, turn_ids), state)


def _with_items(state: ThreadState, turn_ids: frozenset[str]) -> dict[str, Turn]:
    turns = (
        state.turns[state.turn_index[turn_id]]
        for turn_id in turn_ids
        if turn_id in state.turn_index
    )
    return {turn.id: msgspec.structs.replace(turn) for turn in turns if turn.items}
