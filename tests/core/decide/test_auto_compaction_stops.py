"""When automatic compaction stops, and what sets it going again (docs/spec/context.md)."""

import pytest
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Policy

from tests.core.auto_compaction import (
    COMPACT,
    NOTHING,
    WINDOW,
    begins,
    fail,
    filled,
    poke,
    shown,
    succeed,
)
from tests.core.given import SETTINGS, Conversation, raw, started
from tests.core.usage import call, complete


def test_after_two_failures_in_a_row_it_stops_and_says_why() -> None:
    thread = filled(91_000)
    for _ in range(2):
        assert begins(thread)
        fail(thread)
    assert poke(thread) == NOTHING
    filled(95_000, thread=thread)
    assert poke(thread) == NOTHING
    assert shown(thread).state == "stopped"
    said = shown(thread).message
    assert said.startswith(
        "The context is 95% full. Automatic compaction has stopped: the last two attempts failed (the model said nothing)."
    )
    assert "/clear N" in said


def test_after_two_that_freed_next_to_nothing_it_stops_too() -> None:
    thread = filled(20_000, 91_000)
    assert begins(thread)
    succeed(thread)
    filled(85_000, 91_000, thread=thread)  # freed 6 %, and soon full again
    assert begins(thread)
    succeed(thread)
    filled(88_000, thread=thread)
    assert shown(thread).state == "stopped"
    filled(92_000, thread=thread)
    assert poke(thread) == NOTHING
    assert "the last two attempts freed next to nothing. " in shown(thread).message


def test_a_failure_and_one_in_vain_are_two_in_vain() -> None:
    thread = filled(20_000, 91_000)
    assert begins(thread)
    fail(thread, "no answer")
    assert begins(thread)
    succeed(thread)
    filled(91_000, thread=thread)
    assert poke(thread) == NOTHING
    assert "failed or freed next to nothing (no answer)" in shown(thread).message


def test_a_successful_attempt_resets_the_count_of_failed_ones() -> None:
    thread = filled(20_000, 91_000)
    assert begins(thread)
    fail(thread)
    assert begins(thread)
    succeed(thread)
    filled(30_000, 91_000, thread=thread)
    assert begins(thread)
    fail(thread)
    assert begins(thread)


def test_how_much_counts_as_next_to_nothing_is_configured() -> None:
    thread = filled(20_000, 91_000)
    for _ in range(2):
        assert begins(thread)
        succeed(thread)
        filled(86_000, 91_000, thread=thread)
    assert shown(thread).state == "stopped"
    assert shown(thread, Policy(auto="compact", min_freed=0.04)).state == "due"


def busy_turn(thread: Conversation, *given: int) -> None:
    """Runs a turn of several model calls with these numbers of input tokens."""
    turn_id = thread.begin_turn()
    for tokens in given:
        before = (
            thread.state.usage.report.running_total if thread.state.usage.report is not None else 0
        )
        thread.report(call(turn_id, tokens, before + tokens + 10, WINDOW))
    complete(thread, turn_id)


def rounds_until_it_stops(thread: Conversation, *turns: tuple[int, ...], most: int = 12) -> int:
    """Returns how often the context is compacted when each compaction helps and `turns` fill it
    again.
    """
    for compactions in range(most):
        if not begins(thread):
            return compactions
        succeed(thread)
        for given in turns:
            busy_turn(thread, *given)
    return most


def test_after_three_that_helped_but_won_no_turn_it_stops_and_says_so() -> None:
    thread = filled(20_000, 91_000)
    assert rounds_until_it_stops(thread, (30_000, 60_000, 92_000)) == 3
    status = shown(thread)
    assert (status.state, status.message.split(".")[1]) == (
        "stopped",
        " Automatic compaction has stopped: after each of the last three the context was full again within one turn",
    )
    busy_turn(thread, 93_000)
    assert poke(thread) == NOTHING


def test_automatic_compaction_continues_while_each_one_frees_a_turn() -> None:
    thread = filled(20_000, 91_000)
    assert rounds_until_it_stops(thread, (30_000, 60_000), (61_000, 92_000)) == 12


