"""Gives out the global sequence numbers of events, and the stamps of decisions."""

import time

from trimpoint.core.model.decision import Stamp
from trimpoint.threads.ids import new_uuid7


class Sequencer:
    """Gives out global sequence numbers to all writers. No two runs of a daemon give out the same
    number.
    """

    def __init__(self, last: int = 0) -> None:
        self.last = last

    def reserve(self, count: int) -> int:
        """Returns the first of `count` consecutive numbers."""
        first = self.last + 1
        self.last += count
        return first


def first_number_of_this_run() -> int:
    """Returns the first sequence number of this run of the daemon: the microseconds since 1970,
    which is above the numbers of all earlier runs.

    So no number is given out twice, even after a backup was restored, and a client's cursor shows
    whether it belongs to this history. JSON parsers that use doubles can represent the numbers
    until 2255.
    """
    return time.time_ns() // 1_000


def new_stamp() -> Stamp:
    """Returns a stamp with the present time and a new id."""
    return Stamp(now_ms(), new_uuid7())


def now_ms() -> int:
    """Returns the present time in milliseconds since the epoch."""
    return time.time_ns() // 1_000_000
