"""A turn that did not fit after Codex had compacted, and its state afterwards."""

import msgspec
import pytest
from trimpoint.core.context.active_context import turn_items
from trimpoint.core.context.generations import bootstrap_items, rebuilt_generation
from trimpoint.core.decide.overflow import (
    ProviderCompaction,
    compacted_by_codex,
    plan_overflow,
    prompt_of,
)
from trimpoint.core.decide.reverting import resolve_target
from trimpoint.core.model import commands as internal
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import busy
from trimpoint.core.model.operations import Phase
from trimpoint.core.model.state import Reverting
from trimpoint_protocol.errors import Reason

from tests.core.given import (
    THREAD,
    Conversation,
    assistant,
    completed_recovery,
    raw,
    raw_message,
    started,
    texts,
    user,
)
from tests.core.overflowing import LONG, answer, ask, call, of_turns, output, said, summary, worked


def compacted(thread: Conversation, turn_id: str) -> None:
    """Records a compaction of Codex in the middle of the turn."""
    thread.report(
        ev.EntryRecorded(
            turn_id, f"{turn_id}/compaction", "activity", "contextCompaction", "Codex compacted"
        )
    )


CODEX_S = [*(ask(f"prompt {n}") for n in range(9)), ask("Codex's own summary")]


def test_codexs_own_compaction_is_summarized_with_the_items_since() -> None:
    thread = started(turns=8)
    assert not compacted_by_codex(thread.state)
    compacted(thread, "turn-5")
    assert compacted_by_codex(thread.state)
    turn_id = thread.overflow()
    # Of the fifth turn the answer came after the compaction.
    since = {"turn-5": 1, "turn-6": 2, "turn-7": 2, "turn-8": 2}
    plan = plan_overflow(thread.state, turn_id, ProviderCompaction(CODEX_S, since))
    assert plan is not None
    assert said(plan.before) == [*said(CODEX_S), "answer of turn-5", *of_turns(6)]
    assert said(plan.after) == of_turns(7, 8)
    assert (plan.first_kept_turn_id, plan.skipped_items) == ("turn-7", 0)


def test_items_of_codexs_own_compaction_are_not_kept() -> None:
    thread = started(turns=8)
    turn_id = thread.overflow()
    long = [*CODEX_S, answer("an answer"), ask(LONG)]
    plan = plan_overflow(thread.state, turn_id, ProviderCompaction(long, {"turn-8": 1}))
    assert plan is not None
    assert (said(plan.before)[-1], plan.after) == ("answer of turn-8", [])
    assert (plan.first_kept_turn_id, plan.skipped_items) == (turn_id, 0)


def test_a_turn_that_codex_began_with_a_compaction_has_its_prompt_after_it() -> None:
    thread = started(turns=8)
    turn_id = thread.begin_turn("go")
    compacted(thread, turn_id)
    work = [call("a"), output("a")]
    thread.report(ev.ContextItemsRecorded(turn_id, (answer("Codex's summary"), ask("go"), *work)))
    thread.fail_to_fit(turn_id)
    plan = plan_overflow(
        thread.state, turn_id, ProviderCompaction([*CODEX_S, answer("so far")], {turn_id: 3})
    )
    assert plan is not None
    assert (said(plan.before), plan.after) == ([*said(CODEX_S), "so far"], work)
    assert (plan.first_kept_turn_id, plan.skipped_items) == (turn_id, 1)


def test_of_a_turn_that_codex_compacted_on_the_way_the_rest_counts() -> None:
    thread = started(turns=8)
    turn_id = thread.begin_turn("go")
    compacted(thread, turn_id)
    thread.report(
        ev.ContextItemsRecorded(
            turn_id, (ask("go"), call("a"), output("a"), answer("gist"), call("b"), output("b"))
        )
    )
    thread.fail_to_fit(turn_id)
    plan = plan_overflow(
        thread.state, turn_id, ProviderCompaction([*CODEX_S, answer("so far")], {turn_id: 2})
    )
    assert plan is not None
    assert (plan.after, plan.first_kept_turn_id, plan.skipped_items) == (
        [call("b"), output("b")],
        turn_id,
        3,
    )


def test_a_recovery_is_no_compaction_of_codexs() -> None:
    thread = started(turns=8)
    thread.overflow()
    thread.retry()
    assert not compacted_by_codex(thread.state)
    assert not compacted_by_codex(started().state)


