"""What an overflow has cut off within a turn is shown as out of the context everywhere."""

import pytest
from trimpoint.core.model import events as ev
from trimpoint.core.views.history_view import ContextMembership
from trimpoint.core.views.timeline import Timeline
from trimpoint.core.views.unified import unified_records
from trimpoint_protocol import commands as wire
from trimpoint_protocol.readmodel import TimelineActivity, TimelineMessage
from trimpoint_protocol.unified import MessageRecord

from tests.core.given import Conversation, activity, assistant, client, started
from tests.core.overflowing import LONG, answer, ask, call, output

LONG_TURN = (ask("long"), call("a"), output("a"), answer("half"), call("b"), output("b"))


@pytest.fixture
def thread() -> Conversation:
    """Returns a thread of which an overflow has summarized the sixth turn up to the word "half"."""
    thread = started(turns=5)
    turn_id = thread.begin_turn("long")
    thread.report(
        activity(turn_id, "ls a", "a"),
        activity(turn_id, "a change without an item", "a/change"),
        assistant(turn_id, "half", "half"),
        activity(turn_id, "ls b", "b"),
        assistant(turn_id, LONG, "end"),
        ev.ContextItemsRecorded(turn_id, (*LONG_TURN, answer(LONG))),
        ev.TurnCompleted(turn_id, "completed"),
    )
    thread.overflow()
    assert thread.retry().skipped_items == 4
    thread.report(ev.TurnCompleted("codex-turn", "completed"))
    return thread


CUT, KEPT = ["long", "ls a", "a change without an item", "half"], ["ls b", LONG]


def shown(thread: Conversation) -> tuple[list[str], list[str]]:
    """Returns the entries of the sixth turn in the timeline: those out of the context, those in it."""
    turn_id = thread.state.turns[5].id
    entries = [
        (one.trimmed, one.text if isinstance(one, TimelineMessage) else one.title)
        for one in Timeline(thread.state, frozenset())
        if isinstance(one, TimelineMessage | TimelineActivity) and one.turn_id == turn_id
    ]
    return [text for gone, text in entries if gone], [text for gone, text in entries if not gone]


def test_the_timeline_marks_what_was_cut_off(thread: Conversation) -> None:
    assert shown(thread) == (CUT, KEPT)


def test_each_mark_names_the_trim_point(thread: Conversation) -> None:
    [point] = thread.state.trim_points
    entries = Timeline(thread.state, frozenset())
    marked = [one for one in entries if isinstance(one, TimelineMessage) and one.trimmed]
    assert {one.trim_point_id for one in marked} == {point.id}


def test_a_search_says_that_it_is_not_in_the_context(thread: Conversation) -> None:
    context, turn_id = ContextMembership(thread.state), thread.state.turns[5].id
    there = {one.text: context.has(one) for one in thread.state.entries if one.turn_id == turn_id}
    assert there == dict.fromkeys(CUT, False) | dict.fromkeys(KEPT, True)


def test_an_export_of_the_context_leaves_it_out(thread: Conversation) -> None:
    def texts(*, include_compacted: bool) -> list[str]:
        records = unified_records(thread.state, include_compacted=include_compacted)
        return [one.text for one in records if isinstance(one, MessageRecord)]

    assert not {"long", "half"} & set(texts(include_compacted=False))
    assert {"long", "half"} < set(texts(include_compacted=True))


def test_it_is_in_the_context_again_once_the_trim_is_undone(thread: Conversation) -> None:
    thread.do(client(wire.UndoTrim))
    thread.settle()
    assert shown(thread) == ([], [*CUT, *KEPT])


def test_a_later_generation_of_the_same_context_marks_it_too(thread: Conversation) -> None:
    thread.do(client(wire.PinContext, note="Tabs"))
    thread.settle()
    assert shown(thread) == (CUT, KEPT)


def test_the_prompt_of_a_turn_that_is_tried_again_stays_in_the_context() -> None:
    thread = started(turns=5)
    turn_id = thread.begin_turn("go")
    work = (ask("go"), call("a"), output("a"), answer("half"), call("b"), output("b"))
    thread.report(
        activity(turn_id, "ls a", "a"),
        assistant(turn_id, "half", "half"),
        activity(turn_id, "ls b", "b"),
        ev.ContextItemsRecorded(turn_id, (*work, answer(LONG))),
    )
    thread.fail_to_fit(turn_id)
    assert thread.retry().skipped_items == 3
    thread.report(ev.ContextItemsRecorded("codex-turn", (ask("go"), answer("done"))))
    assert shown(thread)[0] == ["ls a", "half"]


def test_nothing_is_marked_where_the_cut_lies_between_turns() -> None:
    thread = started(turns=8)
    thread.overflow()
    thread.retry()
    entries = Timeline(thread.state, frozenset())
    assert not any(getattr(one, "trimmed", False) for one in entries)