def test_a_turn_that_ends_below_critical_sets_it_going_again() -> None:
    thread = filled(20_000, 91_000)
    rounds_until_it_stops(thread, (30_000, 92_000))
    busy_turn(thread, 92_000, 50_000)  # Codex has compacted automatically
    assert shown(thread).state == "idle"
    busy_turn(thread, 93_000)
    assert begins(thread)


def test_a_critical_context_in_the_middle_of_a_turn_is_no_verdict_yet() -> None:
    thread = filled(20_000, 91_000)
    for _ in range(3):
        assert begins(thread)
        succeed(thread)
        busy_turn(thread, 30_000, 92_000) if len(thread.state.auto_attempts) < 3 else None
    turn_id = thread.begin_turn()
    thread.report(call(turn_id, 91_500, 900_000, WINDOW))
    assert shown(thread).state != "stopped"


@pytest.mark.parametrize("what", ["clear", "compact"])
def test_a_person_who_clears_or_compacts_sets_it_going_again(what: str) -> None:
    thread = stopped()
    (thread.clear if what == "clear" else thread.compact)()
    filled(92_000, 93_000, thread=thread)
    assert begins(thread)


def test_a_clear_with_the_trigger_auto_counts_as_a_persons() -> None:
    thread = stopped()
    thread.clear(trigger="auto")
    assert thread.state.auto_attempts == []


def test_inherited_trims_and_recoveries_do_not_count_as_attempts() -> None:
    thread = filled(20_000, 91_000)
    thread.write(ev.TrimPointCreated("thread-1", "inherited", 0, None, 0, (), None, 1, "auto"))
    assert thread.state.auto_attempts == []
    thread = stopped()
    thread.write(
        ev.OperationStarted("o", "overflow"),
        ev.TrimPointCreated("thread-1", "p", 0, None, 0, (), None, 1, "overflow"),
    )
    assert len(thread.state.auto_attempts) == 2


def test_usage_that_falls_by_itself_restarts_automatic_compaction() -> None:
    thread = stopped()
    filled(80_000, thread=thread)
    assert shown(thread).state == "idle"
    filled(93_000, thread=thread)
    assert begins(thread)


def test_a_revert_restarts_automatic_compaction() -> None:
    thread = filled(30_000, 91_000)
    for _ in range(2):
        poke(thread)
        fail(thread)
    thread.write(ev.TurnsRolledBack("turn-2"))
    filled(92_000, thread=thread)
    assert begins(thread)


def test_another_model_restarts_automatic_compaction() -> None:
    thread = stopped()
    thread.report(ev.SettingsChanged(raw(start={}, current={"model": "larger"})))
    assert thread.state.auto_attempts == []
    assert thread.state.settings != SETTINGS


def stopped() -> Conversation:
    thread = filled(20_000, 91_000)
    for _ in range(2):
        assert begins(thread)
        fail(thread)
    assert shown(thread).state == "stopped"
    return thread


def test_an_overflow_meanwhile_does_not_look_like_usage_that_fell() -> None:
    thread = stopped()
    turn_id = thread.begin_turn()
    thread.report(ev.UsageReported(turn_id, 0, WINDOW, WINDOW))
    complete(thread, turn_id, "contextWindowExceeded")
    assert shown(thread).state == "stopped"


def test_a_failure_of_a_persons_own_compaction_is_none_of_its_attempts() -> None:
    thread = filled(20_000, 91_000)
    for _ in range(2):
        thread.begin_compaction(force=True)
        fail(thread)
    assert begins(thread)


def test_an_attempt_on_a_context_of_which_nothing_is_known_counts_as_one_too() -> None:
    thread = started(turns=2, policy=COMPACT)
    thread.write(ev.OperationStarted("o", "compact"), ev.CompactionRequested("o", 0, None, "auto"))
    fail(thread)
    assert [attempt.used for attempt in thread.state.auto_attempts] == [0]
