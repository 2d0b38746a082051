"""`/undo` and `/undo --redo`: the context afterwards, and why a trim is not undone."""

import pytest
from trimpoint.core.context.active_context import pruned_turn_ids
from trimpoint.core.decide.reverting import target_after
from trimpoint.core.model import commands as internal
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Policy
from trimpoint.core.views.trim_outcome import planned_change
from trimpoint.core.views.view import read_model
from trimpoint_protocol import commands as wire
from trimpoint_protocol.errors import Reason

from tests.core.given import (
    THREAD,
    activity,
    client,
    raw_message,
    started,
)
from tests.core.undoing import FREE, dividers, refusal, said, shown, undo
from tests.core.usage import call

WINDOW = Policy(model_windows={"gpt-5": 500})


# --- what comes back --------------------------------------------------------------------------


@pytest.mark.parametrize("turns_since", [0, 1])
def test_the_measured_size_comes_back_where_the_context_is_as_it_was(turns_since: int) -> None:
    thread = started(turns=2)
    turn_id = thread.begin_turn()
    thread.report(call(turn_id, 40_000, 90_000), ev.TurnCompleted(turn_id, "completed"))
    thread.clear(1)
    thread.turns(turns_since)
    planned = planned_change(thread.state, client(wire.UndoTrim), Policy())
    undo(thread)
    status = read_model(thread.state, Policy()).context
    assert status.estimated is bool(turns_since)
    assert (status.used_tokens == 40_010) is (not turns_since)
    assert (planned.after, planned.after_estimated) == (status.used_tokens, status.estimated)
    first = thread.begin_turn()
    thread.report(call(first, 41_000, 41_010))
    assert thread.state.usage.era.total == 41_010


def test_a_clear_is_undone_and_the_turns_since_stay() -> None:
    thread = started(turns=3)
    thread.clear(1)
    thread.turn()
    undo(thread)
    assert shown(thread.state) == said(1, 2, 3, 4)
    assert thread.state.generation.reason == "undo"
    assert (dividers(thread.state), read_model(thread.state, Policy()).context_trim_points) == (
        [],
        [],
    )
    assert thread.replayed() == thread.state


def test_an_undo_is_written_with_its_own_event() -> None:
    thread = started(turns=2)
    point = thread.clear()
    thread.when(client(wire.UndoTrim)).then(
        ev.OperationStarted(thread.stamp().id, "undo"),
        ev.TrimUndone(THREAD, point, 3),
        ev.GenerationOpened(3, "undo", "turns", ("turn-1", "turn-2")),
        ev.SessionStopRequested(2),
        ev.SessionStartRequested(3),
    )


def test_a_compaction_is_undone_also_when_only_the_provider_can_read_its_summary() -> None:
    thread = started(turns=3)
    thread.compact("in short")
    undo(thread)
    assert (shown(thread.state), thread.state.compaction_count) == (said(1, 2, 3), 0)
    thread.compact(None)
    thread.turn()
    undo(thread)
    assert shown(thread.state) == said(1, 2, 3, 4)


def test_the_summary_that_a_clear_took_comes_back() -> None:
    thread = started(turns=3)
    thread.compact("in short", 1)
    summary = shown(thread.state)[0]
    thread.clear()
    thread.turn()
    undo(thread)
    assert shown(thread.state) == [summary, *said(3, 4)]


def test_a_discard_is_undone() -> None:
    thread = started(turns=3, policy=FREE)
    thread.do(client(wire.DiscardContext, entry_ids=["turn-1/user/prompt of turn-1"]))
    thread.settle()
    assert shown(thread.state) == ["answer of turn-1", *said(2, 3)]
    undo(thread)
    assert (shown(thread.state), thread.state.discards) == (said(1, 2, 3), [])
    undo(thread, redo=True)
    assert shown(thread.state) == ["answer of turn-1", *said(2, 3)]
    assert thread.replayed() == thread.state


