"""Drafts of summaries, and what a person makes of them: nothing changes before one is accepted."""

import pytest
from trimpoint.core.commands.accept import Accept, accepting
from trimpoint.core.commands.declaration import Done
from trimpoint.core.commands.handoff import Handoff
from trimpoint.core.context.generations import conversation_items
from trimpoint.core.decide.queueing import next_prompt
from trimpoint.core.evolve.evolve import replay
from trimpoint.core.model import events as ev
from trimpoint.core.model.operations import DRAFT, Phase
from trimpoint.core.model.state import Draft
from trimpoint.core.views.timeline_text import timeline_text
from trimpoint.core.views.view import read_model
from trimpoint.operations.messages import failure_message
from trimpoint.threads.replacements import successor_of
from trimpoint_protocol import commands as wire
from trimpoint_protocol.errors import Reason

from tests.core.given import Conversation, client, compact, raw_message, started, texts


def drafted(
    thread: Conversation, keep: int | None = None, text: str = "S", **more: object
) -> Draft:
    operation_id = thread.begin_compaction(keep, edit=True, force=True, **more)
    written = ev.DraftWritten(thread.state.id, operation_id, text, 1_500)
    thread.advance(Phase.READY, written)
    assert thread.state.draft is not None
    return thread.state.draft


def shown(thread: Conversation) -> list[str]:
    """Returns the texts that the model is sent next, a summary as what it says."""
    found = texts(conversation_items(thread.state))
    return [text.split(">")[1].split("<")[0] if text[:2] == "<c" else text for text in found]


def of_turns(*numbers: int) -> list[str]:
    return [text for n in numbers for text in (f"prompt of turn-{n}", f"answer of turn-{n}")]


def accept(thread: Conversation, text: str | None = None, draft_id: str | None = None) -> None:
    thread.do(client(wire.AcceptDraft, text=text, draft_id=draft_id))
    thread.settle()


def test_a_draft_changes_nothing_before_it_is_accepted_and_undo_takes_it_back() -> None:
    thread = started(turns=4)
    draft = drafted(thread, 1)
    assert (draft.operation.kind, draft.operation.compaction_keep) == (DRAFT, 1)
    assert shown(thread) == of_turns(1, 2, 3, 4)
    assert (thread.state.trim_points, thread.state.generation.number) == ([], 1)
    accept(thread, draft_id=draft.id)
    assert shown(thread) == ["S", *of_turns(4)]
    assert thread.state.draft is None
    assert accepting(draft) == f"/accept draft:{draft.id[-4:]}"
    [point] = thread.state.trim_points
    assert (point.trigger, point.pruned_turn_count) == ("compact", 3)
    operation = thread.state.operation
    assert operation is not None
    assert operation.kind == "compact"
    assert thread.replayed() == thread.state
    thread.do(client(wire.UndoTrim))
    thread.settle()
    assert shown(thread) == of_turns(1, 2, 3, 4)
    again = thread.when(client(wire.AcceptDraft)).rejected(Reason.USAGE)
    assert "no draft" in again.said


def test_what_the_person_wrote_stands_in_the_place_of_what_the_model_wrote() -> None:
    thread = started(turns=2)
    drafted(thread, guidance="the names", model="small")
    accept(thread, "--- mine\n")
    assert shown(thread) == ["--- mine\n"]
    [summary] = [
        one
        for record in thread.records
        for one in record.events
        if isinstance(one, ev.ContextSummarized)
    ]
    assert (summary.model, summary.guidance) == ("small", "the names")
    assert summary.tokens_before > 0


def test_turns_that_ran_since_the_draft_stay_word_for_word() -> None:
    thread = started(turns=3)
    drafted(thread, 1)
    thread.turns(2)
    accept(thread)
    assert shown(thread) == ["S", *of_turns(3, 4, 5)]


def test_a_draft_of_turns_in_the_middle_stands_in_their_place() -> None:
    thread = started(turns=4)
    drafted(thread, from_turn=2, through_turn=3)
    thread.turns(1)
    accept(thread, "mine")
    assert shown(thread) == [*of_turns(1), "mine", *of_turns(4, 5)]
    assert thread.state.discards[-1].summary == "mine"
    assert replay(thread.records) == thread.state


def test_a_draft_ends_with_the_context_that_it_was_made_of() -> None:
    thread = started(turns=4)
    draft = drafted(thread)
    thread.clear(2)
    refused = thread.when(client(wire.AcceptDraft, draft_id=draft.id)).rejected(Reason.USAGE)
    assert refused.hints[0].command == "/compact --edit"


def test_a_draft_whose_last_turn_was_taken_back_is_not_accepted() -> None:
    thread = started(turns=3)
    drafted(thread)
    thread.report(ev.TurnsRolledBack("turn-3"))
    thread.when(client(wire.AcceptDraft)).rejected(Reason.USAGE)


@pytest.mark.parametrize("since", [0, 1])
def test_what_was_injected_since_the_draft_is_not_lost(since: int) -> None:
    thread = started(turns=2)
    drafted(thread)
    thread.report(ev.ItemsInjected((raw_message("user", "injected"),)))
    thread.turns(since)
    refused = thread.when(client(wire.AcceptDraft)).rejected(Reason.USAGE)
    assert "injected" in refused.said


