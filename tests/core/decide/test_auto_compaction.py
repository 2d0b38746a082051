"""Automatic compaction: when it begins, which turns it keeps, and when it stops
(docs/spec/context.md).
"""

from typing import Any

import pytest
from trimpoint.core.decide.auto_compaction import auto_status
from trimpoint.core.model import commands as internal
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Policy
from trimpoint.core.model.operations import Phase
from trimpoint_protocol import commands as wire
from trimpoint_protocol import readmodel as rm

from tests.core.given import SETTINGS, Conversation, client, raw, started
from tests.core.model.test_usage import call, complete, made_up

WINDOW = 100_000
COMPACT = Policy(auto="compact", overflow_recovery=True)
NOTHING: tuple[ev.AnyEvent, ...] = ()


def filled(
    *given: int, policy: Policy = COMPACT, thread: Conversation | None = None
) -> Conversation:
    """Returns a thread whose turns had these numbers of input tokens."""
    thread = thread or started(policy=policy)
    for tokens in given:
        turn_id = thread.begin_turn()
        before = (
            thread.state.usage.report.running_total if thread.state.usage.report is not None else 0
        )
        thread.report(call(turn_id, tokens, before + tokens + 10, WINDOW))
        complete(thread, turn_id)
    return thread


def poke(thread: Conversation) -> tuple[ev.AnyEvent, ...]:
    """Returns the events of an automatic compaction that is due, or none."""
    return thread.do(internal.CompactWhenCritical()).events


def begins(thread: Conversation) -> bool:
    return bool(poke(thread))


def fail(thread: Conversation, why: str = "the model said nothing.") -> None:
    thread.advance(Phase.FAILED, message=why)


def succeed(thread: Conversation, summary: str | None = "the gist") -> None:
    operation = thread.state.open_operation
    assert operation is not None
    thread.advance(Phase.COMPACTING)
    carrier = "codex-thread-compacted" if summary is None else None
    thread.do(internal.CompleteCompaction(operation.id, summary, 10, carrier))
    thread.settle()


def shown(thread: Conversation, policy: Policy = COMPACT) -> rm.AutoCompaction:
    return auto_status(thread.state, policy)


def test_a_critical_context_is_compacted_when_the_turn_has_ended() -> None:
    thread = filled(10_000, 20_000, 30_000, 40_000, 91_000)
    started_, requested = poke(thread)
    assert started_ == ev.OperationStarted(
        str(thread.state.operation and thread.state.operation.id), "compact"
    )
    assert isinstance(requested, ev.CompactionRequested)
    assert (requested.keep_last_n_turns, requested.trigger) == (3, "auto")
    succeed(thread)
    point = thread.state.trim_points[-1]
    assert (point.trigger, point.pruned_turn_count, len(thread.state.active_turns)) == (
        "auto",
        2,
        3,
    )
    assert thread.state.compaction_count == 1


@pytest.mark.parametrize("auto", ["off", "warn"])
def test_automatic_compaction_runs_only_if_configured(auto: Any) -> None:
    assert poke(filled(91_000, 92_000, policy=Policy(auto=auto))) == NOTHING


def test_a_context_below_the_critical_level_is_not_compacted() -> None:
    assert poke(filled(89_000)) == NOTHING
    assert poke(started(policy=COMPACT)) == NOTHING
    thread = filled(91_000)
    thread.clear()
    assert poke(thread) == NOTHING  # unknown until it is reported


@pytest.mark.parametrize(
    ("turns", "preserve", "kept"),
    [(1, 3, 0), (2, 3, 1), (4, 3, 3), (9, 3, 3), (2, 0, 0), (5, 1, 1)],
)
def test_auto_compaction_keeps_the_configured_turns_but_never_all(
    turns: int, preserve: int, kept: int
) -> None:
    policy = Policy(auto="compact", preserve_recent_turns=preserve)
    _, requested = poke(filled(*[91_000] * turns, policy=policy))
    assert isinstance(requested, ev.CompactionRequested)
    assert requested.keep_last_n_turns == kept


def test_between_turns_only_and_one_at_a_time() -> None:
    thread = filled(91_000)
    thread.write(ev.TurnRequested("request"))
    assert poke(thread) == NOTHING
    thread.report(ev.TurnRequestEnded("request", "turn-2"), ev.TurnStarted("turn-2", 1))
    assert poke(thread) == NOTHING
    complete(thread, "turn-2")
    thread.report(ev.RequestOpened("sub-agent", "subAgent"))
    assert poke(thread) == NOTHING
    thread.report(ev.RequestClosed("sub-agent", "resolved"))
    assert begins(thread)
    assert poke(thread) == NOTHING


