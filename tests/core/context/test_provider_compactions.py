"""Turns to keep after Codex has compacted the context are counted from the model's input."""

import pytest
from trimpoint.core.context.generations import bootstrap_items
from trimpoint.core.context.provider_compactions import (
    ASKED_FOR,
    COMPACTION,
    newest_own_compaction,
    seen_turns,
    turns_brought_back,
)
from trimpoint.core.decide.auto_compaction import auto_status
from trimpoint.core.decide.overflow import compacted_by_codex
from trimpoint.core.decide.reverting import target_after
from trimpoint.core.model import commands as internal
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Policy
from trimpoint.core.model.operations import Phase
from trimpoint.core.views.trim_outcome import undo_command
from trimpoint.operations.messages import ready_message
from trimpoint_protocol import commands as wire
from trimpoint_protocol.errors import Reason

from tests.core.given import (
    THREAD,
    Conversation,
    activity,
    assistant,
    client,
    compact,
    given,
    started,
    texts,
    trim,
)
from tests.core.pinning import pin, shown
from tests.core.usage import call, complete

WINDOW = 100_000


def codex_compacts(thread: Conversation, turn_id: str, entry_id: str = "own") -> None:
    thread.report(
        ev.EntryRecorded(
            turn_id, entry_id, "activity", COMPACTION, "Codex compacted the context automatically"
        )
    )


def compacted_turn(thread: Conversation, *, before: str = "", used: int = 0) -> str:
    """Runs a turn in which Codex compacts: at its beginning, or after the agent's message
    `before`.
    """
    turn_id = thread.begin_turn()
    if before:
        thread.report(assistant(turn_id, before, f"{turn_id}/before"))
    codex_compacts(thread, turn_id, f"{turn_id}/own")
    if used:
        thread.report(call(turn_id, used - 10, used, WINDOW))
    complete(thread, turn_id)
    return turn_id


@pytest.fixture
def thread() -> Conversation:
    """Returns a thread in which Codex compacted turns 1 to 3 at the beginning of turn 4, and then
    turn 5.
    """
    thread = started(turns=3)
    compacted_turn(thread)
    thread.turn()
    return thread


def test_turns_are_counted_from_the_one_that_codex_compacted_in(thread: Conversation) -> None:
    assert seen_turns(thread.state) == 2
    assert seen_turns(started(turns=3).state) == 3


@pytest.mark.parametrize("keep", [3, 4])
def test_a_clear_that_would_bring_compacted_turns_back_is_skipped_and_says_so(
    thread: Conversation, keep: int
) -> None:
    said = thread.when(trim(keep)).rejected(Reason.NOTHING_TO_TRIM).message
    assert said == (
        "Nothing to trim: Codex compacted the context automatically in turn 4, so the model sees 2 turns and Codex's summary of"
        f" what came before. To keep {keep} would bring {keep - 2} turn{'s' * (keep > 3)} back word for word and make the"
        f" context larger. /clear {keep} --force does it all the same."
    )


def test_a_compaction_that_would_bring_them_back_is_skipped_too(thread: Conversation) -> None:
    said = thread.when(compact(3)).rejected(Reason.NOTHING_TO_TRIM).message
    assert said.endswith("/compact --keep 3 --force does it all the same.")


@pytest.mark.parametrize("keep", [0, 1, 2])
def test_turns_that_the_model_sees_are_kept(thread: Conversation, keep: int) -> None:
    thread.clear(keep)
    assert len(thread.state.active_turns) == keep


def test_more_turns_than_there_are_is_the_old_refusal(thread: Conversation) -> None:
    said = thread.when(trim(5)).rejected(Reason.NOTHING_TO_TRIM).said
    assert said == "Nothing to trim: the agent's context holds 5 turns and 5 would be kept."


def test_with_force_turns_that_codex_compacted_come_back_word_for_word(
    thread: Conversation,
) -> None:
    thread.do(trim(3, force=True))
    operation = thread.state.operation
    assert operation is not None
    assert "prompt of turn-3" in str(texts(bootstrap_items(thread.state, thread.state.generation)))
    thread.settle()
    said = ready_message(thread.state, operation, [])
    assert (
        "the last 3 turns kept. 1 turn of them that Codex had compacted came back word for word."
        in said
    )


