"""Reverts to a turn: the turns, trim points and context afterwards, in both directions."""

from typing import Any

import pytest
from trimpoint.core.context.active_context import active_message_count
from trimpoint.core.context.generations import bootstrap_items
from trimpoint.core.decide.reverting import resolve_target, target_items
from trimpoint.core.model import commands as internal
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import busy
from trimpoint.core.model.operations import Phase
from trimpoint_protocol.errors import Reason

from tests.core.given import (
    assistant,
    started,
    texts,
)
from tests.core.reverting import revert


def test_the_new_session_is_given_what_was_active_at_the_turn_when_codex_has_lost_it() -> None:
    thread = started()
    _, second = thread.turns(2)
    thread.compact("the gist", keep=1)
    third = thread.turn()
    thread.clear()
    thread.turn()
    thread.do(revert(turn_id=third, scope="context"))
    target = resolve_target(thread.state, thread.state.operation.reverting)
    assert target is not None
    assert target.through == third
    assert target.generation == 2
    assert texts(target_items(thread.state, target)) == [
        "<conversation-summary messages=2>the gist</conversation-summary>",
        f"prompt of {second}", f"answer of {second}", f"prompt of {third}", f"answer of {third}",
    ]  # fmt: skip
    thread.finish_revert()
    opened = thread.state.generation
    assert (opened.reason, opened.bootstrap, opened.summary) == ("revert", "summary", "the gist")
    assert texts(bootstrap_items(thread.state, opened)) == texts(target_items(thread.state, target))


def test_a_context_that_codex_holds_is_not_given_to_it_again() -> None:
    thread = started()
    first, _ = thread.turns(2)
    thread.do(revert(turn_id=first, scope="context"))
    operation = thread.state.open_operation
    assert operation is not None
    thread.advance(Phase.STARTING)
    thread.do(
        internal.CompleteRevert(operation.id, "codex-fork", "/rollouts/fork", in_provider=True)
    )
    generation = thread.state.generation
    assert (generation.bootstrap, generation.provider_thread_id, generation.ready) == (
        "provider",
        "codex-fork",
        True,
    )
    assert bootstrap_items(thread.state, generation) == []


def test_a_revert_to_before_the_first_turn_leaves_an_empty_context() -> None:
    thread = started(turns=2)
    thread.do(revert(turn_count=0, scope="context"))
    target = resolve_target(thread.state, thread.state.operation.reverting)
    assert target is not None
    assert target.generation is None
    assert target_items(thread.state, target) == []
    thread.finish_revert()
    assert thread.state.generation.bootstrap == "none"
    assert thread.state.turns == []


def test_undone_turns_without_items_are_rebuilt_from_their_messages() -> None:
    thread = started()
    first = thread.turn()
    second = thread.turn("do it", "done", items=())
    thread.revert(turn_id=first)
    thread.do(revert(undo=True, scope="context"))
    target = resolve_target(thread.state, thread.state.operation.reverting)
    assert target is not None
    assert target.active[-1].id == second
    assert texts(target_items(thread.state, target))[-2:] == ["do it", "done"]


def test_a_sealed_summary_is_counted_again_after_a_revert_to_a_turn_behind_it() -> None:
    thread = started(turns=2)
    thread.compact(None)
    third = thread.turn()
    messages = active_message_count(thread.state)
    thread.turn()
    thread.do(revert(turn_id=third, scope="context"))
    target = resolve_target(thread.state, thread.state.operation.reverting)
    assert target is not None
    assert target.is_sealed
    operation = thread.state.open_operation
    assert operation is not None
    thread.advance(Phase.STARTING)
    thread.do(
        internal.CompleteRevert(operation.id, "codex-fork", "/rollouts/fork", in_provider=True)
    )
    assert active_message_count(thread.state) == messages


