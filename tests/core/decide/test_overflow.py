"""A turn that did not fit: the part that is summarized, the part that is kept, and that it stays
one turn with one prompt.
"""

import pytest
from trimpoint.core.context.generations import bootstrap_items
from trimpoint.core.decide.overflow import (
    EXCEEDED,
    plan_overflow,
)
from trimpoint.core.model import commands as internal
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Policy, busy
from trimpoint_protocol.errors import Reason

from tests.core.given import (
    assistant,
    raw,
    started,
    trim,
    user,
)
from tests.core.overflowing import LONG, answer, ask, call, of_turns, output, said, summary, worked


def test_a_turn_that_did_not_fit_is_recovered_from_and_the_thread_is_busy_with_it() -> None:
    thread = started(turns=6)
    turn_id = thread.begin_turn()
    thread.report(ev.TurnCompleted(turn_id, "failed", "no room", error_kind=EXCEEDED))
    operation_id = thread.stamp().id
    thread.when(internal.RecoverFromOverflow(turn_id)).then(
        ev.OperationStarted(operation_id, "overflow"),
        ev.OverflowRecoveryRequested(operation_id, turn_id),
    )
    thread.do(internal.RecoverFromOverflow(turn_id))
    block = busy(thread.state)
    assert block is not None
    assert (block.kind, block.detail, thread.state.recovering_turn_id) == (
        "operation",
        "overflow",
        turn_id,
    )
    rejected = thread.when(trim()).rejected(Reason.ALREADY_IN_PROGRESS)
    assert (
        rejected.message
        == "Cannot clear the thread now: its overflow operation is still under way. "
        "Try again when it has ended."
    )


@pytest.mark.parametrize(
    "ended",
    [
        ev.TurnCompleted("turn-7", "failed", "boom", error_kind="other"),
        ev.TurnCompleted("turn-7", "completed"),
    ],
)
def test_another_failure_stands(ended: ev.TurnCompleted) -> None:
    thread = started(turns=6)
    thread.begin_turn()
    thread.report(ended)
    thread.when(internal.RecoverFromOverflow("turn-7")).rejected(Reason.NOT_SUPPORTED)


def test_overflow_recovery_can_be_switched_off() -> None:
    thread = started(turns=6, policy=Policy(overflow_recovery=False))
    turn_id = thread.begin_turn()
    thread.report(ev.TurnCompleted(turn_id, "failed", "no room", error_kind=EXCEEDED))
    thread.when(internal.RecoverFromOverflow(turn_id)).rejected(Reason.NOT_SUPPORTED)


def test_only_the_last_turn_can_go_on() -> None:
    started().when(internal.RecoverFromOverflow("turn-1")).rejected(Reason.NOT_SUPPORTED)
    thread = started(turns=6)
    turn_id = thread.begin_turn()
    thread.report(ev.TurnCompleted(turn_id, "failed", "no room", error_kind=EXCEEDED))
    thread.turn()
    thread.when(internal.RecoverFromOverflow(turn_id)).rejected(Reason.NOT_SUPPORTED)


def test_a_busy_thread_is_left_alone() -> None:
    thread = started(turns=6)
    turn_id = thread.begin_turn()
    thread.report(
        ev.TurnCompleted(turn_id, "failed", "no room", error_kind=EXCEEDED),
        ev.RequestOpened("q", "subAgent"),
    )
    thread.when(internal.RecoverFromOverflow(turn_id)).rejected(Reason.REQUEST_PENDING)


def test_a_turn_is_tried_again_only_once() -> None:
    thread = started(turns=6)
    turn_id = thread.overflow()
    thread.retry()
    thread.report(ev.TurnCompleted("codex-turn", "failed", "no room", error_kind=EXCEEDED))
    assert thread.state.turns[-1].error_kind == EXCEEDED
    thread.when(internal.RecoverFromOverflow(turn_id)).rejected(Reason.NOT_SUPPORTED)


@pytest.mark.parametrize("entry", ["nobody's", "a review"])
def test_a_turn_without_a_persons_prompt_is_not_retried(entry: str) -> None:
    thread = started(turns=6)
    thread.report(ev.TurnStarted("turn-7", 1))
    if entry == "a review":
        thread.report(
            user("turn-7", "review"),
            ev.EntryRecorded("turn-7", "e", "activity", "enteredReviewMode", "review"),
        )
    thread.report(ev.TurnCompleted("turn-7", "failed", "no room", error_kind=EXCEEDED))
    thread.when(internal.RecoverFromOverflow("turn-7")).rejected(Reason.NOT_SUPPORTED)


def test_a_context_that_only_codex_can_read_is_not_cut() -> None:
    thread = started(turns=6)
    thread.compact(None)
    thread.turns(6)
    turn_id = thread.begin_turn()
    thread.report(ev.TurnCompleted(turn_id, "failed", "no room", error_kind=EXCEEDED))
    thread.when(internal.RecoverFromOverflow(turn_id)).rejected(Reason.NOT_SUPPORTED)


