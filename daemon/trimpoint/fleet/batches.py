"""The events of a journal as they are sent: read from the file in pieces, so that nothing is kept
for a hub that is away. Blocking.
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
    """The hub has events of a thread that its journal has not."""


class Head(NamedTuple):
    """The last event of a thread that the hub has: its number in the thread, and in the daemon."""

    thread_sequence: int
    sequence: int


NOTHING = Head(0, 0)


class Place(NamedTuple):
    """The position in a journal to read on from: the record that begins at `offset_bytes` has, or
    comes before, the first event behind `head`. `is_proved`: the journal was seen to have the event
    of `head`.
    """

    head: Head
    offset_bytes: int
    is_proved: bool


class Batch(NamedTuple):
    """Consecutive events of a thread as one message, and where the journal is read on after it."""

    payload: bytes
    events: int
    behind: Place


class Message(msgspec.Struct, frozen=True, rename="camel"):
    """The content of a message of the stream: events of one thread, oldest first.

    A reader that has an event already, by its `threadSequence`, skips it.
    """

    events: list[EventEnvelope]


class Journal(NamedTuple):
    """A journal and as much of it as is durable."""

    path: Path
    thread_id: str
    durable_bytes: int


class BatchReader:
    """Reads the batches of one host."""

    def __init__(self, content: Content) -> None:
        self._content: Content = content

    def next(self, journal: Journal, place: Place) -> Batch | Place:
        """Returns what comes behind `place`; a place where there is nothing more.

        :raises Diverged: the journal has no such event.
        :raises OSError: it cannot be read.
        :raises UnreadableRecord: a later version has written it.
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
    """A batch that is being filled."""

    def __init__(self, thread_id: str, content: Content, place: Place) -> None:
        self.offset_bytes = place.offset_bytes
        self.is_full = False
        self._thread_id = thread_id
        self._content: Content = content
        self._head, _, self._is_proved = place
        self._events: list[bytes] = []
        self._size = 0

    def add(self, record: ev.Record, start_bytes: int, end_bytes: int) -> None:
        """Takes the events of a record that are behind the head, as many as there is room for."""
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
        """Returns the batch, or where its reader stands if it is empty."""
        is_proved = self._is_proved or self._head == NOTHING or bool(self._events)
        if not is_proved:
            raise Diverged
        behind = Place(self._head, self.offset_bytes, is_proved)
        if not self._events:
            return behind
        return Batch(b'{"events":[%b]}' % b",".join(self._events), len(self._events), behind)