def test_files_are_those_of_the_checkpoint_after_the_turn() -> None:
    thread = started()
    first = thread.turn()
    commit = thread.checkpoint(first)
    second = thread.turn()
    thread.checkpoint(second)
    thread.do(revert(turn_id=first))
    assert thread.state.operation.reverting.commit == commit
    thread.finish_revert()
    past = thread.state.undo_state
    assert past is not None
    assert past.commit == thread.state.checkpoints[-2].commit
    thread.do(revert(undo=True))
    assert thread.state.operation.reverting.commit == past.commit
    thread.finish_revert()
    assert [turn.id for turn in thread.state.turns] == [first, second]


def test_the_baseline_of_the_next_turn_stands_in_for_a_checkpoint_that_failed() -> None:
    thread = started()
    first = thread.turn()
    thread.report(ev.CheckpointFailed(first, "after", "disk full"))
    second = thread.begin_turn()
    commit = thread.checkpoint(second, "before")
    thread.report(ev.TurnCompleted(second, "completed"))
    thread.do(revert(turn_id=first))
    assert thread.state.operation.reverting.commit == commit


def test_the_files_before_the_first_turn_are_those_of_its_baseline() -> None:
    thread = started()
    first = thread.begin_turn()
    commit = thread.checkpoint(first, "before")
    thread.report(ev.TurnCompleted(first, "completed"))
    thread.do(revert(turn_count=0))
    assert thread.state.operation.reverting.commit == commit


@pytest.mark.parametrize(("count", "where"), [(1, "turn 1"), (0, "before the first turn")])
def test_a_revert_of_files_without_a_capture_says_why_there_is_none(count: int, where: str) -> None:
    thread = started()
    first = thread.turn()
    thread.report(ev.CheckpointFailed(first, "after", "It is no git repository."))
    rejected = thread.when(revert(turn_count=count)).rejected(Reason.CHECKPOINT_NOT_FOUND)
    assert where in rejected.message
    assert "It is no git repository" in rejected.message


def test_only_files_are_restored_when_the_context_is_right_already() -> None:
    thread = started()
    first = thread.turn()
    thread.checkpoint(first)
    thread.do(revert(turn_id=first))
    assert resolve_target(thread.state, thread.state.operation.reverting) is None
    thread.finish_revert()
    assert thread.state.generation.number == 1
    assert thread.state.operation.phase is Phase.READY
    thread.do(revert(undo=True))
    assert resolve_target(thread.state, thread.state.operation.reverting) is None
    thread.finish_revert()
    assert thread.state.generation.number == 1


@pytest.mark.parametrize(
    "arguments", [{"turn_id": "turn-1", "turn_count": 1}, {"turn_id": "turn-1", "undo": True}]
)  # fmt: skip
def test_a_revert_names_one_target_at_most(arguments: dict[str, Any]) -> None:
    started(turns=1).when(revert(**arguments)).rejected(Reason.USAGE)


def test_a_revert_to_what_is_not_there_is_refused() -> None:
    thread = started(turns=1)
    thread.when(revert(turn_id="nonsense")).rejected(Reason.TURN_NOT_FOUND)
    assert "1 turn" in thread.when(revert(turn_count=2)).rejected(Reason.TURN_NOT_FOUND).message
    thread.when(revert(turn_count=1, scope="context")).rejected(Reason.NOTHING_TO_REVERT)
    thread.when(revert(undo=True)).rejected(Reason.NOTHING_TO_REVERT)
    started().when(revert(turn_count=0)).rejected(Reason.NOTHING_TO_REVERT)


def test_a_busy_thread_is_not_reverted() -> None:
    thread = started(turns=2)
    thread.begin_turn()
    thread.when(revert(turn_count=1)).rejected(Reason.TURN_IN_PROGRESS)


def test_a_turn_that_codex_begins_during_a_revert_is_ended_and_taken_back_with_it() -> None:
    thread = started()
    first, second = thread.turns(2)
    thread.do(revert(turn_id=first, scope="context"))
    thread.advance(Phase.STARTING)
    running = thread.begin_turn()
    operation = thread.state.open_operation
    assert operation is not None
    thread.do(internal.CompleteRevert(operation.id, "codex-thread"))
    assert busy(thread.state) is None
    assert [turn.id for turn in thread.state.turns] == [first]
    thread.revert(undo=True)
    assert [(turn.id, turn.status) for turn in thread.state.turns[1:]] == [
        (second, "completed"), (running, "interrupted"),
    ]  # fmt: skip


