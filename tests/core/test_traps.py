"""Faults of the first implementation of this design (docs/spec/traps.md), as far as they concern
the core.
"""

import msgspec
import pytest
from trimpoint.core.commands.parsing import NotACommand, UsageError, parse
from trimpoint.core.context.active_context import pruned_by
from trimpoint.core.context.generations import bootstrap_items
from trimpoint.core.evolve.evolve import apply
from trimpoint.core.model import commands as internal
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Policy
from trimpoint.core.model.operations import Phase
from trimpoint.core.model.state import ThreadState
from trimpoint.core.views.timeline import Timeline
from trimpoint.core.views.view import read_model
from trimpoint_protocol.errors import Reason
from trimpoint_protocol.readmodel import ContextTrimPointDivider, TimelineMessage

from tests.core.given import Conversation, activity, assistant, compact, started, texts, trim, user


def conversation_with_pauses() -> Conversation:
    """Returns a thread with turns of different kinds: with commands, steered, interrupted before an
    answer, and failed.
    """
    thread = started()
    thread.turn("plan it", "the plan", activities=["ls", "cat a"])
    thread.begin_turn("build it")
    thread.report(
        user("turn-2", "and test it"), assistant("turn-2", "on it"), assistant("turn-2", "built")
    )
    thread.report(ev.TurnCompleted("turn-2", "completed"))
    thread.begin_turn("wait")
    thread.report(ev.TurnCompleted("turn-3", "interrupted"))
    thread.turn("go on", "went on", activities=["make"])
    thread.turn("done?", "done", status="failed")
    return thread


def test_trap_1_the_pruned_turns_are_in_nothing_that_the_next_session_is_given() -> None:
    thread = conversation_with_pauses()
    thread.do(trim(2))
    assert texts(bootstrap_items(thread.state, thread.state.generation)) == [
        "go on",
        "went on",
        "done?",
        "done",
    ]
    assert thread.state.generation.provider_thread_id is None


def test_trap_2_a_kept_prompt_does_not_count_as_pruned_and_a_pruned_one_does() -> None:
    thread = conversation_with_pauses()
    assert all(entry.turn_id for entry in thread.state.entries)
    thread.clear(2)
    (point,) = thread.state.trim_points
    assert point.pruned_message_count == 2 + 4 + 1
    kept = [
        entry.text for entry in thread.state.entries[point.entry_index :] if entry.kind == "message"
    ]
    assert kept == ["go on", "went on", "done?", "done"]
    assert read_model(thread.state, Policy()).active_message_count == 4


def test_trap_3_the_divider_stands_at_its_boundary_though_the_trim_is_newer_than_what_it_keeps() -> (
    None
):
    thread = conversation_with_pauses()
    thread.clear(1)
    divider, first_kept, *_ = Timeline(thread.state, frozenset())
    assert isinstance(divider, ContextTrimPointDivider)
    assert isinstance(first_kept, TimelineMessage)
    point = thread.state.trim_points[0]
    assert first_kept.id == thread.state.entries[point.entry_index].id == "turn-5/user/done?"
    assert point.created_at_ms > thread.state.entries[-1].created_at_ms


def test_trap_4_a_second_trim_counts_nothing_that_the_first_pruned() -> None:
    thread = conversation_with_pauses()
    thread.clear(3)
    thread.clear(1)
    thread.turns(2)
    thread.clear()
    first, second, third = thread.state.trim_points
    pruned = [
        (pruned_by(thread.state, point), point.pruned_message_count)
        for point in (first, second, third)
    ]
    assert pruned[0] == (["turn-1", "turn-2"], 6)
    assert pruned[1] == (["turn-3", "turn-4"], 3)
    assert pruned[2] == (["turn-5", "turn-6", "turn-7"], 6)


@pytest.mark.parametrize("summary", [None, "", " \n"])
def test_trap_5_a_compaction_without_a_summary_is_no_success(summary: str | None) -> None:
    thread = conversation_with_pauses()
    operation_id = thread.begin_compaction()
    nothing = internal.CompleteCompaction(operation_id, summary, 600_000)
    thread.when(nothing).rejected(Reason.COMPACTION_FAILED)


@pytest.mark.parametrize("reason", [Reason.COMPACTION_FAILED, Reason.PROVIDER_TIMEOUT])
def test_trap_5_a_failed_compaction_leaves_the_context_as_it_was(reason: Reason) -> None:
    thread = conversation_with_pauses()
    before = msgspec.to_builtins(read_model(thread.state, Policy()))
    operation_id = thread.begin_compaction(2)
    thread.do(internal.AdvanceOperation(operation_id, Phase.FAILED, "no room", reason))
    thread.when(internal.CompleteCompaction(operation_id, "too late", 1)).rejected(Reason.INTERNAL)
    after = msgspec.to_builtins(read_model(thread.state, Policy()))
    changed = {name for name in after if after[name] != before[name]}
    assert changed == {"sequence", "threadSequence", "operation"}
    assert after["operation"]["message"] == "no room"


def test_trap_7_no_trim_passes_at_any_moment_of_a_turn() -> None:
    thread = started(turns=3)
    moments: list[ev.AnyEvent] = [
        ev.TurnRequested("request-1"),
        ev.TurnRequestEnded("request-1", "t"),
        ev.TurnStarted("t", 1),
        user("t", "go"),
        ev.RequestOpened("0", "approval"),
        ev.RequestClosed("0", "answered"),
        activity("t", "ls"),
        assistant("t", "done"),
        ev.UsageReported("t", 1, 1),
    ]
    for moment in moments:
        thread.report(moment)
        thread.when(trim(1)).rejected(Reason.TURN_IN_PROGRESS)
        thread.when(compact(force=True)).rejected(Reason.TURN_IN_PROGRESS)
    thread.report(ev.TurnCompleted("t", "completed"))
    assert thread.do(trim(1)).operation_id


@pytest.mark.parametrize(
    "text",
    ["/clear abc", "/clear -1", "/clear 3 fix it", "/CLEAR abc", " /clear\nabc", "/clear \uff13"],
)
def test_trap_9_a_mistyped_clear_is_a_usage_error_and_never_a_prompt(text: str) -> None:
    outcome = parse(text)
    assert not isinstance(outcome, NotACommand)
    assert isinstance(outcome, UsageError)
    assert "Usage: /clear [N]" in outcome.message


def test_trap_10_a_replay_a_snapshot_and_the_live_state_agree_after_every_record() -> None:
    thread = conversation_with_pauses()
    thread.clear(2)
    thread.turn(activities=["npm run dev"])
    thread.compact(None, keep=1)
    thread.report(activity("turn-1", "ended at last"))
    snapshot = ThreadState()
    for record in thread.records:
        apply(snapshot, record)
        snapshot = msgspec.msgpack.decode(msgspec.msgpack.encode(snapshot), type=ThreadState)
    assert thread.replayed() == snapshot == thread.state
    assert read_model(snapshot, Policy()) == read_model(thread.state, Policy())
