"""What was streamed of an answer is kept until its turn ends."""

from typing import Any

from trimpoint.codex.notifications.message import CodexMessage
from trimpoint.core.model import events as ev
from trimpoint.journal.storage.memory import MemoryStateDirectory
from trimpoint.operations.routing.half_answers import DELTA, HalfAnswers
from trimpoint.threads.unfinished_answers import UnfinishedAnswers

INTERRUPTED = ev.TurnCompleted("turn", "interrupted")


def message(method: str, **params: Any) -> CodexMessage:
    return CodexMessage.compose(method, {"threadId": "provider", "turnId": "turn", **params})


def half_answers() -> HalfAnswers:
    return HalfAnswers(UnfinishedAnswers(MemoryStateDirectory()))


def begun(answers: HalfAnswers, item_id: str = "m1", kind: str = "agentMessage") -> None:
    answers.note("thread", message("item/started", item={"type": kind, "id": item_id}))


def say(answers: HalfAnswers, text: object, item_id: str = "m1") -> None:
    answers.note("thread", message(DELTA, itemId=item_id, delta=text))


def said(answers: HalfAnswers, end: ev.TurnCompleted = INTERRUPTED) -> list[str]:
    facts = answers.before_end("thread", (end,))
    assert facts[-1] == end
    return [one.text for one in facts if isinstance(one, ev.EntryRecorded)]


def test_a_part_comes_before_the_end_of_its_turn_and_once() -> None:
    answers = half_answers()
    begun(answers)
    say(answers, "one ")
    answers.note_run("thread", DELTA, [message(DELTA, itemId="m1", delta="two").line] * 2)
    usage = ev.ThreadRenamed("name")
    assert answers.before_end("thread", (usage,)) == (usage,)
    part = ev.EntryRecorded("turn", "m1", "message", "assistant", "one twotwo", extent=ev.PART)
    assert answers.before_end("thread", (usage, INTERRUPTED)) == (usage, part, INTERRUPTED)
    assert said(answers) == []


def test_a_long_answer_is_kept_as_text() -> None:
    answers = half_answers()
    begun(answers)
    for _ in range(40):
        say(answers, "x" * 10_000)
    assert said(answers) == ["x" * 400_000]


def test_a_turn_that_completed_leaves_no_part() -> None:
    answers = half_answers()
    begun(answers)
    say(answers, "of a call that was repeated")
    assert said(answers, ev.TurnCompleted("turn", "completed")) == []
    assert said(answers) == []


def test_only_the_newest_unfinished_answer_is_kept() -> None:
    answers = half_answers()
    begun(answers)
    say(answers, "first try")
    begun(answers, "m2")
    say(answers, "second try", "m2")
    say(answers, "late", "m1")
    say(answers, None, "m2")
    begun(answers, "r", "reasoning")
    answers.note("thread", message("item/completed", item={"type": "agentMessage", "id": "m1"}))
    assert said(answers) == ["second try"]


def test_a_finished_or_an_empty_answer_leaves_no_part() -> None:
    answers = half_answers()
    begun(answers)
    say(answers, " \n")
    assert said(answers) == []
    begun(answers)
    say(answers, "whole")
    answers.note("thread", message("item/completed", item={"type": "agentMessage", "id": "m1"}))
    say(answers, "more")
    assert said(answers) == []


def test_the_end_of_another_turn_takes_nothing() -> None:
    answers = half_answers()
    begun(answers)
    say(answers, "half")
    assert said(answers, ev.TurnCompleted("other", "interrupted")) == []
    assert said(answers) == ["half"]


def test_what_codex_said_before_it_died_is_taken_once() -> None:
    answers = half_answers()
    assert answers.take("thread") == ()
    begun(answers)
    say(answers, "half")
    [part] = answers.take("thread")
    assert isinstance(part, ev.EntryRecorded)
    assert answers.take("thread") == ()
