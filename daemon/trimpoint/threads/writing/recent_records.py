"""The newest durable records of a thread, for clients that reconnect."""

from collections import deque

from trimpoint.core.model import events as ev

# A client that reconnects within so many records is sent them; after a larger gap it is sent a
# snapshot.
RECENT_RECORDS = 256


class RecentRecords:
    """The newest records since a thread was loaded, when its last event had the global number
    `loaded_sequence`.
    """

    def __init__(self, loaded_sequence: int) -> None:
        self._records: deque[ev.Record] = deque(maxlen=RECENT_RECORDS)
        self._loaded_sequence = loaded_sequence
        self._appended = 0

    @property
    def last_sequence(self) -> int:
        """Returns the global number of the last durable event."""
        if not self._records:
            return self._loaded_sequence
        return self._records[-1].sequence + len(self._records[-1].events) - 1

    def append(self, record: ev.Record) -> None:
        """Adds the newest record; the oldest one may be dropped for it."""
        self._records.append(record)
        self._appended += 1

    def since(self, sequence: int) -> list[ev.Record] | None:
        """Returns the records with events after the global number `sequence`; None if not all of
        them are here. See `ThreadWriter.durable_since`.
        """
        if not self._records:
            return None
        is_whole = sequence == self._loaded_sequence and self._appended == len(self._records)
        if sequence < self._records[0].sequence - 1 and not is_whole:
            return None
        return [
            record
            for record in self._records
            if record.sequence + len(record.events) - 1 > sequence
        ]
