"""Journals on disk with a thread in them, and ways to damage them."""

from __future__ import annotations

from pathlib import Path

from trimpoint.journal import StateDirectory, framing
from trimpoint.journal.codec.records import encode_record
from trimpoint.journal.codec.snapshots import SnapshotWriter
from trimpoint.journal.port import Bookmark, Position
from trimpoint.journal.storage.directory import snapshot_name
from trimpoint.journal.storage.file_ops import SYSTEM_FILES, write_atomically
from trimpoint.journal.storage.inspection import digest_before, inspect

from tests.core.given import THREAD, Conversation, started


def thread_with_history(turns: int = 3) -> Conversation:
    thread = started(turns=turns)
    thread.clear(1)
    thread.turn("after", "the clear", activities=["ls"])
    return thread


def write_journal(
    store: StateDirectory,
    thread: Conversation,
    thread_id: str = THREAD,
    *,
    records: int | None = None,
) -> Path:
    """Writes a journal in which each record is its own batch."""
    path = store.journal_path(thread_id)
    path.parent.mkdir(parents=True, exist_ok=True)
    content, offset = [framing.encode_header()], framing.HEADER_BYTES
    for record in thread.records[:records]:
        content.append(framing.encode_batch([encode_record(record)], offset))
        offset += len(content[-1])
    path.write_bytes(b"".join(content))
    return path


def write_snapshot(store: StateDirectory, thread: Conversation, thread_id: str = THREAD) -> Path:
    """Writes a snapshot of `thread` at the end of the existing journal."""
    path = store.journal_path(thread_id)
    content = path.read_bytes()
    place = Position(len(content), inspect(path).report.end.records)
    writer = SnapshotWriter(
        thread_id, thread.state, Bookmark(place, digest_before(content, len(content)))
    )
    parts = [bytes(part) for part in writer]
    payload = (writer.head(), *parts)
    target = store.root / snapshot_name(thread_id)
    target.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(SYSTEM_FILES, target, (framing.seal(payload), *payload))
    return target


def record_starts(path: Path) -> list[int]:
    """Returns the offset of each record, and the end."""
    starts, at = [framing.HEADER_BYTES], framing.HEADER_BYTES
    for payload in framing.payloads(inspect(path).records):
        at += framing.RECORD_OVERHEAD_BYTES + len(payload)
        starts.append(at)
    return starts


def flip(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 0x20
    path.write_bytes(content)