def test_the_turn_continues_in_a_generation_with_the_summary_and_the_kept_turns_in_one_record() -> (
    None
):
    thread = started(turns=8)
    turn_id = thread.overflow()
    plan = plan_overflow(thread.state, turn_id)
    assert plan is not None
    operation_id = thread.state.operation.id if thread.state.operation is not None else ""
    thread.advance(Phase.COMPACTING)
    thread.advance(Phase.RETRYING)
    stamp = thread.stamp()
    compaction = raw(type="contextCompaction", id=operation_id)
    title = "The oldest part of the context was summarized to make room"
    thread.when(completed_recovery(operation_id, plan)).then(
        ev.TrimPointCreated(
            THREAD, stamp.id, stamp.now_ms, "turn-6/assistant/answer of turn-6", 12, (),
            "turn-7", 2, "overflow", pruned_turn_count=6, last_pruned_turn_id="turn-6",
        ),
        ev.ContextSummarized(THREAD, stamp.id, "in short", 1_500),
        ev.GenerationOpened(2, "overflow", "summary", ("turn-7", "turn-8"), "in short", 12, 0),
        ev.SessionStopRequested(1),
        ev.ProviderThreadBound(2, "codex-thread-2", "/rollouts/2", raw_events=True),
        ev.SessionReady(2),
        ev.TurnRetried(turn_id, "codex-turn", 2),
        ev.EntryRecorded(turn_id, operation_id, "activity", "contextCompaction", title, compaction),
        ev.OperationAdvanced(operation_id, "ready", "On it goes."),
    )  # fmt: skip


def test_a_retried_turn_keeps_its_id_whatever_the_provider_calls_it() -> None:
    thread = started(turns=8)
    turn_id = worked(thread, call("a"), output("a"), prompt="go")
    thread.retry()
    turn = thread.state.turns[-1]
    assert (turn.id, turn.status, turn.generation, turn.first_generation, turn.error) == (
        turn_id,
        "running",
        2,
        1,
        None,
    )
    block = busy(thread.state)
    assert block is not None
    assert block[:2] == ("turn", turn_id)
    facts = thread.report(
        ev.TurnStarted("codex-turn", 2),
        ev.ContextItemsRecorded("codex-turn", (ask("go"), answer("done"))),
        assistant("codex-turn", "done", "e"),
        ev.UsageReported("codex-turn", 10, 10),
        ev.TurnRequestEnded("steered", "codex-turn"),
        ev.TurnCompleted("codex-turn", "completed"),
    )
    assert facts == (
        ev.ContextItemsRecorded(turn_id, (ask("go"), answer("done"))),
        assistant(turn_id, "done", "e"),
        ev.UsageReported(turn_id, 10, 10),
        ev.TurnCompleted(turn_id, "completed"),
    )
    assert said(turn_items(thread.state, turn)) == [
        "function_call",
        "function_call_output",
        "go",
        "done",
    ]
    assert thread.replayed() == thread.state


def test_a_rollout_brings_the_items_since_it_was_tried_again() -> None:
    thread = started(turns=8)
    turn_id = worked(thread, call("a"), output("a"), prompt="go")
    thread.retry()
    thread.report(ev.ContextItemsRecorded("codex-turn", (ask("go"),)))
    thread.report(ev.ContextItemsRecorded(turn_id, (ask("go"), answer("done")), "rollout"))
    assert said(thread.state.turns[-1].items) == [
        "function_call",
        "function_call_output",
        "go",
        "done",
    ]
    assert thread.state.turns[-1].items_complete


def test_a_generation_can_be_given_its_context_again() -> None:
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
    thread.turn("long", LONG, items=long)
    work = [call("c"), output("c")]
    worked(thread, *work)
    plan = thread.retry()
    generation = thread.state.generation
    assert bootstrap_items(thread.state, generation) == [
        raw_message("user", summary("in short", 12)),
        *plan.after,
    ]
    assert plan.after == [*long[4:], *work]


def test_a_turn_is_whole_again_when_the_thread_is_taken_back_to_it() -> None:
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
    thread.retry()
    thread.report(ev.TurnCompleted("codex-turn", "completed"))
    thread.revert(turn_id=kept)
    assert thread.state.trim_points == []
    generation = thread.state.generation
    assert (generation.turn_ids[-1], generation.summary, generation.skipped_items) == (
        kept,
        None,
        0,
    )


def test_codex_is_gone_back_to_by_its_own_name_of_the_turn() -> None:
    thread = started(turns=8)
    turn_id = thread.overflow()
    thread.retry(provider_turn_id="codex-turn")
    thread.report(ev.TurnCompleted("codex-turn", "completed"))
    thread.turn()
    for target, through in ((turn_id, "codex-turn"), ("turn-8", "turn-8")):
        aim = resolve_target(thread.state, Reverting(target, "context", False, False, "", ""))
        assert aim is not None
        assert aim.through == through


