"""Pins stay in the context word for word, whatever is trimmed, in their place and once."""

import random
from typing import Any

import pytest
from trimpoint.core.commands.parsing import UsageError, parse
from trimpoint.core.commands.pins import Pin, Pins, Unpin
from trimpoint.core.context.context_size import context_size
from trimpoint.core.context.generations import conversation_items, items_beside
from trimpoint.core.context.inspection import inspect_context
from trimpoint.core.context.pins import pinned_turns
from trimpoint.core.context.segments import context_segments
from trimpoint.core.decide.overflow import plan_overflow
from trimpoint.core.decide.reverting import has_other_pins, target_after
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import DiscardPolicy, Policy
from trimpoint.core.model.state import ThreadState
from trimpoint.core.views.pins_view import pins_text, pins_weight
from trimpoint.core.views.timeline import Timeline
from trimpoint.core.views.trim_outcome import planned_change
from trimpoint.core.views.view import read_model
from trimpoint.operations.messages import ready_message
from trimpoint_protocol import commands as wire
from trimpoint_protocol.errors import Reason
from trimpoint_protocol.readmodel import ContextTrimPointDivider

from tests.core.given import (
    Conversation,
    activity,
    client,
    started,
    texts,
    trim,
)
from tests.core.pinning import act, pin, said, shown, unpin

NOTE = "<pinned-note>Python 3.8 only</pinned-note>"
WINDOW = Policy(model_windows={"gpt-5": 1_000})


def summary(thread: Conversation) -> str:
    generation = thread.state.generation
    count, text = generation.summarized_messages, generation.summary
    return f"<conversation-summary messages={count}>{text}</conversation-summary>"


# --- what stays -------------------------------------------------------------------------------


def test_a_pinned_turn_survives_a_clear_and_stands_before_the_kept_turns() -> None:
    thread = started(turns=4)
    pin(thread, 3, 1)
    assert (shown(thread.state), thread.state.generation.number) == (said(1, 2, 3, 4), 1)
    thread.clear(1)
    assert shown(thread.state) == said(1, 3, 4)
    thread.turn()
    thread.clear(0)
    assert shown(thread.state) == said(1, 3)
    thread.clear(0) if thread.state.active_turns else None
    assert thread.replayed() == thread.state


def test_a_pinned_turn_that_is_kept_stands_once() -> None:
    thread = started(turns=3)
    pin(thread, 3)
    thread.clear(2)
    assert shown(thread.state) == said(2, 3)
    assert thread.state.generation.pins == ()


def test_pins_stand_behind_the_summary() -> None:
    thread = started(turns=3)
    pin(thread, 2)
    thread.compact("in short", 1)
    assert shown(thread.state) == [summary(thread), *said(2, 3)]


def test_pinned_turns_are_kept_beside_a_sealed_summary() -> None:
    thread = started(turns=3)
    pin(thread, 2)
    thread.begin_compaction(1, force=True)
    assert texts(items_beside(thread.state, 1)) == said(2, 3)
    assert texts(items_beside(thread.state, 0)) == said(2)


def test_a_turn_that_was_trimmed_away_comes_back_when_it_is_pinned_and_goes_when_it_is_not() -> (
    None
):
    thread = started(turns=3)
    thread.clear(1)
    pin(thread, 1)
    assert shown(thread.state) == said(1, 3)
    assert thread.state.generation.reason == "pin"
    unpin(thread)
    assert shown(thread.state) == said(3)


def test_a_note_is_carried_as_a_message_of_the_person_from_the_start() -> None:
    thread = started(turns=2)
    pin(thread, note="Python 3.8 only")
    assert shown(thread.state) == [NOTE, *said(1, 2)]
    thread.clear()
    assert shown(thread.state) == [NOTE]
    thread.turn()
    pin(thread, 1)
    assert shown(thread.state) == [*said(1), NOTE, *said(3)]
    unpin(thread, 2)
    assert shown(thread.state) == [*said(1), *said(3)]


