"""Measures how long each phase of an operation took, from the timestamps of its records."""

from typing import NamedTuple

import msgspec

from trimpoint.core.model import events as ev
from trimpoint.core.model.operations import Phase, is_open


class EndedOperation(NamedTuple):
    """An operation that has ended, with the milliseconds that it spent in each phase.

    `outcome` is the last phase, such as `ready` or `failed`; `reason` is set if it failed.
    `phases_ms` is in the order of the phases; the times of a phase that was entered twice are
    added.
    """

    thread_id: str
    operation_id: str
    kind: str
    outcome: str
    reason: str
    phases_ms: dict[str, int]

    @property
    def total_ms(self) -> int:
        """Returns the milliseconds from the operation's first record to its last."""
        return sum(self.phases_ms.values())


class _Running(msgspec.Struct):
    operation_id: str
    kind: str
    phase: str
    since_ms: int
    phases_ms: dict[str, int]


class OperationTimes:
    """Measures the operations of all threads from their records, which it must be given in order.
    An operation whose start it was not given is not measured.
    """

    def __init__(self) -> None:
        self._running: dict[str, _Running] = {}

    def on_record(self, thread_id: str, record: ev.Record) -> list[EndedOperation]:
        """Returns the operations of the thread that end with this record."""
        ended: list[EndedOperation] = []
        for event in record.events:
            match event:
                case ev.OperationStarted(operation_id, kind):
                    self._running[thread_id] = _Running(
                        operation_id, kind, Phase.REQUESTED.value, record.occurred_at_ms, {}
                    )
                case ev.OperationAdvanced(operation_id):
                    ended += self._advance(thread_id, operation_id, event, record.occurred_at_ms)
                case _:
                    pass
        return ended

    def _advance(
        self, thread_id: str, operation_id: str, event: ev.OperationAdvanced, at_ms: int
    ) -> list[EndedOperation]:
        running = self._running.get(thread_id)
        if running is None or running.operation_id != operation_id:
            return []
        # If the clock was set back, the phase counts as 0 milliseconds.
        running.phases_ms[running.phase] = running.phases_ms.get(running.phase, 0) + max(
            0, at_ms - running.since_ms
        )
        running.phase, running.since_ms = str(event.phase), max(at_ms, running.since_ms)
        if is_open(Phase(event.phase)):
            return []
        del self._running[thread_id]
        return [
            EndedOperation(
                thread_id,
                operation_id,
                running.kind,
                str(event.phase),
                str(event.reason),
                running.phases_ms,
            )
        ]