def test_an_overflow_is_undone_where_it_is_asked_for_twice() -> None:
    thread = started(turns=6)
    thread.overflow()
    thread.retry()
    thread.report(ev.ContextItemsRecorded("turn-7", (raw_message("user", "prompt of turn-7"),)))
    thread.report(ev.TurnCompleted("turn-7", "completed"))
    undo(thread, force=True)
    assert shown(thread.state) == [*said(1, 2, 3, 4, 5, 6), "prompt of turn-7"]


def test_again_takes_back_the_one_before() -> None:
    thread = started(turns=3)
    thread.clear(2)
    thread.clear(1)
    undo(thread)
    assert shown(thread.state) == said(2, 3)
    undo(thread)
    assert shown(thread.state) == said(1, 2, 3)
    assert (
        refusal(thread, Reason.NOTHING_TO_UNDO)
        == "Nothing to undo: no trim is in effect on this thread. /revert N goes back to after turn N."
    )


# --- redo -------------------------------------------------------------------------------------


def test_redo_makes_the_trims_again_in_their_order() -> None:
    thread = started(turns=3)
    thread.compact("in short", 2)
    thread.clear(1)
    before = (shown(thread.state), dividers(thread.state), thread.state.trim_points)
    undo(thread)
    undo(thread)
    undo(thread, redo=True)
    assert (len(dividers(thread.state)), thread.state.compaction_count) == (1, 1)
    undo(thread, redo=True)
    assert (shown(thread.state), dividers(thread.state), thread.state.trim_points) == before
    assert thread.state.generation.reason == "redo"
    assert "Nothing to redo." in refusal(thread, Reason.NOTHING_TO_UNDO, redo=True)
    assert thread.replayed() == thread.state


@pytest.mark.parametrize("what", ["turn", "clear", "discard", "revert", "rollback"])
def test_something_else_ends_what_can_be_redone(what: str) -> None:
    thread = started(turns=3, policy=FREE)
    thread.clear(2)
    undo(thread)
    match what:
        case "turn":
            thread.turn()
        case "clear":
            thread.clear(1)
        case "discard":
            thread.do(client(wire.DiscardContext, entry_ids=["turn-2/user/prompt of turn-2"]))
            thread.settle()
        case "revert":
            thread.revert(turn_count=2)
        case _:
            thread.do(internal.RollBackTurns("turn-3", provider_did=True))
    refusal(thread, Reason.NOTHING_TO_UNDO, redo=True)


def test_an_entry_that_comes_late_does_not_move_the_boundary_of_a_redone_trim() -> None:
    thread = started(turns=3)
    thread.clear(1)
    undo(thread)
    thread.report(activity("turn-1", "a command that outlived its turn"))
    undo(thread, redo=True)
    [point] = thread.state.trim_points
    assert thread.state.entries[point.entry_index].turn_id == "turn-3"
    assert point.before_entry_id == thread.state.entries[point.entry_index - 1].id


def test_a_sealed_compaction_cannot_be_redone() -> None:
    thread = started(turns=3)
    thread.compact(None)
    undo(thread)
    assert "/compact summarizes once more" in refusal(thread, Reason.NOT_SUPPORTED, redo=True)


# --- refusals ---------------------------------------------------------------------------------


def test_a_busy_thread_undoes_nothing() -> None:
    thread = started(turns=2)
    thread.clear(1)
    thread.begin_turn()
    refusal(thread, Reason.TURN_IN_PROGRESS)


def test_of_two_clients_that_undo_at_once_one_is_told_that_it_is_under_way() -> None:
    thread = started(turns=3)
    thread.clear(2)
    thread.clear(1)
    thread.do(client(wire.UndoTrim))
    refusal(thread, Reason.ALREADY_IN_PROGRESS)


def test_a_client_that_names_the_trim_undoes_no_other() -> None:
    thread = started(turns=3)
    first, second = thread.clear(2), thread.clear(1)
    assert second in refusal(thread, Reason.NOTHING_TO_UNDO, trim_point_id=first)
    undo(thread, trim_point_id=second)
    assert shown(thread.state) == said(2, 3)


def test_a_trim_before_which_only_the_provider_has_the_summary_cannot_be_undone() -> None:
    thread = started(turns=3)
    thread.compact(None)
    thread.turns(2)
    thread.clear(1)
    assert "Only Codex can read" in refusal(thread, Reason.NOT_SUPPORTED, force=True)


