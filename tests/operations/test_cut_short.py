"""What is not finished is kept until its turn ends, and recorded if that cuts it short."""

from typing import Any

import msgspec
import pytest
from trimpoint.codex.notifications.message import CodexMessage
from trimpoint.core.model import events as ev
from trimpoint.journal.storage.memory import MemoryStateDirectory
from trimpoint.operations.routing.cut_short import ANSWER_DELTA, OUTPUT_DELTA, CutShort
from trimpoint.threads.unfinished_items import MAX_OUTPUT_CHARS, UnfinishedItems

INTERRUPTED = ev.TurnCompleted("turn", "interrupted")


def message(method: str, **params: Any) -> CodexMessage:
    return CodexMessage.compose(method, {"threadId": "provider", "turnId": "turn", **params})


def cut_short() -> CutShort:
    return CutShort(UnfinishedItems(MemoryStateDirectory()))


def begun(answers: CutShort, item_id: str = "m1", kind: str = "agentMessage") -> None:
    answers.note("thread", message("item/started", item={"type": kind, "id": item_id}))


def say(answers: CutShort, text: object, item_id: str = "m1") -> None:
    answers.note("thread", message(ANSWER_DELTA, itemId=item_id, delta=text))


def said(answers: CutShort, end: ev.TurnCompleted = INTERRUPTED) -> list[str]:
    facts = answers.before_end("thread", (end,))
    assert facts[-1] == end
    return [one.text for one in facts if isinstance(one, ev.EntryRecorded)]


def test_a_part_comes_before_the_end_of_its_turn_and_once() -> None:
    answers = cut_short()
    begun(answers)
    say(answers, "one ")
    answers.note_run(
        "thread", ANSWER_DELTA, [message(ANSWER_DELTA, itemId="m1", delta="two").line] * 2
    )
    usage = ev.ThreadRenamed("name")
    assert answers.before_end("thread", (usage,)) == (usage,)
    part = ev.EntryRecorded("turn", "m1", "message", "assistant", "one twotwo", extent=ev.PART)
    assert answers.before_end("thread", (usage, INTERRUPTED)) == (usage, part, INTERRUPTED)
    assert said(answers) == []


def test_a_long_answer_is_kept_as_text() -> None:
    answers = cut_short()
    begun(answers)
    for _ in range(40):
        say(answers, "x" * 10_000)
    assert said(answers) == ["x" * 400_000]


def test_a_turn_that_completed_leaves_no_part() -> None:
    answers = cut_short()
    begun(answers)
    say(answers, "of a call that was repeated")
    assert said(answers, ev.TurnCompleted("turn", "completed")) == []
    assert said(answers) == []


def test_what_a_person_has_allowed_is_recorded_so() -> None:
    items = UnfinishedItems(MemoryStateDirectory())
    answers = CutShort(items)
    for name in ("c1", "c2", "c3"):
        started = {"type": "commandExecution", "id": name, "status": "inProgress"}
        answers.note("thread", message("item/started", item=started))
    for name in ("c1", "c2"):
        items.set_waiting("thread", name, True)
    items.set_waiting("thread", "c1", False)
    detail = b'{"type":"commandExecution"}'
    done = [
        ev.EntryRecorded("turn", name, "activity", "commandExecution", "ls", detail)
        for name in ("c1", "c2", "c3", "c4")
    ]
    facts = answers.before_end("thread", (*done, ev.ThreadRenamed("name")))
    details = [one.detail for one in facts if isinstance(one, ev.EntryRecorded)]
    assert details == [b'{"type":"commandExecution","approval":"allowed"}', *[detail] * 3]


def test_only_the_newest_unfinished_answer_is_kept() -> None:
    answers = cut_short()
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
    answers = cut_short()
    begun(answers)
    say(answers, " \n")
    assert said(answers) == []
    begun(answers)
    say(answers, "whole")
    answers.note("thread", message("item/completed", item={"type": "agentMessage", "id": "m1"}))
    say(answers, "more")
    assert said(answers) == []


