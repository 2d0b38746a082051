"""Trims of turns in the middle: what leaves, what stays, what is refused, and the way back."""

from typing import Any

import pytest
from trimpoint.core.context.generations import bootstrap_items, conversation_items
from trimpoint.core.decide.stretches import masked_stretch_of
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Policy, Rejected
from trimpoint.core.views.trim_outcome import called, planned_change, planned_text
from trimpoint.operations.messages import ready_message
from trimpoint_protocol import commands as wire
from trimpoint_protocol.errors import Reason

from tests.core.discards import at_work
from tests.core.given import Conversation, client, started, texts, trim
from tests.core.pinning import act, pin
from tests.core.usage import call, complete


def stretch(first: int | None = None, last: int | None = None, **more: Any) -> wire.TrimContext:
    return trim(from_turn=first, through_turn=last, **more)


def cleared(thread: Conversation, first: int | None, last: int | None) -> None:
    thread.do(stretch(first, last))
    thread.settle()


def shown(thread: Conversation) -> list[str]:
    """Returns the texts that a new session would be given."""
    return texts(bootstrap_items(thread.state, thread.state.generation))


def of_turns(*numbers: int) -> list[str]:
    return [text for n in numbers for text in (f"prompt of turn-{n}", f"answer of turn-{n}")]


@pytest.mark.parametrize(
    ("first", "last", "left"),
    [(2, 3, (1, 4, 5)), (3, 3, (1, 2, 4, 5)), (None, 2, (3, 4, 5)), (4, None, (1, 2, 3))],
)
def test_exactly_these_turns_leave_and_undo_brings_them_back(
    first: int | None, last: int | None, left: tuple[int, ...]
) -> None:
    thread = started(turns=5)
    cleared(thread, first, last)
    assert shown(thread) == of_turns(*left)
    assert called(thread.state.discards[-1]) == "/clear"
    thread.turns(1)
    act(thread, client(wire.UndoTrim))
    assert shown(thread) == of_turns(1, 2, 3, 4, 5, 6)
    act(thread, client(wire.UndoTrim, redo=True))
    assert shown(thread) == of_turns(*left, 6)
    assert thread.replayed() == thread.state


def test_calls_leave_with_their_output_code_changes_too() -> None:
    thread = at_work("one", "two", "three")
    cleared(thread, 2, 2)
    items = b"".join(bootstrap_items(thread.state, thread.state.generation))
    assert b"two" not in items
    assert b"one one" in items
    assert b"three three" in items


def test_trims_before_and_after_know_of_it() -> None:
    thread = started(turns=6)
    thread.clear(5)
    cleared(thread, 3, 4)
    assert shown(thread) == of_turns(2, 5, 6)
    thread.clear(3)
    assert shown(thread) == of_turns(5, 6)
    act(thread, client(wire.UndoTrim))
    act(thread, client(wire.UndoTrim))
    assert shown(thread) == of_turns(2, 3, 4, 5, 6)


def test_a_summary_before_the_turns_stays() -> None:
    thread = started(turns=3)
    thread.compact("in short")
    thread.turns(3)
    cleared(thread, 5, 5)
    assert "in short" in shown(thread)[0]
    assert shown(thread)[1:] == of_turns(4, 6)


def test_what_is_pinned_stays_and_what_was_cleared_is_not_pinned() -> None:
    thread = started(turns=4)
    pin(thread, 2)
    cleared(thread, 2, 3)
    assert shown(thread) == of_turns(1, 2, 4)
    refused = thread.when(client(wire.PinContext, turns=[3])).rejected(Reason.ALREADY_DISCARDED)
    assert "Turn 3 was cleared" in refused.message
    thread.when(stretch(2, 3)).rejected(Reason.NOTHING_TO_TRIM)
    pin(thread, 4)
    assert len(thread.state.pins) == 2


def test_what_was_pinned_since_does_not_leave_by_a_redo() -> None:
    thread = started(turns=4)
    cleared(thread, 2, 3)
    act(thread, client(wire.UndoTrim))
    pin(thread, 3)
    refused = thread.when(client(wire.UndoTrim, redo=True)).rejected(Reason.NOTHING_TO_UNDO)
    assert "Turn 3 has been pinned since" in refused.message
    act(thread, client(wire.UnpinContext))
    act(thread, client(wire.UndoTrim, redo=True))
    assert shown(thread) == of_turns(1, 4)


@pytest.mark.parametrize(
    ("first", "last", "reason", "said"),
    [
        (2, 9, Reason.TURN_NOT_FOUND, "There is no turn 9: the thread has 6 turns."),
        (9, None, Reason.TURN_NOT_FOUND, "There is no turn 9"),
        (6, 5, Reason.USAGE, "6..5 ends before it begins."),
        (None, 2, Reason.USAGE, "4..2 ends before it begins."),
        (1, 2, Reason.NOTHING_TO_TRIM, "turns 1 to 2 left the context earlier"),
        (2, 5, Reason.NOTHING_TO_TRIM, "turns 2 to 3 left the context earlier. It begins with"),
    ],
)
def test_a_stretch_that_is_none_changes_nothing(
    first: int | None, last: int | None, reason: Reason, said: str
) -> None:
    thread = started(turns=3)
    thread.compact("in short")
    thread.turns(3)
    assert said in thread.when(stretch(first, last)).rejected(reason).message


def test_what_left_already_and_what_is_pinned_is_nothing_to_clear() -> None:
    thread = started(turns=4)
    cleared(thread, 2, 3)
    again = thread.when(stretch(2, 3)).rejected(Reason.NOTHING_TO_TRIM)
    assert "all of turns 2 to 3 has left the context already" in again.message
    pin(thread, 4)
    pinned = thread.when(stretch(4, 4)).rejected(Reason.NOTHING_TO_TRIM)
    assert "all of turn 4 is pinned" in pinned.message


