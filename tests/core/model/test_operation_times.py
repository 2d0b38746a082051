"""The duration of an operation's phases, by the times of its records (one second apart in
`tests.core.given`).
"""

from trimpoint.core.model import events as ev
from trimpoint.core.model.operation_times import EndedOperation, OperationTimes
from trimpoint.core.model.operations import Phase

from tests.core.given import THREAD, Conversation, started, trim


def heard(records: list[ev.Record], thread_id: str = THREAD) -> list[EndedOperation]:
    times = OperationTimes()
    return [ended for record in records for ended in times.on_record(thread_id, record)]


def cleared() -> Conversation:
    thread = started(turns=2)
    thread.clear()
    return thread


def test_each_phase_lasts_until_the_next_is_written() -> None:
    [ended] = heard(cleared().records)
    assert (ended.thread_id, ended.kind, ended.outcome, ended.reason) == (
        THREAD,
        "clear",
        "ready",
        "",
    )
    assert ended.phases_ms == {
        "requested": 1000,
        "stopping": 1000,
        "starting": 1000,
        "bootstrapping": 1000,
    }
    assert ended.total_ms == 4000


def test_a_phase_that_comes_again_is_counted_together() -> None:
    thread = started(turns=2)
    thread.do(trim())
    for phase in (Phase.STOPPING, Phase.STARTING, Phase.BOOTSTRAPPING):
        thread.advance(phase)
    thread.settle()  # begins again with starting
    [ended] = heard(thread.records)
    assert ended.phases_ms == {
        "requested": 1000,
        "stopping": 1000,
        "starting": 2000,
        "bootstrapping": 2000,
    }


def test_a_failure_says_why() -> None:
    thread = started(turns=2)
    operation_id = thread.begin_compaction(force=True)
    thread.write(
        ev.OperationAdvanced(operation_id, Phase.FAILED, "It failed.", "compaction_failed")
    )
    [ended] = heard(thread.records)
    assert (ended.operation_id, ended.kind, ended.outcome, ended.reason) == (
        operation_id,
        "compact",
        "failed",
        "compaction_failed",
    )


def test_an_operation_is_reported_once_when_it_ends() -> None:
    records = cleared().records
    assert heard(records[:-1]) == []
    assert heard([*records, records[-1]]) == heard(records)


def test_an_operation_without_a_recorded_beginning_is_not_reported() -> None:
    records = cleared().records
    begun = next(
        n
        for n, record in enumerate(records)
        if any(isinstance(e, ev.OperationStarted) for e in record.events)
    )
    assert heard(records[begun + 1 :]) == []


def test_the_steps_of_an_earlier_operation_are_not_those_of_a_later_one() -> None:
    assert (
        heard(
            [
                _record(0, ev.OperationStarted("b", "clear")),
                _record(1, ev.OperationAdvanced("a", Phase.READY)),
            ]
        )
        == []
    )


def test_threads_do_not_mix() -> None:
    times, records = OperationTimes(), cleared().records
    told = [
        (name, ended.thread_id)
        for record in records
        for name in ("a", "b")
        for ended in times.on_record(name, record)
    ]
    assert told == [("a", "a"), ("b", "b")]


def test_a_clock_that_is_set_back_makes_no_phase_shorter_than_nothing() -> None:
    steps = [
        (9000, ev.OperationStarted("a", "clear")),
        (4000, ev.OperationAdvanced("a", Phase.STARTING)),
    ]
    records = [
        _record(at_ms, event)
        for at_ms, event in [*steps, (9500, ev.OperationAdvanced("a", Phase.READY))]
    ]
    [ended] = heard(records)
    assert ended.phases_ms == {"requested": 0, "starting": 500}


def _record(at_ms: int, event: ev.AnyEvent) -> ev.Record:
    return ev.Record(1, 1, at_ms, (event,))
