"""Turns and operations are counted as they become durable, and each operation's end is logged."""

import pytest
import structlog
from structlog.testing import capture_logs
from trimpoint.core.model import events as ev
from trimpoint.threads.activity import BOUNDS_S, Activity, Durations

from tests.core.given import THREAD, started


def test_turns_are_counted_by_how_they_ended() -> None:
    thread, activity = started(), Activity()
    for status in ("completed", "failed", "completed"):
        thread.turn(status=status)
    for record in thread.records:
        activity.on_record(THREAD, record)
    assert activity.turns == {"completed": 2, "failed": 1}


def test_an_operation_s_end_is_logged_with_its_phases_and_no_other_context() -> None:
    thread, activity = started(turns=2), Activity()
    trim_point_id = thread.clear()
    with (
        capture_logs(processors=[structlog.contextvars.merge_contextvars]) as logs,
        structlog.contextvars.bound_contextvars(client="c9"),
    ):
        for record in thread.records:
            activity.on_record(THREAD, record)
    assert logs == [
        {
            "event": "operation_ended",
            "log_level": "info",
            "thread_id": THREAD,
            "operation_id": trim_point_id,
            "kind": "clear",
            "outcome": "ready",
            "reason": "",
            "total_ms": 4000,
            "phases_ms": {
                "requested": 1000,
                "stopping": 1000,
                "starting": 1000,
                "bootstrapping": 1000,
            },
        }
    ]
    assert activity.operations == {("clear", "ready"): 1}
    assert {phase: durations.total_s for (_, phase), durations in activity.phases.items()} == {
        "requested": 1.0, "stopping": 1.0, "starting": 1.0, "bootstrapping": 1.0,
    }  # fmt: skip


@pytest.mark.parametrize(
    "seconds", [0.0, BOUNDS_S[0], BOUNDS_S[3], BOUNDS_S[3] + 0.001, BOUNDS_S[-1], BOUNDS_S[-1] + 1]
)
def test_a_duration_counts_for_every_bound_that_it_keeps(seconds: float) -> None:
    durations = Durations()
    durations.add(seconds)
    assert durations.cumulative == [*(int(seconds <= bound) for bound in BOUNDS_S), 1]
    assert durations.total_s == seconds


def test_other_events_count_for_nothing() -> None:
    activity = Activity()
    activity.on_record(THREAD, ev.Record(1, 1, 0, (ev.ThreadArchived(),)))
    assert (activity.turns, activity.operations, activity.phases) == ({}, {}, {})