def test_it_takes_either_a_stretch_or_what_to_keep() -> None:
    thread = started(turns=4)
    thread.when(stretch(2, 3, keep=1)).rejected(Reason.USAGE)
    thread.when(stretch(2, 3, summary="x")).rejected(Reason.USAGE)


def test_it_waits_for_a_turn_that_runs_and_for_what_only_codex_can_read() -> None:
    thread = started(turns=2)
    thread.begin_turn()
    thread.when(stretch(1, 1)).rejected(Reason.TURN_IN_PROGRESS)
    sealed = started(turns=3)
    sealed.compact(None)
    sealed.turns(2)
    sealed.when(stretch(4, 4)).rejected(Reason.NOT_SUPPORTED)


def test_a_turn_that_was_not_recorded_as_the_model_saw_it_is_refused() -> None:
    thread = started(turns=1)
    turn_id = thread.begin_turn()
    thread.report(ev.TurnCompleted(turn_id, "interrupted", items_heard=False))
    thread.turns(1)
    found = thread.when(stretch(2, 2)).rejected(Reason.NOT_SUPPORTED)
    assert "turn 2 was not recorded" in found.message


def test_a_dry_run_says_what_it_does_and_the_answer_the_same() -> None:
    thread = started(turns=4)
    turn_id = thread.begin_turn()
    thread.report(call(turn_id, 20_000, 20_010))
    complete(thread, turn_id)
    command = stretch(2, 3)
    text = planned_text(thread.state, command)
    assert text.startswith("Would clear turns 2 to 3, 4 entries of about ")
    change = planned_change(thread.state, command, Policy())
    assert change.after is not None
    assert change.after < change.before
    assert planned_text(thread.state, stretch(3, 3)).startswith("Would clear turn 3, 2 entries")
    refused = stretch(9, 9)
    assert "no turn 9" in planned_text(thread.state, refused)
    assert planned_change(thread.state, refused, Policy()).after is not None
    thread.do(command)
    operation = thread.state.operation
    assert operation is not None
    thread.settle()
    assert ready_message(thread.state, operation, []).startswith("Cleared: 4 entries of about ")


def mask(**members: Any) -> wire.MaskContext:
    command = client(wire.MaskContext, **members)
    assert isinstance(command, wire.MaskContext)
    return command


def masked(thread: Conversation, first: int | None, last: int | None) -> None:
    thread.do(mask(from_turn=first, through_turn=last))
    thread.settle()


@pytest.mark.parametrize(
    ("first", "last", "whole"),
    [(2, 3, ("one", "four")), (None, 2, ("three", "four")), (4, None, ("one", "two", "three"))],
)
def test_only_the_output_of_these_turns_is_masked_and_undo_brings_it_back(
    first: int | None, last: int | None, whole: tuple[str, ...]
) -> None:
    thread = at_work("one", "two", "three", "four")
    before = conversation_items(thread.state)
    masked(thread, first, last)
    after = bootstrap_items(thread.state, thread.state.generation)
    changed = [old for old, new in zip(before, after, strict=True) if old != new]
    assert all(b"call_output" in item for item in changed)
    assert [
        word
        for word in ("one", "two", "three", "four")
        if f"{word} {word}".encode() in b"".join(after)
    ] == [*whole]
    act(thread, client(wire.UndoTrim))
    assert bootstrap_items(thread.state, thread.state.generation) == before
    act(thread, client(wire.UndoTrim, redo=True))
    assert bootstrap_items(thread.state, thread.state.generation) == after
    assert thread.replayed() == thread.state


def test_output_that_stays_is_named_and_what_is_masked_is_not_masked_again() -> None:
    thread = at_work("one", "two", "three", "four")
    pin(thread, 2)
    command = mask(from_turn=2, through_turn=3)
    text = planned_text(thread.state, command)
    assert text.startswith("Would mask the output of 1 entry of turns 2 to 3, about ")
    assert text.endswith("tokens. Left as it is: “cat two” is pinned.")
    change = planned_change(thread.state, command, Policy())
    assert change.after is not None
    assert change.after < change.before
    masked(thread, 2, 3)
    found = masked_stretch_of(thread.state, command)
    assert not isinstance(found, Rejected)
    assert found.left_text == "Left as it is: “cat two” is pinned."
    again = thread.when(command).rejected(Reason.NOTHING_TO_TRIM).message
    assert "no output of turns 2 to 3 can become smaller by it. Left as it is: “cat two”" in again


@pytest.mark.parametrize(
    ("members", "reason", "said"),
    [
        ({}, Reason.USAGE, "Say which turns to mask, such as 5 or 4..12."),
        ({"from_turn": 2, "entry_ids": ["x"]}, Reason.USAGE, "which turns to mask, or which"),
        ({"from_turn": 3, "through_turn": 2}, Reason.USAGE, "3..2 ends before it begins."),
        ({"from_turn": 9}, Reason.TURN_NOT_FOUND, "There is no turn 9"),
        ({"through_turn": 3}, Reason.NOTHING_TO_TRIM, "no output of turn 3 can become smaller"),
        ({"from_turn": 1}, Reason.NOTHING_TO_TRIM, "Nothing was masked: turns 1 to 2 left the"),
    ],
)
def test_a_mask_of_turns_that_are_none_or_hold_no_output_changes_nothing(
    members: dict[str, Any], reason: Reason, said: str
) -> None:
    thread = started(turns=3)
    thread.clear(1)
    command = mask(**members)
    assert said in thread.when(command).rejected(reason).message
    if reason is Reason.TURN_NOT_FOUND:  # a dry run says the same
        assert said in planned_text(thread.state, command)
        assert planned_change(thread.state, command, Policy()).after is not None
