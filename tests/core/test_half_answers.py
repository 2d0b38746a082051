"""An answer in the middle of which its turn ended: people read what was said of it, and the model
does not have it.
"""

import pytest
from trimpoint.core.context.active_context import (
    active_message_count,
    turn_items,
)
from trimpoint.core.context.carried_turns import carried_turn
from trimpoint.core.context.context_size import context_size
from trimpoint.core.context.generations import conversation_items
from trimpoint.core.context.pins import pin_tokens
from trimpoint.core.context.segments import context_segments
from trimpoint.core.model import events as ev
from trimpoint.core.views.history_view import ContextMembership
from trimpoint.core.views.timeline import Timeline
from trimpoint.core.views.unified import unified_records
from trimpoint_protocol import commands as wire
from trimpoint_protocol import unified as u

from tests.core.given import (
    Conversation,
    assistant,
    client,
    raw_message,
    raw_turn,
    started,
    texts,
    trim,
)

HALF, WHOLE = "The first half", "The first half, and the second"


def part(turn_id: str, text: str = HALF) -> ev.EntryRecorded:
    return ev.EntryRecorded(turn_id, "answer", "message", "assistant", text, extent=ev.PART)


def cut_short(thread: Conversation, *, status: str = "interrupted", items: bool = True) -> str:
    """Runs a turn that ends in the middle of its answer. Returns its id."""
    turn_id = thread.begin_turn("go")
    seen = (ev.ContextItemsRecorded(turn_id, (raw_message("user", "go"),)),) if items else ()
    thread.report(*seen, part(turn_id), ev.TurnCompleted(turn_id, status, items_heard=items))
    return turn_id


def shown(thread: Conversation, *expanded: str) -> list[str]:
    rows = Timeline(thread.state, frozenset(expanded))[:]
    return [getattr(row, "text", type(row).__name__) for row in rows]


@pytest.mark.parametrize("items", [True, False])
@pytest.mark.parametrize("status", ["interrupted", "failed"])
def test_it_stays_in_its_turn_and_is_not_given_to_the_model(items: bool, status: str) -> None:
    thread = started()
    first = cut_short(thread, status=status, items=items)
    thread.turn("again", "done")
    assert shown(thread) == ["go", HALF, "again", "done"]
    assert texts(turn_items(thread.state, thread.state.turns[0])) == ["go"]
    assert texts(conversation_items(thread.state)) == ["go", "again", "done"]
    assert [one.preview for one in context_segments(thread.state)] == ["go", "again", "done"]
    assert active_message_count(thread.state) == thread.state.message_count == 3
    membership = ContextMembership(thread.state)
    has = [membership.has(entry) for entry in thread.state.entries]
    assert has == [True, False, True, True]
    messages = [
        one
        for one in unified_records(thread.state, include_compacted=True)
        if isinstance(one, u.MessageRecord)
    ]
    assert [one.active for one in messages] == has
    assert thread.replayed() == thread.state
    assert first == thread.state.turns[0].id


def test_it_is_no_item_of_the_model_although_the_model_said_the_same_later() -> None:
    thread = started()
    turn_id = thread.begin_turn("go")
    thread.report(part(turn_id), assistant(turn_id, HALF, "second"))
    items = raw_turn("go", HALF)
    thread.report(ev.ContextItemsRecorded(turn_id, items), ev.TurnCompleted(turn_id, "failed"))
    [_, answer] = context_segments(thread.state)
    assert answer.entry_ids == ("second",)


def test_it_weighs_nothing() -> None:
    with_part, without = started(turns=1), started(turns=1)
    turn_id = cut_short(with_part, items=False)
    without.begin_turn("go")
    without.report(ev.TurnCompleted(turn_id, "interrupted", items_heard=False))
    for thread in (with_part, without):
        thread.do(client(wire.PinContext, turns=[turn_id]))
    first, second = with_part.state, without.state
    assert pin_tokens(first, first.pins[0]) == pin_tokens(second, second.pins[0])
    for thread in (with_part, without):
        thread.turn("again", "done")
        thread.do(trim(2))
    assert context_size(with_part.state, with_part.policy) == context_size(
        without.state, without.policy
    )


def test_a_trim_prunes_it_with_its_turn_and_does_not_count_it() -> None:
    thread = started()
    cut_short(thread)
    thread.turn("again", "done")
    thread.do(trim(1))
    [point] = thread.state.trim_points
    assert point.pruned_message_count == 1
    assert shown(thread, point.id)[:2] == ["go", HALF]


def test_another_thread_that_begins_with_the_turn_has_it_too() -> None:
    thread = started()
    cut_short(thread)
    carried = list(carried_turn(thread.state, thread.state.turns[0], (), 0))
    assert part(thread.state.turns[0].id) in carried


def test_the_finished_answer_takes_its_place() -> None:
    thread = started()
    turn_id = cut_short(thread, items=False)
    thread.turn("again", "done")
    before = thread.state.message_count
    [recorded] = thread.report(assistant(turn_id, WHOLE, "answer"))
    assert isinstance(recorded, ev.EntryRecorded)
    assert recorded.extent == ev.REST
    assert shown(thread) == ["go", WHOLE, "again", "done"]
    assert thread.state.message_count == before + 1
    assert texts(conversation_items(thread.state)) == ["go", WHOLE, "again", "done"]
    assert not thread.report(assistant(turn_id, WHOLE, "answer"), part(turn_id))
    assert thread.replayed() == thread.state


def test_the_finished_answer_of_a_pruned_turn_counts_as_pruned() -> None:
    thread = started()
    turn_id = cut_short(thread)
    thread.turn("again", "done")
    thread.do(trim(1))
    thread.report(assistant(turn_id, WHOLE, "answer"))
    [point] = thread.state.trim_points
    assert point.pruned_message_count == 2
    assert shown(thread, point.id)[:2] == ["go", WHOLE]


def test_an_answer_that_is_recorded_whole_gets_no_part() -> None:
    thread = started()
    turn_id = thread.begin_turn("go")
    whole, end = assistant(turn_id, WHOLE, "answer"), ev.TurnCompleted(turn_id, "interrupted")
    assert thread.report(whole, part(turn_id), end) == (whole, end)


def test_whole_and_part_in_one_report_are_recorded_once() -> None:
    thread = started()
    turn_id = cut_short(thread)
    whole = assistant(turn_id, WHOLE, "answer")
    assert len(thread.report(whole, whole)) == 1
