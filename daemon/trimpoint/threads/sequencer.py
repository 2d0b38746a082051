"""The numbers of events, one row for all threads, and the time and id that a decision gets."""

import time

from trimpoint.core.model.decision import Stamp
from trimpoint.threads.ids import new_uuid7


class Sequencer:
    """Hands out the global sequence; one for all writers. No two runs of a daemon give out the same
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
    """Returns where this daemon begins to number events: microseconds since 1970, above all runs
    before it.

    So no number is given twice, not even after a backup was restored, and a client's cursor tells
    whether it belongs to this history. JSON readers that have only doubles take it until 2255.
    """
    return time.time_ns() // 1_000


def new_stamp() -> Stamp:
    """Returns the present time and a new id, for a decision."""
    return Stamp(time.time_ns() // 1_000_000, new_uuid7())