def test_a_turn_that_an_older_journal_has_as_running_as_it_was_reverted_keeps_no_thread_busy() -> (
    None
):
    thread = started()
    first, _ = thread.turns(2)
    thread.do(revert(turn_id=first, scope="context"))
    thread.begin_turn()
    operation = thread.state.open_operation
    assert operation is not None
    thread.write(
        ev.CheckpointRestored(operation.id, first, "context", False),
        ev.OperationAdvanced(operation.id, Phase.READY, "Reverted."),
    )
    assert busy(thread.state) is None


def test_a_revert_that_is_over_is_not_completed_again() -> None:
    thread = started(turns=2)
    thread.revert(turn_count=1)
    operation = thread.state.operation
    assert operation is not None
    thread.when(internal.CompleteRevert(operation.id)).rejected(Reason.INTERNAL)


def test_a_rollback_by_codex_below_a_revert_ends_its_undo() -> None:
    thread = started()
    first, second, _ = thread.turns(3)
    thread.revert(turn_id=second)
    thread.do(internal.RollBackTurns(second, provider_did=True))
    thread.when(revert(undo=True)).rejected(Reason.NOTHING_TO_REVERT)
    fourth = thread.turn()
    thread.turn()
    thread.revert(turn_id=fourth)
    assert thread.state.undo_state is not None
    assert [turn.id for turn in thread.state.turns] == [first, fourth]


def test_a_revert_that_names_no_turn_takes_back_the_last() -> None:
    thread = started()
    first, _ = thread.turns(2)
    thread.revert()
    assert [turn.id for turn in thread.state.turns] == [first]
    thread.revert()
    assert thread.state.turns == []
    thread.when(revert(scope="context")).rejected(Reason.NOTHING_TO_REVERT)


def test_a_revert_of_files_of_a_thread_that_was_never_captured_says_so() -> None:
    assert (
        "none was made"
        in started(turns=2).when(revert(turn_count=1)).rejected(Reason.CHECKPOINT_NOT_FOUND).message
    )


def test_a_thread_knows_its_files_as_it_captured_or_restored_them_not_as_a_revert_found_them() -> (
    None
):
    thread = started()
    first = thread.turn()
    commit = thread.checkpoint(first)
    thread.checkpoint(thread.turn())
    thread.do(revert(turn_id=first))
    thread.advance(Phase.CHECKPOINTING)
    before = thread.state.known_files
    thread.checkpoint(None, "safety")
    assert thread.state.known_files == before
    operation = thread.state.open_operation
    assert operation is not None
    thread.advance(Phase.STARTING)
    thread.advance(Phase.RESTORING)
    thread.do(internal.CompleteRevert(operation.id, "codex-thread"))
    assert thread.state.known_files == commit


def test_an_entry_whose_id_a_reverted_turn_used_again_is_still_known() -> None:
    thread = started()
    first = thread.turn()
    thread.report(assistant(first, "again", "call_0"))
    second = thread.turn()
    thread.report(assistant(second, "again", "call_0"))
    thread.revert(turn_id=first)
    assert thread.report(assistant(first, "again", "call_0")) == ()
    assert [entry.id for entry in thread.state.entries].count("call_0") == 1


def test_turns_come_back_at_their_places_when_a_command_ended_meanwhile() -> None:
    thread = started()
    first, second = thread.turns(2)
    thread.revert(turn_id=first)
    late = ev.EntryRecorded(first, "late", "activity", "commandExecution", "sleep 9")
    thread.report(late)
    thread.revert(undo=True)
    entries = thread.state.entries
    assert [entry.turn_id for entry in entries] == [first, first, first, second, second]
    place = thread.state.turns[1].first_entry_index
    assert entries[place].text == f"prompt of {second}"