def test_an_archived_thread_is_left_alone() -> None:
    thread = filled(91_000)
    thread.do(client(wire.ArchiveThread))
    assert poke(thread) == NOTHING


def test_a_session_that_broke_off_or_is_not_there_is_left_alone() -> None:
    thread = filled(91_000)
    turn_id = thread.begin_turn()
    thread.report(ev.TurnCompleted(turn_id, "interrupted", "Codex went away", items_heard=False))
    assert poke(thread) == NOTHING
    thread.report(ev.ProviderThreadBound(1, "codex-thread-1"))
    assert poke(thread) == NOTHING
    thread.report(ev.SessionReady(1))
    assert begins(thread)


def test_an_overflow_is_left_to_the_recovery_if_it_is_enabled() -> None:
    thread = filled(50_000)
    turn_id = thread.begin_turn()
    thread.report(ev.UsageReported(turn_id, 50_000, WINDOW, WINDOW))
    complete(thread, turn_id, "contextWindowExceeded")
    assert poke(thread) == NOTHING
    assert shown(thread).message.startswith("The context is 100% full.")
    thread = filled(50_000, policy=Policy(auto="compact", overflow_recovery=False))
    complete(thread, thread.begin_turn(), "contextWindowExceeded")
    assert begins(thread)


def test_an_estimate_of_codexs_is_no_reason() -> None:
    thread = filled(91_000)
    thread.report(made_up("turn-1", 95_000, 91_010))
    thread.write(ev.UsageReported("turn-1", 95_000, 91_010, WINDOW))
    assert poke(thread) == NOTHING


def test_without_a_window_nothing_is_critical() -> None:
    thread = started(policy=COMPACT)
    turn_id = thread.begin_turn()
    thread.report(call(turn_id, 91_000, 91_010, None))
    complete(thread, turn_id)
    assert poke(thread) == NOTHING
    assert shown(thread) == rm.AutoCompaction(mode="compact", state="idle", message="")
    assert shown(thread, Policy(auto="compact", model_windows={"gpt-5": WINDOW})).state == "due"


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


def test_compactions_that_win_a_turn_go_on() -> None:
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


def test_so_does_usage_that_falls_by_itself() -> None:
    thread = stopped()
    filled(80_000, thread=thread)
    assert shown(thread).state == "idle"
    filled(93_000, thread=thread)
    assert begins(thread)


def test_so_does_a_revert() -> None:
    thread = filled(30_000, 91_000)
    for _ in range(2):
        poke(thread)
        fail(thread)
    thread.write(ev.TurnsRolledBack("turn-2"))
    filled(92_000, thread=thread)
    assert begins(thread)


def test_so_does_another_model() -> None:
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


@pytest.mark.parametrize(
    ("given", "policy", "state", "message"),
    [
        (50_000, Policy(), "idle", ""),
        (75_000, Policy(auto="off"), "idle", ""),
        (
            75_000,
            Policy(),
            "idle",
            "The context is 75% full. /compact summarizes it; /clear N keeps the last N turns and needs no model call.",
        ),
        (
            75_000,
            COMPACT,
            "idle",
            "The context is 75% full. /compact summarizes it; /clear N keeps the last N turns and needs no model call.",
        ),
        (92_000, COMPACT, "due", "The context is 92% full. It is compacted before the next turn."),
    ],
)
def test_a_person_is_told_what_to_expect(
    given: int, policy: Policy, state: str, message: str
) -> None:
    assert shown(filled(given), policy) == rm.AutoCompaction(
        mode=policy.auto, state=state, message=message
    )  # type: ignore[arg-type]


def test_while_it_runs_it_says_how_far_it_is() -> None:
    thread = filled(91_000)
    assert begins(thread)
    assert shown(thread).state == "running"
    thread.advance(Phase.COMPACTING, message="Asking the model for a summary.")
    assert shown(thread).message == "The context is 91% full. Asking the model for a summary."


def test_a_sealed_summary_is_of_the_same_trigger() -> None:
    thread = filled(20_000, 91_000)
    assert begins(thread)
    succeed(thread, None)
    assert thread.state.trim_points[-1].trigger == "auto"
    assert thread.state.trim_points[-1].summary_unavailable