def test_a_clear_of_pinned_turns_that_codex_compacted_brings_them_back() -> None:
    thread = started()
    compacted_turn(thread)
    pin(thread, 1)
    thread.clear(0)
    assert shown(thread.state) == ["prompt of turn-1"]


def test_the_way_back_from_a_trim_of_what_codex_compacted_is_a_revert(
    thread: Conversation,
) -> None:
    # An undo would need force, and could not bring Codex's summary back.
    thread.clear(1)
    assert undo_command(thread.state) == "/revert 5 --context"
    thread.turn()
    thread.clear(1)
    assert undo_command(thread.state) == "/undo"


def test_a_clear_of_a_turn_in_which_codex_only_compacted_is_no_clear() -> None:
    thread = started(turns=2)
    thread.report(ev.TurnStarted("own", thread.state.generation.number))
    codex_compacts(thread, "own", "own/own")
    complete(thread, "own")
    thread.turn()
    thread.clear(2)
    assert thread.state.active_turn_count == 2
    said = thread.when(trim(1)).rejected(Reason.NOTHING_TO_TRIM).said
    assert said.endswith("the model is shown nothing of the turns that would be pruned.")
    thread.turn()
    thread.clear(1)
    assert thread.state.active_turn_count == 1


def test_a_clear_of_the_turn_in_which_codex_compacted_clears_its_summary() -> None:
    thread = started(turns=0)
    thread.report(ev.TurnStarted("own", thread.state.generation.number))
    codex_compacts(thread, "own", "own/own")
    complete(thread, "own")
    thread.clear(0)
    assert thread.state.active_turn_count == 0


def test_a_turn_of_which_nothing_was_recorded_is_cleared_all_the_same() -> None:
    thread = started(turns=1)
    thread.report(ev.TurnStarted("silent", thread.state.generation.number))
    complete(thread, "silent")
    thread.clear(1)
    assert thread.state.active_turn_count == 1
    thread.clear(0)
    assert thread.state.active_turn_count == 0


def test_turns_that_were_brought_back_whole_count_as_seen(thread: Conversation) -> None:
    thread.clear(3, force=True)
    assert newest_own_compaction(thread.state) is None
    thread.turn()
    thread.clear(3)
    assert len(thread.state.active_turns) == 3


def test_a_turn_that_was_compacted_while_it_ran_is_kept_while_that_does_not_weigh_more() -> None:
    thread = started(turns=2)
    compacted_turn(thread, before="a few words", used=9_000)
    thread.clear(1)
    assert len(thread.state.active_turns) == 1


def test_a_turn_whose_compacted_beginning_weighs_more_than_the_context_is_not_brought_back_unasked() -> (
    None
):
    thread = started(turns=2)
    compacted_turn(thread, before="many words " * 8_000, used=5_000)
    said = thread.when(trim(1)).rejected(Reason.NOTHING_TO_TRIM).message
    assert "in turn 3, while it ran." in said
    assert "where the whole context has 5,000" in said
    thread.clear(1, force=True)
    assert len(thread.state.active_turns) == 1


def test_after_a_revert_to_before_it_there_was_no_compaction(thread: Conversation) -> None:
    thread.write(ev.TurnsRolledBack("turn-4"))
    assert (newest_own_compaction(thread.state), seen_turns(thread.state)) == (None, 3)


@pytest.mark.parametrize("origin", ["adopted", "forked"])
def test_a_thread_that_was_taken_over_continues_in_the_compacted_context(origin: str) -> None:
    thread = given()
    thread.do(internal.CreateThread(THREAD, "/work", origin, b"{}", "codex-thread-1"))
    thread.turns(2)
    compacted_turn(thread)
    assert seen_turns(thread.state) == 1
    asked_for(thread, "turn-3")
    assert seen_turns(thread.state) == 0


