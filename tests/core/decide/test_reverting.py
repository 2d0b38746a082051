"""Reverts to a turn: the turns, trim points and context afterwards, in both directions."""

from itertools import product
from typing import Any, NamedTuple

import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st
from trimpoint.core.context.active_context import active_message_count
from trimpoint.core.context.generations import bootstrap_items, items_beside
from trimpoint.core.decide.decider import decide
from trimpoint.core.decide.reverting import resolve_target, target_items
from trimpoint.core.model import commands as internal
from trimpoint.core.model import events as ev
from trimpoint.core.model.operations import Phase
from trimpoint.core.model.state import ThreadState
from trimpoint_protocol import commands as wire
from trimpoint_protocol.errors import Reason

from tests.core.given import (
    Conversation,
    assistant,
    client,
    compact,
    raw_message,
    started,
    texts,
    trim,
)


class Seen(NamedTuple):
    """The state of a thread at one time: its ledger, trim points and context."""

    turns: tuple[str, ...]
    entries: tuple[str, ...]
    points: tuple[str, ...]
    boundaries: tuple[int, ...]
    active: tuple[str, ...]
    summary: str | None
    messages: int


def seen(state: ThreadState) -> Seen:
    points = state.trim_points
    return Seen(
        tuple(turn.id for turn in state.turns),
        tuple(entry.id for entry in state.entries),
        tuple(point.id for point in points),
        tuple(point.entry_index for point in points),
        tuple(turn.id for turn in state.active_turns),
        points[-1].summary if points else None,
        active_message_count(state),
    )


def revert(**arguments: Any) -> wire.RevertToCheckpoint:
    command = client(wire.RevertToCheckpoint, **arguments)
    assert isinstance(command, wire.RevertToCheckpoint)
    return command


TRIMS = ("clear", "clear 1", "clear 2", "compact", "compact 1")


def apply_trim(thread: Conversation, name: str) -> None:
    verb, _, keep = name.partition(" ")
    if verb == "clear":
        thread.clear(int(keep or 0))
    else:
        thread.compact(f"summary {len(thread.records)}", int(keep or 0))


def life(trims: tuple[str, ...]) -> tuple[Conversation, list[Seen]]:
    """Runs three turns before each trim and three after the last, and returns the thread and its
    state after each turn.
    """
    thread = started()
    history = [seen(thread.state)]
    for step in (*trims, None):
        for _ in range(3):
            thread.turn()
            history.append(seen(thread.state))
        if step is not None:
            apply_trim(thread, step)
    return thread, history


@pytest.mark.parametrize("trims", list(product(TRIMS, repeat=2)))
def test_a_revert_to_any_turn_brings_back_what_the_thread_was_then(trims: tuple[str, ...]) -> None:
    _, history = life(trims)
    for count in range(len(history)):
        thread, _ = life(trims)
        if (
            thread.when(revert(turn_count=count, scope="context")).decision[0]
            is Reason.NOTHING_TO_REVERT
        ):
            assert seen(thread.state) == history[count]
            continue
        before = seen(thread.state)
        thread.revert(turn_count=count)
        assert seen(thread.state) == history[count]
        assert thread.replayed() == thread.state
        thread.revert(undo=True)
        assert seen(thread.state) == before
        thread.revert(undo=True)
        assert seen(thread.state) == history[count]


def in_time(entries: tuple[str, ...]) -> list[str]:
    """Returns the entries without those that came after their turn had been recorded."""
    return [entry for entry in entries if "/late " not in entry]


