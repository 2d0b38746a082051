"""Reads a journal's events in batches for the hub. They are read from the file piece by piece, so
that nothing is kept in memory for a hub that cannot be reached. Blocking.
"""

from pathlib import Path
from typing import NamedTuple

import msgspec
from trimpoint_protocol.readmodel import EventEnvelope

from trimpoint.core.model import events as ev
from trimpoint.fleet.content import Content, shortened, shown
from trimpoint.journal.codec.records import decode_record
from trimpoint.journal.storage.following import read_piece

MAX_BATCH_BYTES = 384 * 1024
"""With one more event of `MAX_EVENT_BYTES`, well below the megabyte that a server takes."""
MAX_EVENT_BYTES = 256 * 1024

_encoder = msgspec.json.Encoder()


class Diverged(Exception):
    """Raised when the hub has events of a thread that the thread's journal does not have."""


class Head(NamedTuple):
    """The last event of a thread that the hub has: its number in the thread, and its number in the
    daemon.
    """

    thread_sequence: int
    sequence: int


NOTHING = Head(0, 0)


class Place(NamedTuple):
    """The position in a journal where reading continues. The record at `offset_bytes` is at or
    before the first event after `head`. `is_proved`: the event of `head` was found in the journal.
    """

    head: Head
    offset_bytes: int
    is_proved: bool


class Batch(NamedTuple):
    """Consecutive events of a thread as one message, and the position after them."""

    payload: bytes
    events: int
    behind: Place


class Message(msgspec.Struct, frozen=True, rename="camel"):
    """The content of a message in the stream: events of one thread, the oldest first.

    A reader skips an event whose `threadSequence` it has already.
    """

    events: list[EventEnvelope]


class Journal(NamedTuple):
    """A journal file, and the length of its durable part in bytes."""

    path: Path
    thread_id: str
    durable_bytes: int


class BatchReader:
    """Reads batches for one host."""

    def __init__(self, content: Content) -> None:
        self._content: Content = content

    def next(self, journal: Journal, place: Place) -> Batch | Place:
        """Returns the next batch after `place`, or the new place if there are no more events.

        :raises Diverged: when the journal does not have the event of `place`.
        :raises OSError: when the journal cannot be read.
        :raises UnreadableRecord: when a later version of trimpoint has written it.
        """
        batch = _Filling(journal.thread_id, self._content, place)
        while not batch.is_full:
            piece = read_piece(journal.path, batch.offset_bytes, journal.durable_bytes)
            if not piece:
                break
            for payload in piece:
                batch.add(decode_record(payload.content), payload.start_bytes, payload.end_bytes)
                if batch.is_full:
                    break
        return batch.end()


class _Filling:
    """A batch while events are added."""

    def __init__(self, thread_id: str, content: Content, place: Place) -> None:
        self.offset_bytes = place.offset_bytes
        self.is_full = False
        self._thread_id = thread_id
        self._content: Content = content
        self._head, _, self._is_proved = place
        self._events: list[bytes] = []
        self._size = 0

    def add(self, record: ev.Record, start_bytes: int, end_bytes: int) -> None:
        """Adds the events of a record that come after the head, as far as there is room."""
        self.offset_bytes = start_bytes
        for index in range(len(record.events)):
            found = Head(record.thread_sequence + index, record.sequence + index)
            if found.thread_sequence <= self._head.thread_sequence:
                self._compare(found)
                continue
            if self.is_full:
                return
            if found.thread_sequence != self._head.thread_sequence + 1:
                raise Diverged
            self._append(record, index)
            self._head = found
        self.offset_bytes = end_bytes

    def _compare(self, found: Head) -> None:
        if found.thread_sequence == self._head.thread_sequence:
            if found != self._head:
                raise Diverged
            self._is_proved = True

    def _append(self, record: ev.Record, index: int) -> None:
        event = shown(record, index, self._thread_id, self._content)
        encoded = _encoder.encode(event)
        if len(encoded) > MAX_EVENT_BYTES:
            encoded = _encoder.encode(shortened(event))
        self._events.append(encoded)
        self._size += len(encoded)
        self.is_full = self._size >= MAX_BATCH_BYTES

    def end(self) -> Batch | Place:
        """Returns the batch, or the position reached if the batch is empty."""
        is_proved = self._is_proved or self._head == NOTHING or bool(self._events)
        if not is_proved:
            raise Diverged
        behind = Place(self._head, self.offset_bytes, is_proved)
        if not self._events:
            return behind
        return Batch(b'{"events":[%b]}' % b",".join(self._events), len(self._events), behind)
