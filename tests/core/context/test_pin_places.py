"""Where notes and pinned turns stand among what is carried (docs/spec/context.md, Pins)."""

from trimpoint.core.context.carried_turns import carried_pins_of
from trimpoint.core.context.pins import standing_pins
from trimpoint.core.decide.reverting import target_after, target_pins
from trimpoint.core.model import events as ev

from tests.core.given import started
from tests.core.pinning import pin, said, shown


def test_a_note_stands_before_the_turn_that_came_next_when_it_was_made() -> None:
    thread = started(turns=1)
    pin(thread, note="before turn 2")
    thread.turns(2)
    pin(thread, 1, 2)
    thread.clear()
    assert shown(thread.state) == [
        *said(1), "<pinned-note>before turn 2</pinned-note>", *said(2),
    ]  # fmt: skip


def test_a_note_from_before_a_revert_stays_before_later_ones_until_the_revert_is_undone() -> None:
    thread = started(turns=3)
    pin(thread, note="earlier")
    thread.revert(turn_count=1)
    pin(thread, note="later")
    assert [one.note for one in standing_pins(thread.state)] == ["earlier", "later"]
    thread.turns(2)
    assert [one.place for one in standing_pins(thread.state)] == [1, 1]
    thread.revert(undo=True)
    assert {one.note: one.place for one in standing_pins(thread.state)} == {
        "earlier": 3, "later": 1,
    }  # fmt: skip


def test_notes_stand_before_the_pinned_turns_of_a_new_thread_also_after_its_first_clear() -> None:
    thread = started(turns=2)
    pin(thread, note="a note")
    pin(thread, 1)
    events = carried_pins_of(thread.state, "thread-2")
    assert isinstance(events[0], ev.ContextPinned)


def test_a_context_of_an_earlier_turn_carries_the_pins_that_are_not_in_its_turns() -> None:
    thread = started(turns=3)
    pin(thread, 1)
    thread.clear(1)
    thread.turns(2)
    [pinned] = standing_pins(thread.state)
    assert target_pins(thread.state, target_after(thread.state, 4)) == (pinned.id,)
    assert target_pins(thread.state, target_after(thread.state, 2)) == ()