def test_pins_survive_an_undo_and_stand_once_then_too() -> None:
    thread = started(turns=3)
    pin(thread, 1)
    thread.clear(1)
    act(thread, client(wire.UndoTrim))
    assert shown(thread.state) == said(1, 2, 3)
    act(thread, client(wire.UndoTrim, redo=True))
    assert shown(thread.state) == said(1, 3)


def test_pins_survive_a_revert_and_go_with_a_turn_that_is_taken_back() -> None:
    thread = started(turns=4)
    pin(thread, 1)
    thread.clear(1)
    thread.turn()
    pin(thread, 5)
    assert not has_other_pins(thread.state, target_after(thread.state, 5))
    thread.revert(turn_count=4)
    assert [one.turn for one in read_model(thread.state, Policy()).pins] == [1]
    thread.revert(undo=True)
    assert [one.turn for one in read_model(thread.state, Policy()).pins] == [1, 5]
    thread.clear(0)
    assert shown(thread.state) == said(1, 5)


def test_a_revert_to_where_other_pins_stood_is_put_together_from_the_ledger() -> None:
    thread = started(turns=3)
    thread.clear(1)
    thread.turn()
    pin(thread, 1)
    thread.turn()
    assert has_other_pins(thread.state, target_after(thread.state, 4))
    assert not has_other_pins(thread.state, target_after(thread.state, 0))


def test_a_revert_to_before_a_pinned_turn_does_not_carry_it() -> None:
    thread = started(turns=3)
    pin(thread, 3)
    thread.revert(turn_count=1)
    assert shown(thread.state) == said(1)
    assert pinned_turns(thread.state) == []


def test_a_pinned_turn_is_not_discarded() -> None:
    thread = started(turns=3, policy=Policy(discard=DiscardPolicy(floor_tokens=1)))
    pin(thread, 2)
    named = client(wire.DiscardContext, entry_ids=["turn-2/user/prompt of turn-2"])
    refused = thread.when(named).rejected(Reason.ENTRY_PROTECTED)
    assert "is pinned" in refused.message
    thread.clear(1)
    carried, *_ = context_segments(thread.state)
    assert (carried.short_id, carried.protected, carried.preview) == (
        "p1",
        "pinned",
        "prompt of turn-2",
    )


def test_an_overflow_keeps_the_pins_behind_its_summary() -> None:
    thread = started(turns=8)
    pin(thread, 1)
    pin(thread, note="Python 3.8 only")
    turn_id = thread.overflow()
    thread.retry("in short")
    assert shown(thread.state)[:3] == [summary(thread), *said(1)]
    assert NOTE in shown(thread.state)
    assert thread.state.running_turn_id == turn_id


def test_an_overflow_does_not_divide_a_pinned_turn() -> None:
    def planned(*pins: int) -> Any:
        thread = started(turns=6)
        for number in range(7, 9):
            thread.turn(f"prompt {number}", "answer " * 40)
        if pins:
            pin(thread, *pins)
        turn_id = thread.overflow()
        return plan_overflow(thread.state, turn_id)

    free = planned()
    assert free is not None
    kept = int(free.first_kept_turn_id.removeprefix("turn-"))
    held = planned(kept)
    assert held is not None
    assert held.skipped_items == 0


# --- what is refused --------------------------------------------------------------------------


def refused(thread: Conversation, reason: Reason, command: Any) -> str:
    return thread.when(command).rejected(reason).message