def test_a_revert_continues_in_the_compacted_context(thread: Conversation) -> None:
    thread.turns(2)
    thread.clear(1)
    thread.do(client(wire.RevertToCheckpoint, turn_id="turn-5", scope="context"))
    operation = thread.state.open_operation
    assert operation is not None
    thread.advance(Phase.CHECKPOINTING)
    thread.advance(Phase.STARTING)
    thread.advance(Phase.RESTORING)
    thread.do(internal.CompleteRevert(operation.id, "codex-thread-fork", in_provider=True))
    assert thread.state.generation.bootstrap == "provider"
    assert seen_turns(thread.state) == 2
    thread.when(trim(3)).rejected(Reason.NOTHING_TO_TRIM)


def test_an_activity_of_another_kind_and_a_recovery_are_no_compaction_of_codexs() -> None:
    thread = started(turns=8)
    thread.overflow()
    thread.retry()
    thread.report(activity("turn-8", "ls"))
    assert newest_own_compaction(thread.state) is None


def test_an_automatic_compaction_keeps_no_turns_that_codex_had_compacted() -> None:
    policy = Policy(auto="compact", preserve_recent_turns=3)
    thread = started(turns=4, policy=policy)
    compacted_turn(thread, used=91_000)
    assert auto_status(thread.state, policy).state == "due"
    requested = thread.do(internal.TrimWhenDue()).events[1]
    assert isinstance(requested, ev.CompactionRequested)
    assert requested.keep_last_n_turns == 1


def asked_for(thread: Conversation, turn_id: str) -> None:
    """Records a compaction that another program asked Codex for behind the turn."""
    thread.report(ev.EntryRecorded(turn_id, f"codex/{turn_id}", "activity", COMPACTION, ASKED_FOR))


def test_of_a_compaction_behind_a_turn_the_model_sees_only_what_came_after_it() -> None:
    thread = started(turns=3)
    asked_for(thread, "turn-3")
    assert (seen_turns(thread.state), len(thread.state.turns)) == (0, 3)
    thread.turn()
    assert seen_turns(thread.state) == 1
    said = thread.when(trim(2)).rejected(Reason.NOTHING_TO_TRIM).message
    assert said == (
        "Nothing to trim: Codex was asked to compact the context after turn 3, so the model sees 1 turn and Codex's summary of"
        " what came before. To keep 2 would bring 1 turn back word for word and make the context larger. /clear 2 --force does"
        " it all the same."
    )
    thread.clear(1)
    assert newest_own_compaction(thread.state) is None


def test_one_behind_a_turn_that_the_generation_was_given_counts() -> None:
    thread = started(turns=3)
    thread.clear(2)
    asked_for(thread, "turn-3")
    assert seen_turns(thread.state) == 0
    assert compacted_by_codex(thread.state)
    thread.clear(1, force=True)
    assert (seen_turns(thread.state), turns_brought_back(thread.state)) == (1, 1)
    assert not compacted_by_codex(thread.state)


def test_an_undo_says_that_codex_was_asked_to_compact() -> None:
    thread = started(turns=3)
    asked_for(thread, "turn-3")
    thread.turn()
    thread.clear(1)
    said = thread.when(client(wire.UndoTrim)).rejected(Reason.DOES_NOT_FIT).message
    assert said.startswith("Codex was asked to compact the context after turn 3, and what it had")


def test_a_revert_to_the_turn_goes_back_to_behind_the_compaction() -> None:
    thread = started(turns=3)
    asked_for(thread, "turn-2")
    target = target_after(thread.state, 2)
    assert (target.through, target_after(thread.state, 1).through) == ("codex/turn-2", "turn-1")


def test_a_revert_to_before_the_trim_knows_no_compaction_behind_it() -> None:
    thread = started(turns=3)
    thread.clear(2)
    asked_for(thread, "turn-3")
    thread.turn()
    assert target_after(thread.state, 3).through == "turn-3"
    thread.revert(turn_id="turn-3")
    assert (newest_own_compaction(thread.state), seen_turns(thread.state)) == (None, 3)
    assert not thread.state.compacted_behind
    thread.revert(undo=True)
    assert thread.state.compacted_behind == {"turn-3": 2}


def test_after_a_revert_to_an_earlier_turn_there_was_none() -> None:
    thread = started(turns=3)
    asked_for(thread, "turn-3")
    thread.revert(turn_id="turn-2")
    assert seen_turns(thread.state) == 2