def test_the_oldest_three_quarters_are_summarized_and_the_prompt_is_in_neither_part() -> None:
    thread = started(turns=8)
    turn_id = thread.overflow()
    plan = plan_overflow(thread.state, turn_id)
    assert plan is not None
    assert said(plan.before) == of_turns(1, 2, 3, 4, 5, 6)
    assert said(plan.after) == of_turns(7, 8)
    assert (plan.messages, plan.first_kept_turn_id, plan.skipped_items) == (12, "turn-7", 0)


def test_fewer_than_ten_messages_are_not_worth_it() -> None:
    thread = started(turns=4)
    assert plan_overflow(thread.state, thread.overflow()) is None


def test_in_the_middle_of_a_turn_what_it_did_first_is_summarized() -> None:
    thread = started(turns=5)
    long = [
        ask("long"),
        call("a"),
        output("a"),
        answer("half"),
        call("b"),
        output("b"),
        answer(LONG),
    ]
    kept = thread.turn("long", LONG, items=long)
    plan = plan_overflow(thread.state, thread.overflow())
    assert plan is not None
    assert plan.before[-1] == answer("half")
    assert plan.after == long[4:]
    assert (plan.messages, plan.first_kept_turn_id, plan.skipped_items) == (12, kept, 4)


def test_the_work_of_the_failed_turn_is_kept_without_its_prompt() -> None:
    thread = started(turns=8)
    work = [call("a"), output("a")]
    plan = plan_overflow(thread.state, worked(thread, *work))
    assert plan is not None
    assert plan.after[-2:] == work
    assert "prompt of turn-9" not in said([*plan.before, *plan.after])


def test_of_a_long_turn_the_oldest_work_is_summarized_too() -> None:
    thread = started(turns=5)
    work = [call("a"), output("a"), answer(LONG), call("b"), output("b")]
    turn_id = worked(thread, *work)
    plan = plan_overflow(thread.state, turn_id)
    assert plan is not None
    # All is within three quarters but the long answer; the place before it is the last that is.
    assert (plan.first_kept_turn_id, plan.skipped_items, plan.after) == (turn_id, 0, work)
    thread = started(turns=4)
    turn_id = worked(
        thread,
        call("a"),
        output("a"),
        answer("one"),
        answer("two"),
        call("b"),
        raw(type="x", output=LONG),
    )
    plan = plan_overflow(thread.state, turn_id)
    assert plan is not None
    assert (plan.first_kept_turn_id, plan.skipped_items, said(plan.after)) == (
        turn_id,
        4,
        ["function_call", "x"],
    )


def test_everything_may_be_summarized_when_there_is_no_other_place() -> None:
    thread = started(turns=5)
    turn_id = thread.overflow()
    plan = plan_overflow(thread.state, turn_id)
    assert plan is not None
    assert (plan.after, plan.first_kept_turn_id, plan.skipped_items) == ([], turn_id, 0)


def test_all_that_the_turn_had_done_may_be_summarized() -> None:
    thread = started(turns=4)
    turn_id = worked(thread, call("a"), output("a"), answer("one"), answer("two"))
    plan = plan_overflow(thread.state, turn_id)
    assert plan is not None
    assert (plan.after, plan.first_kept_turn_id, plan.skipped_items) == ([], turn_id, 4)
    thread.retry()
    assert thread.state.generation.turn_ids == ()
    assert said(bootstrap_items(thread.state, thread.state.generation)) == [summary("in short", 10)]


def test_an_earlier_summary_is_folded_in() -> None:
    thread = started(turns=6)
    thread.compact("long ago")
    thread.turns(6)
    plan = plan_overflow(thread.state, thread.overflow())
    assert plan is not None
    assert said(plan.before)[0] == summary("long ago", 12)


def test_a_fork_has_its_summary_from_its_parent() -> None:
    thread = started(turns=6)
    thread.compact("long ago")
    opened = ev.GenerationOpened(3, "revert", "provider")
    thread.write(opened, ev.ProviderThreadBound(3, "codex-thread-3"), ev.SessionReady(3))
    thread.turns(6)
    plan = plan_overflow(thread.state, thread.overflow())
    assert plan is not None
    assert "long ago" in said(plan.before)[0]


def test_items_that_an_earlier_recovery_summarized_are_not_summarized_again() -> None:
    thread = started(turns=5)
    long = [
        ask("long"),
        call("a"),
        output("a"),
        answer("half"),
        call("b"),
        output("b"),
        answer(LONG),
    ]
    kept = thread.turn("long", LONG, items=long)
    thread.overflow()
    assert thread.retry("one").first_kept_turn_id == kept
    thread.report(ev.TurnCompleted("codex-turn", "completed"))
    thread.turns(6)
    plan = plan_overflow(thread.state, thread.overflow())
    assert plan is not None
    assert said(plan.before)[:4] == [
        summary("one", 12),
        "function_call",
        "function_call_output",
        LONG,
    ]


def test_a_turn_whose_items_are_lost_is_known_by_its_messages() -> None:
    thread = started(turns=6)
    turn_id = thread.begin_turn("go")
    thread.report(assistant(turn_id, "I will."))
    thread.fail_to_fit(turn_id)
    plan = plan_overflow(thread.state, turn_id)
    assert plan is not None
    assert said(plan.after)[-1] == "I will."
    assert "go" not in said([*plan.before, *plan.after])