def test_pin_refuses_turns_that_do_not_exist_and_notes_that_are_too_long() -> None:
    refused(started(), Reason.TURN_NOT_FOUND, client(wire.PinContext))
    thread = started(turns=2)
    refused(thread, Reason.TURN_NOT_FOUND, client(wire.PinContext, turns=[3]))
    refused(thread, Reason.TURN_NOT_FOUND, client(wire.PinContext, turns=["another"]))
    refused(thread, Reason.USAGE, client(wire.PinContext, note="x" * 2_001))
    for pasted in ("h1.1", "m1.2", "9f4d0b20:h3.1"):
        refused(thread, Reason.USAGE, client(wire.PinContext, note=pasted))
    refused(thread, Reason.NOTHING_TO_UNDO, client(wire.UnpinContext))
    pin(thread, 1)
    refused(thread, Reason.ENTRY_NOT_FOUND, client(wire.UnpinContext, pins=[2]))
    refused(thread, Reason.ENTRY_NOT_FOUND, client(wire.UnpinContext, pins=["another"]))
    thread.do(client(wire.ArchiveThread))
    refused(thread, Reason.THREAD_ARCHIVED, client(wire.PinContext))


def test_a_turn_is_pinned_by_an_entry_of_it() -> None:
    thread = started(turns=3)
    short = thread.state.id[-8:]
    for number, name in enumerate(("h1.1", f"{short}:h2.1"), 1):
        pin(thread, name)
        assert thread.state.pins[-1].turn_id == thread.state.turns[number - 1].id
    refused(thread, Reason.TURN_NOT_FOUND, client(wire.PinContext, turns=["h9.1"]))


def test_pins_hold_a_share_of_the_window_unless_forced() -> None:
    thread = started(policy=WINDOW)
    thread.turn("word " * 300)
    message = refused(thread, Reason.DOES_NOT_FIT, client(wire.PinContext))
    assert "25% of the window, 250" in message
    pin(thread, force=True)
    assert "of the window" in pins_weight(thread.state, WINDOW)


def test_a_turn_whose_items_are_not_at_hand_is_weighed_by_its_entries() -> None:
    thread = started(policy=WINDOW)
    turn_id = thread.turn(activities=["ls"])
    bare = activity(turn_id, "no detail", "bare")
    thread.report(ev.EntryRecorded(turn_id, "bare", "activity", bare.role, bare.text))
    thread.clear()
    assert not thread.state.turns[0].items
    pin(thread, 1)
    assert read_model(thread.state, WINDOW).pins[0].est_tokens > 10


def test_pinning_what_is_pinned_changes_nothing() -> None:
    thread = started(turns=2)
    pin(thread, 2)
    assert thread.do(client(wire.PinContext)).events == ()


def test_a_turn_of_the_context_can_be_pinned_while_the_agent_works_but_a_note_not() -> None:
    thread = started(turns=1)
    thread.begin_turn()
    pin(thread, 1)
    refused(thread, Reason.TURN_IN_PROGRESS, client(wire.PinContext, note="x"))


def test_beside_a_sealed_summary_a_pin_waits_for_the_next_trim() -> None:
    thread = started(turns=2)
    thread.compact(None)
    pin(thread, 1)
    assert thread.state.generation.pins == ()
    unpin(thread)
    pin(thread, 1)
    thread.turns(2)
    thread.clear(1)
    assert shown(thread.state) == said(1, 4)


# --- what is shown ----------------------------------------------------------------------------


def test_the_pins_are_listed_with_what_they_weigh() -> None:
    thread = started(turns=2)
    nothing = pins_text(thread.state, Policy())
    assert nothing.text == "Nothing is pinned."
    assert [one.command for one in nothing.hints] == ["/pin N", "/pin SENTENCE"]
    pin(thread, 1)
    pin(thread, note="Python 3.8 only")
    lines = pins_text(thread.state, WINDOW).text.splitlines()
    assert lines[0].startswith("2 pins of about ")
    assert lines[1].startswith("  1. turn 1: prompt of turn-1, about ")
    assert lines[2].startswith("  2. note: Python 3.8 only, about ")
    first, note = read_model(thread.state, Policy()).pins
    assert (first.number, first.turn, first.carried, note.turn, note.carried) == (
        1,
        1,
        False,
        None,
        True,
    )