def test_a_context_that_is_come_back_to_begins_where_it_was_cut() -> None:
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
    thread.turn("long", LONG, items=long)
    turn_id = thread.overflow()
    thread.retry()
    thread.report(
        ev.ContextItemsRecorded("codex-turn", (answer("done"),)),
        ev.TurnCompleted("codex-turn", "completed"),
    )
    thread.turn()
    thread.revert(turn_id=turn_id)
    generation = thread.state.generation
    assert (generation.summary, generation.skipped_items) == ("in short", 4)
    thread.turn()
    thread.do(internal.RollBackTurns(thread.state.turns[-1].id, provider_did=False))
    assert thread.state.generation.skipped_items == 4
    items = bootstrap_items(thread.state, thread.state.generation)
    assert items[1:] == [*long[4:], answer("done")]


def test_a_context_that_codex_has_lost_is_rebuilt_without_what_was_summarized() -> None:
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
    thread.turn("long", LONG, items=long)
    thread.overflow()
    thread.retry()
    thread.report(
        ev.ContextItemsRecorded("codex-turn", (answer("done"),)),
        ev.TurnCompleted("codex-turn", "completed"),
    )
    thread.write(*rebuilt_generation(thread.state))
    items = bootstrap_items(thread.state, thread.state.generation)
    assert items == [ask(summary("in short", 12)), *long[4:], answer("done")]


def test_an_overflow_recovery_counts_as_a_compaction() -> None:
    thread = started(turns=8)
    thread.overflow()
    thread.retry()
    assert thread.state.compaction_count == 1
    assert thread.state.trim_points[-1].summary == "in short"


def test_a_recovery_that_fails_leaves_everything_as_it_was() -> None:
    thread = started(turns=8)
    turn_id = thread.overflow()
    thread.advance(Phase.COMPACTING)
    thread.advance(Phase.FAILED, message="no summary")
    state = thread.state
    assert (state.turns[-1].status, state.turns[-1].error, state.recovering_turn_id) == (
        "failed",
        "no room",
        None,
    )
    assert (state.generation.number, state.trim_points, busy(state)) == (1, [], None)
    assert said(turn_items(state, state.turns[-1])) == [f"prompt of {turn_id}"]


@pytest.mark.parametrize("when", ["too early", "too late", "another turn", "another operation"])
def test_a_retried_turn_continues_only_while_its_recovery_waits(when: str) -> None:
    thread = started(turns=8)
    turn_id = thread.overflow()
    plan = plan_overflow(thread.state, turn_id)
    assert plan is not None
    assert thread.state.operation is not None
    command = completed_recovery(
        "another" if when == "another operation" else thread.state.operation.id, plan
    )
    thread.advance(Phase.COMPACTING)
    if when != "too early":
        thread.advance(Phase.RETRYING)
    if when == "another turn":
        thread.begin_turn()
    if when == "too late":
        thread.advance(Phase.FAILED)
    thread.when(command).rejected(Reason.INTERNAL)


def test_the_prompt_is_sent_as_it_was() -> None:
    thread = started()
    turn_id = thread.begin_turn("go")
    assert prompt_of(thread.state, turn_id) == [{"type": "text", "text": "go"}]
    content = [
        {"type": "text", "text": "look", "text_elements": []},
        {"type": "localImage", "path": "/p.png"},
    ]
    detail = msgspec.json.encode({"type": "userMessage", "id": "e", "content": content})
    thread.report(ev.TurnCompleted(turn_id, "completed"), ev.TurnStarted("t", 1))
    thread.report(ev.EntryRecorded("t", "e", "message", "user", "look", detail))
    assert prompt_of(thread.state, "t") == content


def test_a_prompt_that_steered_the_turn_is_kept_as_work() -> None:
    thread = started(turns=8)
    turn_id = thread.begin_turn("go")
    thread.report(
        ev.ContextItemsRecorded(
            turn_id, (ask("go"), ask("<skill/>"), ask("faster"), call("a"), output("a"))
        )
    )
    thread.report(user(turn_id, "faster"))
    thread.fail_to_fit(turn_id)
    plan = thread.retry()
    assert said(plan.after)[-3:] == ["faster", "function_call", "function_call_output"]
    assert "<skill/>" not in said(plan.after)
    assert texts(thread.state.turns[-1].items) == ["faster"]