def test_the_end_of_another_turn_takes_nothing() -> None:
    answers = cut_short()
    begun(answers)
    say(answers, "half")
    assert said(answers, ev.TurnCompleted("other", "interrupted")) == []
    assert said(answers) == ["half"]


def test_what_codex_said_before_it_died_is_taken_once() -> None:
    answers = cut_short()
    assert answers.take("thread") == ()
    begun(answers)
    say(answers, "half")
    [part] = answers.take("thread")
    assert isinstance(part, ev.EntryRecorded)
    assert answers.take("thread") == ()


# --- commands and edits


def running(items: CutShort, kind: str = "commandExecution", **members: object) -> None:
    item = {"type": kind, "id": "c1", "status": "inProgress", "command": "make", **members}
    items.note("thread", message("item/started", item=item))


def ended(items: CutShort, end: ev.TurnCompleted = INTERRUPTED) -> list[dict[str, Any]]:
    facts = items.before_end("thread", (end,))
    entries = [one for one in facts if isinstance(one, ev.EntryRecorded)]
    assert all(one.extent == ev.PART for one in entries)
    return [msgspec.json.decode(one.detail) for one in entries]


def test_a_command_that_its_turn_cuts_short_has_failed_with_what_it_printed() -> None:
    items = cut_short()
    running(items)
    items.note_run("thread", OUTPUT_DELTA, [message(OUTPUT_DELTA, itemId="c1", delta="a\n").line])
    items.note_run("thread", OUTPUT_DELTA, [message(OUTPUT_DELTA, itemId="c1", delta="b\n").line])
    [command] = ended(items)
    assert (command["status"], command["aggregatedOutput"]) == ("failed", "a\nb\n")
    assert ended(items) == []


def test_of_a_long_output_the_end_is_kept() -> None:
    items = cut_short()
    running(items)
    for number in range(20_000):
        line = message(OUTPUT_DELTA, itemId="c1", delta=f"{number:09}\n").line
        items.note_run("thread", OUTPUT_DELTA, [line])
    [command] = ended(items)
    assert len(command["aggregatedOutput"]) == MAX_OUTPUT_CHARS
    assert command["aggregatedOutput"].endswith("000019999\n")


@pytest.mark.parametrize("kind", ["commandExecution", "fileChange", "mcpToolCall"])
def test_what_waits_for_a_person_was_declined_and_what_was_allowed_was_not(kind: str) -> None:
    kept = UnfinishedItems(MemoryStateDirectory())
    items = CutShort(kept)
    for is_allowed, status in ((False, "declined"), (True, "failed")):
        running(items, kind)
        kept.set_waiting("thread", "c1", True)
        kept.set_waiting("thread", "other", True)
        kept.set_waiting("unknown", "c1", True)
        if is_allowed:
            kept.set_waiting("thread", "c1", False)
        assert [one["status"] for one in ended(items)] == [status]


def test_what_waits_when_codex_dies_has_failed() -> None:
    kept = UnfinishedItems(MemoryStateDirectory())
    items = CutShort(kept)
    running(items)
    kept.set_waiting("thread", "c1", True)
    [fact] = items.take("thread")
    assert isinstance(fact, ev.EntryRecorded)
    assert msgspec.json.decode(fact.detail)["status"] == "failed"


def test_what_is_finished_or_outlives_a_turn_that_completed_is_not_recorded() -> None:
    items = cut_short()
    running(items)
    items.note("thread", message("item/completed", item={"type": "commandExecution", "id": "c1"}))
    assert ended(items) == []
    running(items)
    assert ended(items, ev.TurnCompleted("turn", "completed")) == []
    running(items)
    begun(items)
    say(items, "half")
    assert len(items.before_end("thread", (INTERRUPTED,))) == 3