def test_a_divider_says_how_many_of_its_turns_are_pinned() -> None:
    thread = started(turns=4)
    pin(thread, 1)
    thread.clear(2)
    thread.clear(1)
    entries = Timeline(thread.state, frozenset())
    counts = [one.pinned_count for one in entries if isinstance(one, ContextTrimPointDivider)]
    assert counts == [1, 0]


def test_a_clear_does_not_count_what_is_pinned_as_gone() -> None:
    thread = started(turns=3)
    pin(thread, 1)
    thread.clear(1)
    operation = thread.state.operation
    assert operation is not None
    said = ready_message(thread.state, operation, [])
    assert said.startswith("Context cleared: 2 messages in 1 turn left it, the last turn kept.")


def test_the_x_ray_marks_what_is_pinned() -> None:
    thread = started(turns=3)
    pin(thread, 1, 3)
    pin(thread, note="Python 3.8 only")
    thread.clear(1)
    found = inspect_context(thread.state, conversation_items(thread.state))
    assert [item.is_pinned for item in found] == [True] * 5
    assert [item.item_class.value for item in found] == [
        "user", "assistant", "pinned", "user", "assistant",
    ]  # fmt: skip


def test_a_dry_run_counts_the_pins() -> None:
    thread = started(turns=3)
    pin(thread, 1)
    after = planned_change(thread.state, trim(1), Policy()).after
    thread.clear(1)
    assert context_size(thread.state, Policy()).used == after


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/pin", Pin()),
        ("/pin 3 5", Pin((3, 5))),
        ("/pin 3 the rules", Pin((3,), note="the rules")),
        ("/pin Python 3.8 only", Pin(note="Python 3.8 only")),
        ("/pin --force 0 is a note", Pin(note="0 is a note", force=True)),
    ],
)
def test_pin_takes_turns_and_then_a_note(text: str, expected: Pin) -> None:
    assert parse(text) == expected


def test_unpin_takes_numbers_and_pins_nothing() -> None:
    assert parse("/unpin 2 1") == Unpin((2, 1))
    assert parse("/unpin") == Unpin()
    assert parse("/pins") == Pins()
    for text in ("/unpin all", "/pins 1", "/pin --all"):
        assert isinstance(parse(text), UsageError)


# --- random lives -----------------------------------------------------------------------------


def all_pinned(state: ThreadState) -> bool:
    pins = {one.turn_id for one in read_model(state, Policy()).pins}
    return all(turn.id in pins for turn in state.active_turns[:-1])


@pytest.mark.parametrize("seed", range(40))
def test_in_any_life_each_pinned_turn_is_in_the_context_once_and_in_order(seed: int) -> None:
    chance, thread = random.Random(seed), started(turns=2)
    for _ in range(30):
        step = chance.choice(["turn", "turn", "clear", "compact", "undo", "revert", "pin", "unpin"])
        count = len(thread.state.turns)
        match step:
            case "turn":
                thread.turn()
            case "clear" if thread.state.active_turn_count > 1 and not all_pinned(thread.state):
                thread.clear(chance.randint(0, 1))
            case "compact" if thread.state.active_turn_count > 1:
                thread.compact(f"summary {count}", chance.randint(0, 1))
            case "undo" if thread.state.trim_points:
                act(thread, client(wire.UndoTrim))
            case "revert" if count > 2:
                thread.revert(turn_count=chance.randint(1, count - 1))
            case "pin" if count:
                pin(thread, chance.randint(1, count))
            case "unpin" if read_model(thread.state, Policy()).pins:
                unpin(thread)
            case _:
                pass
        numbers = {turn.id: int(turn.id.removeprefix("turn-")) for turn in thread.state.turns}
        pins = [one.turn_id for one in read_model(thread.state, Policy()).pins]
        active = [turn.id for turn in thread.state.active_turns]
        wanted = [turn for turn in numbers if turn in pins and turn not in active] + active
        texts_of = [text for turn_id in wanted for text in said(numbers[turn_id])]
        assert [text for text in shown(thread.state) if "summary" not in text] == texts_of
    assert thread.replayed() == thread.state
