"""Counts turns and operations since the daemon started, from records as they become durable."""

from collections import Counter
from collections.abc import Sequence
from contextvars import Context

import structlog

from trimpoint.core.model import events as ev
from trimpoint.core.model.operation_times import EndedOperation, OperationTimes

log = structlog.get_logger()

# From the duration of a step that only writes to that of one that waits for a model.
BOUNDS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)


class Durations:
    """A histogram of durations. `counts` has one number for each of `BOUNDS_S`, and a last one for
    longer durations.
    """

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS_S) + 1)
        self.total_s = 0.0

    def add(self, seconds: float) -> None:
        """Counts one duration."""
        self.counts[sum(bound < seconds for bound in BOUNDS_S)] += 1
        self.total_s += seconds

    @property
    def cumulative(self) -> Sequence[int]:
        """Returns for each bound the number of durations up to it; the last number is that of all
        durations.
        """
        return [sum(self.counts[: end + 1]) for end in range(len(self.counts))]


class Activity:
    """Counts the ended turns and operations of all threads. `on_record` is a subscriber of the
    registry.
    """

    def __init__(self) -> None:
        self.turns: Counter[str] = Counter()
        """The number of ended turns by status."""
        self.operations: Counter[tuple[str, str]] = Counter()
        """The number of ended operations by kind and outcome."""
        self.phases: dict[tuple[str, str], Durations] = {}
        """The durations of phases by kind of operation and phase."""
        self._times = OperationTimes()

    def on_record(self, thread_id: str, record: ev.Record) -> None:
        """Counts the turns and operations that end with this record, and logs each operation."""
        for event in record.events:
            if isinstance(event, ev.TurnCompleted):
                self.turns[event.status] += 1
        for ended in self._times.on_record(thread_id, record):
            self._count(ended)

    def _count(self, ended: EndedOperation) -> None:
        self.operations[ended.kind, ended.outcome] += 1
        for phase, taken_ms in ended.phases_ms.items():
            self.phases.setdefault((ended.kind, phase), Durations()).add(taken_ms / 1000)
        # The current task may be an unrelated one that waited for the disk, so its log context is
        # not used.
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
