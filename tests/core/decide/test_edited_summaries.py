"""A person's text in the place of the summary that the context begins with."""

from trimpoint.core.context.generations import conversation_items
from trimpoint.core.model import commands as internal
from trimpoint.core.model import events as ev
from trimpoint.core.views.summary_view import summary_said
from trimpoint.core.views.trim_outcome import called, came_back
from trimpoint.operations.messages import ready_message
from trimpoint_protocol import commands as wire
from trimpoint_protocol.errors import Reason

from tests.core.given import Conversation, client, started, texts
from tests.core.overflowing import LONG, answer, ask, call, output
from tests.core.pinning import act, pin


def shown(thread: Conversation) -> list[str]:
    return texts(conversation_items(thread.state))


def summary(text: str, messages: int) -> str:
    return f"<conversation-summary messages={messages}>{text}</conversation-summary>"


def of_turns(*numbers: int) -> list[str]:
    return [text for n in numbers for text in (f"prompt of turn-{n}", f"answer of turn-{n}")]


def message(thread: Conversation) -> str:
    operation = thread.state.operation
    assert operation is not None
    return ready_message(thread.state, operation, [])


def edit(thread: Conversation, text: str) -> None:
    act(thread, client(wire.EditSummary, text=text))


def test_only_the_summary_changes_and_undo_brings_the_former_one_back() -> None:
    thread = started(turns=4)
    pin(thread, 1)
    thread.compact("theirs", keep=1)
    thread.turns(1)
    before = shown(thread)
    edit(thread, "mine")
    assert shown(thread) == [summary("mine", 6), *of_turns(1), *before[3:]]
    assert message(thread).startswith("The context begins with your summary now.")
    point = thread.state.trim_points[-1]
    assert called(point) == "the edited summary"
    assert came_back(thread.state, point) == "the former summary is in the context again"
    act(thread, client(wire.UndoTrim))
    assert shown(thread) == before
    act(thread, client(wire.UndoTrim, redo=True))
    assert shown(thread)[0] == summary("mine", 6)
    assert message(thread).startswith("Done again. The context begins with your summary")
    assert thread.replayed() == thread.state
    edit(thread, "mine, again")
    assert shown(thread)[0] == summary("mine, again", 6)
    thread.clear()
    assert shown(thread) == of_turns(1)


def test_a_summary_without_turns_behind_it_is_edited() -> None:
    thread = started(turns=2)
    thread.compact("theirs")
    edit(thread, "mine")
    assert shown(thread) == [summary("mine", 4)]
    thread.turns(1)
    assert shown(thread) == [summary("mine", 4), *of_turns(3)]
    thread.turns(1)
    thread.revert(turn_count=3)
    assert shown(thread) == [summary("mine", 4), *of_turns(3)]


def test_a_summary_that_made_room_for_a_turn_covers_as_much_of_it_as_before() -> None:
    thread = started(turns=5)
    half = [ask("long"), call("a"), output("a"), answer("half"), call("b"), output("b")]
    thread.turn("long", LONG, items=[*half, answer(LONG)])
    turn_id = thread.overflow()
    thread.retry("in short")
    thread.report(ev.TurnCompleted(turn_id, "completed"))
    before = shown(thread)
    skipped = thread.state.generation.skipped_items
    edit(thread, "mine")
    assert thread.state.generation.skipped_items == skipped > 0
    assert shown(thread)[1:] == before[1:]


def test_what_is_no_summary_or_no_other_one_is_refused() -> None:
    thread = started(turns=2)
    thread.when(client(wire.EditSummary, text="mine")).rejected(Reason.NOTHING_TO_TRIM)
    thread.compact("theirs")
    refused = thread.when(client(wire.EditSummary, text=" \n")).rejected(Reason.USAGE)
    assert refused.hints[0].command == "/clear"
    thread.when(client(wire.EditSummary, text="theirs")).rejected(Reason.NOTHING_TO_TRIM)
    thread.turns(2)
    thread.compact(None)
    sealed = thread.when(client(wire.EditSummary, text="mine")).rejected(Reason.NOT_SUPPORTED)
    assert summary_said(thread.state).text == sealed.said


def test_all_summaries_are_shown_in_their_order() -> None:
    thread = started(turns=6)
    nothing = summary_said(thread.state)
    assert (nothing.text, nothing.hints[0].command) == (
        "The context begins with no summary.", "/compact",
    )  # fmt: skip
    operation_id = thread.begin_compaction(from_turn=4, through_turn=5)
    thread.do(internal.CompleteCompaction(operation_id, "middle", 1_500))
    thread.settle()
    said = summary_said(thread.state)
    assert said.text == "The context begins with no summary.\n\nFor turns 4 to 5:\n\nmiddle"
    thread.compact("theirs", keep=3)
    said = summary_said(thread.state)
    assert said.text == "It stands for 6 messages:\n\ntheirs\n\nFor turns 4 to 5:\n\nmiddle"
    assert said.hints[0].command == "/summary edit"
    thread.clear(1)
    assert summary_said(thread.state).text == "The context begins with no summary."