@drawn(
    st.lists(st.sampled_from(["turn", *TRIMS, "revert", "undo", "late entry"]), max_size=25),
    st.randoms(use_true_random=False),
)
def test_any_life_with_reverts_in_it(steps: list[str], chance: Any) -> None:
    thread = started()
    then: dict[tuple[str, ...], Seen] = {(): seen(thread.state)}
    for step in steps:
        state = thread.state
        match step:
            case "turn":
                thread.turn()
                then[tuple(turn.id for turn in thread.state.turns)] = seen(thread.state)
            case "revert":
                count = chance.randint(0, len(state.turns))
                target = then[tuple(turn.id for turn in state.turns[:count])]
                decision = decide(
                    state, revert(turn_count=count, scope="context"), thread.stamp(), thread.policy
                )
                if decision[0] is not Reason.NOTHING_TO_REVERT:
                    thread.revert(turn_count=count)
                now = seen(thread.state)
                assert (now.turns, now.points, now.active, now.summary) == (
                    target.turns,
                    target.points,
                    target.active,
                    target.summary,
                )
                assert in_time(now.entries) == in_time(target.entries)
            case "undo" if state.undo_state is not None:
                before = seen(state)
                thread.revert(undo=True)
                thread.revert(undo=True)
                assert seen(thread.state) == before
            case "late entry" if state.turns:
                turn_id = chance.choice(state.turns).id
                thread.report(assistant(turn_id, f"late {len(thread.records)}"))
            case "undo" | "late entry":
                pass
            case _:
                command = (
                    trim(int(step[-1]) if step[-1].isdigit() else 0)
                    if "clear" in step
                    else compact(force=True)
                )
                if not isinstance(decide(state, command, thread.stamp(), thread.policy)[0], Reason):
                    apply_trim(thread, step if "clear" in step else "compact")
        assert thread.replayed() == thread.state
        for point in thread.state.trim_points:
            assert point.before_entry_id == (
                thread.state.entries[point.entry_index - 1].id if point.entry_index else None
            )


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


# -- items that a client injected behind a turn
# --------------------------------------------------------------

INJECTED, SINCE = raw_message("user", "injected"), raw_message("user", "since")


def inject(thread: Conversation, item: bytes) -> None:
    """Injects an item after the last turn, which has ended."""
    last = thread.state.turns[-1].id
    thread.report(ev.ContextItemsRecorded(last, (item,), injected=1))


def in_context(thread: Conversation) -> list[str]:
    """Returns the texts that a trim which keeps everything would carry over."""
    return texts(items_beside(thread.state, len(thread.state.turns)))


def of_turns(*numbers: int) -> list[str]:
    return [f"{part} of turn-{number}" for number in numbers for part in ("prompt", "answer")]


def test_a_revert_takes_out_what_was_injected_behind_its_turn_and_its_undo_brings_it_back() -> None:
    thread = started(turns=2)
    inject(thread, INJECTED)
    thread.turn()
    assert in_context(thread) == [*of_turns(1, 2), "injected", *of_turns(3)]
    thread.revert(turn_count=2)
    assert in_context(thread) == of_turns(1, 2)
    inject(thread, SINCE)
    assert in_context(thread) == [*of_turns(1, 2), "since"]
    thread.revert(undo=True)
    assert in_context(thread) == [*of_turns(1, 2), "injected", *of_turns(3)]
    thread.revert(undo=True)
    assert in_context(thread) == [*of_turns(1, 2), "since"]
    assert thread.replayed() == thread.state


def test_a_revert_to_the_last_turn_has_something_to_do_when_items_were_injected_since() -> None:
    thread = started(turns=1)
    assert (
        thread.when(revert(turn_count=1, scope="context")).decision[0] is Reason.NOTHING_TO_REVERT
    )
    inject(thread, INJECTED)
    thread.revert(turn_count=1)
    assert in_context(thread) == of_turns(1)


def test_the_context_that_a_revert_aims_at_is_without_what_was_injected_behind_its_turn() -> None:
    thread = started(turns=1)
    inject(thread, INJECTED)
    thread.turn()
    thread.do(revert(turn_count=1, scope="context"))
    assert thread.state.operation is not None
    assert thread.state.operation.reverting is not None
    target = resolve_target(thread.state, thread.state.operation.reverting)
    assert target is not None
    assert texts(target_items(thread.state, target)) == of_turns(1)


def test_the_context_that_an_undo_aims_at_is_with_it_and_without_what_was_injected_since() -> None:
    thread = started(turns=1)
    inject(thread, INJECTED)
    thread.turn()
    thread.revert(turn_count=1)
    inject(thread, SINCE)
    thread.do(revert(undo=True))
    assert thread.state.operation is not None
    assert thread.state.operation.reverting is not None
    target = resolve_target(thread.state, thread.state.operation.reverting)
    assert target is not None
    assert texts(target_items(thread.state, target)) == [*of_turns(1), "injected", *of_turns(2)]


def test_items_that_were_read_again_after_a_revert_say_that_their_turn_was_cut_until_it_is_undone() -> (
    None
):
    thread = started(turns=1)
    inject(thread, INJECTED)
    thread.turn()
    thread.revert(turn_count=1)
    thread.clear()
    first = thread.state.turns[0]
    assert (first.is_cut, first.items) == (True, [])
    thread.revert(undo=True)
    first = thread.state.turns[0]
    assert (first.is_cut, first.items, first.injected) == (False, [], 0)