def test_another_draft_takes_the_place_of_the_one_before() -> None:
    thread = started(turns=3)
    first = drafted(thread)
    drafted(thread, text="T")
    refused = thread.when(client(wire.AcceptDraft, draft_id=first.id)).rejected(Reason.USAGE)
    assert "Another draft" in refused.said
    accept(thread)
    assert shown(thread) == ["T"]


@pytest.mark.parametrize("text", ["", " \n"])
def test_an_empty_text_is_not_accepted(text: str) -> None:
    thread = started(turns=2)
    drafted(thread)
    thread.when(client(wire.AcceptDraft, text=text)).rejected(Reason.USAGE)
    assert thread.state.draft is not None


def test_a_draft_whose_turns_have_left_the_context_is_refused_by_the_rule_of_turns() -> None:
    thread = started(turns=3)
    drafted(thread, from_turn=2, through_turn=2)
    thread.do(client(wire.PinContext, turns=[2]))
    assert thread.state.draft is not None
    refused = thread.when(client(wire.AcceptDraft)).rejected(Reason.COMPACTION_FAILED)
    assert "nothing was changed" in refused.said


def test_a_draft_keeps_its_thread_busy_while_the_model_writes() -> None:
    thread = started(turns=3)
    thread.do(compact(edit=True, force=True))
    operation = thread.state.open_operation
    assert operation is not None
    assert operation.is_summarizing
    thread.when(client(wire.AcceptDraft)).rejected(Reason.ALREADY_IN_PROGRESS)
    assert failure_message(operation, "gone").startswith("The draft failed and nothing has")


def test_a_draft_written_by_no_operation_of_the_state_is_left_out() -> None:
    thread = started(turns=1)
    thread.write(ev.DraftWritten(thread.state.id, "other", "S", 1))
    assert thread.state.draft is None


def briefed(thread: Conversation, goal: str | None = "the tests", text: str = "B") -> Draft:
    operation_id = thread.do(client(wire.DraftHandoff, goal=goal)).operation_id
    assert operation_id is not None
    thread.advance(Phase.COMPACTING)
    thread.advance(Phase.READY, ev.DraftWritten(thread.state.id, operation_id, text, 1_500))
    assert thread.state.draft is not None
    return thread.state.draft


def test_an_accepted_brief_begins_a_new_thread_and_leaves_this_one_as_it_is() -> None:
    thread = started(turns=2)
    briefed(thread)
    number = thread.state.generation.number
    [handed] = thread.do(client(wire.AcceptDraft)).events
    assert isinstance(handed, ev.HandedOff)
    assert (handed.brief, handed.goal) == ("B", "the tests")
    assert (thread.state.generation.number, thread.state.archived) == (number, False)
    assert shown(thread) == of_turns(1, 2)
    new = successor_of(thread.state, handed.new_thread_id)
    assert new is not None
    assert (new.first_prompt, new.pinned, new.parent_thread_id) == ("B", (), thread.state.id)
    begun = Conversation()
    begun.do(new)
    [prompt] = begun.state.queue
    assert prompt.parts == [{"type": "text", "text": "B", "text_elements": []}]
    assert next_prompt(begun.state) is None
    begun.settle()
    assert next_prompt(begun.state) == prompt
    assert successor_of(thread.state, "another") is None
    done = Done(thread.state, (handed,))
    assert (Accept().way_back(done), Handoff().way_back(done)) == (None, None)
    said = timeline_text(thread.state).splitlines()
    assert said[-1].endswith(
        f"handed off to the thread {handed.new_thread_id[-8:]}: the tests ────"
    )
    begun.turns(1)
    assert timeline_text(begun.state).startswith("1 turn, begun from the thread thread-1. The")
    [shown_link] = read_model(thread.state, thread.policy, None).handoffs
    assert (shown_link.thread_id, shown_link.goal) == (handed.new_thread_id, "the tests")
    assert thread.replayed() == thread.state


def test_a_brief_outlives_a_trim_and_is_not_sent_as_a_command() -> None:
    thread = started(turns=2)
    briefed(thread, goal=" ")
    thread.clear(1)
    thread.when(client(wire.AcceptDraft, text="/clear")).rejected(Reason.USAGE)
    busy = thread.begin_turn()
    refused = thread.when(client(wire.AcceptDraft)).rejected(Reason.TURN_IN_PROGRESS)
    assert "hand off the thread" in refused.said
    thread.report(ev.TurnCompleted(busy, "completed"))
    [handed] = thread.do(client(wire.AcceptDraft, text="mine")).events
    assert isinstance(handed, ev.HandedOff)
    assert (handed.brief, handed.goal) == ("mine", None)
    assert timeline_text(thread.state).endswith(f"the thread {handed.new_thread_id[-8:]} ────")


def test_a_failed_brief_and_an_empty_thread_say_what_has_not_happened() -> None:
    thread = started()
    thread.when(client(wire.DraftHandoff)).rejected(Reason.NOT_ENOUGH_MESSAGES)
    thread.turns(1)
    thread.do(client(wire.DraftHandoff))
    operation = thread.state.open_operation
    assert operation is not None
    assert failure_message(operation, "gone").startswith("The brief failed and nothing has")