def test_a_trim_that_a_fork_inherited_is_undone_in_its_origin() -> None:
    thread = started(turns=2)
    thread.write(ev.TrimPointCreated(THREAD, "t", 0, None, 2, ("turn-1",), "turn-2", 1, "clear"))
    assert "forked from" in refusal(thread, Reason.NOTHING_TO_UNDO)


def test_undo_of_a_context_beyond_the_window_needs_force() -> None:
    thread = started(turns=1, policy=WINDOW)
    thread.turn("word " * 600)
    thread.clear(0)
    thread.turn()
    assert "500 tokens" in refusal(thread, Reason.DOES_NOT_FIT)
    undo(thread, force=True)
    assert len(shown(thread.state)) == 6


def test_pruned_turns_whose_items_are_not_at_hand_are_weighed_by_their_entries() -> None:
    thread = started(policy=WINDOW)
    thread.turn(activities=["word " * 600])
    thread.clear(0)
    assert not thread.state.turns[0].items
    refusal(thread, Reason.DOES_NOT_FIT)


def test_turns_that_codex_had_compacted_come_back_only_by_force() -> None:
    thread = started(turns=2)
    turn_id = thread.begin_turn()
    thread.report(ev.EntryRecorded(turn_id, "c", "activity", "contextCompaction", "compacted"))
    thread.report(ev.TurnCompleted(turn_id, "completed"))
    thread.turn()
    thread.clear(1)
    refused = refusal(thread, Reason.DOES_NOT_FIT)
    assert "in turn 3" in refused
    assert "/revert 4 --context brings it back; /undo --force brings" in refused
    thread.turn()
    refused = refusal(thread, Reason.DOES_NOT_FIT)
    assert "/revert 4 --context brings it back, without the turns since; /undo --force" in refused
    undo(thread, force=True)
    assert len(thread.state.active_turns) == 5


def test_a_compaction_of_codex_since_the_trim_needs_force_too() -> None:
    thread = started(turns=2)
    thread.clear(1)
    turn_id = thread.begin_turn()
    thread.report(ev.EntryRecorded(turn_id, "c", "activity", "contextCompaction", "compacted"))
    thread.report(ev.TurnCompleted(turn_id, "completed"))
    refused = refusal(thread, Reason.DOES_NOT_FIT)
    assert "in turn 3" in refused
    assert "cannot be had back" in refused


# --- with reverts -----------------------------------------------------------------------------


def test_a_revert_to_a_turn_of_an_undone_trim_is_not_taken_from_its_provider_thread() -> None:
    thread = started(turns=3)
    thread.clear(1)
    thread.turns(2)
    undo(thread)
    thread.turn()
    assert target_after(thread.state, 4).generation is None
    assert target_after(thread.state, 3).generation == 1
    assert target_after(thread.state, 6).generation == 3
    thread.revert(turn_count=4)
    assert shown(thread.state) == said(1, 2, 3, 4)


def test_an_undone_revert_brings_a_trim_back_that_was_undone_meanwhile() -> None:
    thread = started(turns=3)
    thread.clear(1)
    thread.turns(2)
    before = (shown(thread.state), [point.id for point in thread.state.trim_points])
    thread.revert(turn_count=4)
    undo(thread)
    assert shown(thread.state) == said(1, 2, 3, 4)
    thread.revert(undo=True)
    assert (shown(thread.state), [point.id for point in thread.state.trim_points]) == before
    assert thread.state.undone == []
    assert thread.replayed() == thread.state


def test_turns_that_a_trim_pruned_are_known_after_a_revert_took_them_back() -> None:
    thread = started(turns=3)
    thread.clear(1)
    pruned = [turn.id for turn in thread.state.turns[:2]]
    thread.revert(turn_count=1)
    event = ev.TrimPointCreated(
        thread.state.id, "p", 0, None, 4, (), None, 2, "clear",
        pruned_turn_count=2, last_pruned_turn_id=pruned[-1],
    )  # fmt: skip
    assert pruned_turn_ids(thread.state, event) == pruned
