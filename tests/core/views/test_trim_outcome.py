"""What a trim answers: the size of the context before and after, and the way back."""

from typing import Any

import pytest
from trimpoint.core.context.context_size import ContextSize, context_size
from trimpoint.core.model.decision import Policy
from trimpoint.core.model.state import Reverting
from trimpoint.core.views.pins_view import pin_names, unpin_command
from trimpoint.core.views.trim_outcome import (
    SUMMARY_TO_COME,
    change_by_discard,
    left_pins,
    planned_change,
    planned_revert_change,
    planned_text,
    token_change,
    tokens_text,
    with_pins,
)
from trimpoint_protocol import commands as wire

from tests.core.given import Conversation, client, started

IDS: dict[str, Any] = {"command_id": "c", "thread_id": "t"}
POLICY = Policy(model_windows={"gpt-5": 1_000})


def size(tokens: int, *, estimated: bool = False, note: str | None = None) -> ContextSize:
    return ContextSize(tokens, is_estimate=estimated, is_unknown=False, note=note)


def pinned(turns: int, *pins: int) -> Conversation:
    thread = started(turns=turns)
    thread.do(client(wire.PinContext, turns=list(pins)))
    thread.do(client(wire.PinContext, note="Python 3.8 only"))
    thread.settle()
    return thread


def revert_to(turn_id: str) -> Reverting:
    return Reverting(turn_id, "context", undo=False, force=False, repository="", commit="")


@pytest.mark.parametrize(
    ("before", "after", "window", "expected"),
    [
        (size(900), size(100), None, "Context: 900 tokens before, 100 after."),
        (
            size(9_000),
            size(1_000, estimated=True),
            10_000,
            "Context: 9,000 tokens before, about 1,000 after (90% → 10% of the window).",
        ),
        (size(900), size(899), 1_000_000, "Context: 900 tokens before, 899 after."),
    ],
)
def test_a_change_in_words_has_the_shares_of_the_window_where_they_differ(
    before: ContextSize, after: ContextSize, window: int | None, expected: str
) -> None:
    assert tokens_text(token_change(before, after, window)) == expected


def test_before_the_summary_exists_only_the_old_size_is_shown() -> None:
    thread = started(turns=2)
    change = planned_change(thread.state, wire.CompactContext(**IDS), POLICY)
    assert (change.after, change.note) == (None, SUMMARY_TO_COME)
    assert tokens_text(change).endswith(f"{change.before:,} tokens now.")


def test_a_note_of_either_size_is_the_note_of_the_change() -> None:
    assert token_change(size(2, note="before"), size(1), None).note == "before"
    assert token_change(size(2, note="before"), size(1, note="after"), None).note == "after"


def test_a_discard_leaves_the_rest_and_never_less_than_nothing() -> None:
    thread = started(turns=2)
    used = context_size(thread.state, POLICY).used
    assert change_by_discard(thread.state, 3, POLICY).after == used - 3
    assert change_by_discard(thread.state, used + 3, POLICY).after == 0


def test_a_new_thread_begins_with_the_pins_if_they_are_taken_along() -> None:
    thread = pinned(3, 1)
    with_them = wire.ArchiveAndNew(**IDS, pins=True)
    without = wire.ArchiveAndNew(**IDS)
    after = planned_change(thread.state, with_them, POLICY).after
    assert after is not None
    assert after > 0
    assert planned_change(thread.state, without, POLICY).after == 0
    assert with_pins(thread.state) == "that begins with 2 pins,"
    assert "start one that begins with 2 pins, with" in planned_text(thread.state, with_them)
    assert "start an empty one with" in planned_text(thread.state, without)
    left = "2 pins stay with the archived thread."
    assert left_pins(thread.state) == left
    assert planned_text(thread.state, without).endswith(left)
    assert left not in planned_text(thread.state, with_them)
    assert left_pins(started().state) == ""


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (wire.TrimContext, "Would clear 2 messages in 1 turn, the last 2 turns kept."),
        (wire.CompactContext, "Would summarize 2 messages in 1 turn, the last 2 turns kept."),
    ],
)
def test_a_dry_run_says_what_goes_and_what_is_kept(
    command: type[wire.TrimContext | wire.CompactContext], expected: str
) -> None:
    planned = command(**IDS, keep_last_n_turns=2)
    assert planned_text(started(turns=3).state, planned) == expected


def test_a_pinned_turn_neither_leaves_nor_comes_back() -> None:
    thread = pinned(3, 1)
    planned = wire.TrimContext(**IDS, keep_last_n_turns=1)
    text = planned_text(thread.state, planned)
    assert text == "Would clear 2 messages in 1 turn, the last turn kept."
    thread.clear(1)
    again = planned_text(thread.state, wire.UndoTrim(**IDS))
    assert "2 messages in 1 turn would be in the context again" in again


def test_a_dry_run_of_an_undo_that_is_refused_says_why() -> None:
    assert "undo" in planned_text(started(turns=1).state, wire.UndoTrim(**IDS))


def test_a_revert_would_leave_what_was_there_then() -> None:
    thread = started(turns=3)
    before = context_size(thread.state, POLICY).used
    there = planned_revert_change(thread.state, revert_to("turn-1"), POLICY)
    assert there.before == before
    assert there.after is not None
    assert 0 < there.after < before
    same = planned_revert_change(thread.state, revert_to("turn-3"), POLICY)
    assert same.after == before


def test_pins_are_called_as_a_person_does_and_removed_by_number() -> None:
    state = pinned(3, 2).state
    ids = [pin.id for pin in state.pins]
    assert pin_names(state, ids) in ("turn 2, the note", "the note, turn 2")
    assert unpin_command(state, ids) == "/unpin 1 2"
