"""Counts what the threads have done since the daemon began, from their records as they become
durable.
"""

from collections import Counter
from collections.abc import Sequence
from contextvars import Context

import structlog

from trimpoint.core.model import events as ev
from trimpoint.core.model.operation_times import EndedOperation, OperationTimes

log = structlog.get_logger()

# From a step that only writes to one that waits for a model.
BOUNDS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)


class Durations:
    """A histogram of durations: `counts` has one number for each of `BOUNDS_S`, and one for the
    rest.
    """

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS_S) + 1)
        self.total_s = 0.0

    def add(self, seconds: float) -> None:
        """Count one."""
        self.counts[sum(bound < seconds for bound in BOUNDS_S)] += 1
        self.total_s += seconds

    @property
    def cumulative(self) -> Sequence[int]:
        """Returns how many lasted no longer than each bound; the last is all."""
        return [sum(self.counts[: end + 1]) for end in range(len(self.counts))]


class Activity:
    """`on_record` is an engine's listener."""

    def __init__(self) -> None:
        self.turns: Counter[str] = Counter()
        """Ended turns by status."""
        self.operations: Counter[tuple[str, str]] = Counter()
        """Ended operations by kind and outcome."""
        self.phases: dict[tuple[str, str], Durations] = {}
        """By kind and phase."""
        self._times = OperationTimes()

    def on_record(self, thread_id: str, record: ev.Record) -> None:
        """Count what a record tells, and log each operation that ends with it."""
        for event in record.events:
            if isinstance(event, ev.TurnCompleted):
                self.turns[event.status] += 1
        for ended in self._times.on_record(thread_id, record):
            self._count(ended)

    def _count(self, ended: EndedOperation) -> None:
        self.operations[ended.kind, ended.outcome] += 1
        for phase, taken_ms in ended.phases_ms.items():
            self.phases.setdefault((ended.kind, phase), Durations()).add(taken_ms / 1000)
        # A task that waited for the disk when it ended has nothing to do with it.
        Context().run(
            log.info,
            "operation_ended",
            thread_id=ended.thread_id,
            operation_id=ended.operation_id,
            kind=ended.kind,
            outcome=ended.outcome,
            reason=ended.reason,
            total_ms=ended.total_ms,
            phases_ms=ended.phases_ms,
        )
