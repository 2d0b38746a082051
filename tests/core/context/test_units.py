"""The segments of the active context, their ids, and why some are protected."""

from typing import Any

import pytest
from trimpoint.core.context.segments import (
    SUMMARY_ID,
    ContextSegment,
    Segments,
    context_segments,
)
from trimpoint.core.model import events as ev
from trimpoint.core.model.state import ThreadState

from tests.core.given import activity, raw, raw_message, started
from tests.core.items import call, changed, message, output, ran, thought, turn


def units(state: ThreadState) -> dict[str, ContextSegment]:
    return {unit.short_id: unit for unit in context_segments(state)}


def protections(state: ThreadState) -> dict[str, str | None]:
    return {unit.preview: unit.protected for unit in context_segments(state)}


def test_a_context_is_listed_in_the_order_the_model_sees_it() -> None:
    thread = started()
    turn(
        thread,
        "one?",
        "one!",
        (thought(), call("a"), output("a", "x " * 100), ran("", "a", "cat a.py", ["read"])),
    )
    turn(thread, "two?", "two!")
    listed = context_segments(thread.state)
    assert [(unit.short_id, unit.role, str(unit.kind), unit.preview) for unit in listed] == [
        ("m1.1", "user", "message", "one?"),
        ("m1.2", "tool", "fileRead", "cat a.py"),
        ("m1.3", "assistant", "message", "one!"),
        ("m2.1", "user", "message", "two?"),
        ("m2.2", "assistant", "message", "two!"),
    ]
    assert [unit.positions for unit in listed] == [(0,), (1, 2, 3), (4,), (0,), (1,)]
    assert listed[1].entry_ids == ("a",)
    assert listed[1].tokens > 100
    assert listed[0].tokens < 20


def test_short_ids_mean_the_same_whatever_goes_and_comes() -> None:
    thread = started()
    for word in ("one", "two"):
        turn(
            thread,
            f"{word}?",
            f"{word}!",
            (call(word), output(word), ran("", word, word)),
            message("assistant", f"{word}…"),
        )
    before = units(thread.state)
    thread.write(
        ev.ContextDiscarded("thread-1", "t", 0, ("one",), (("turn-1", (1, 2)),), 2, "discard")
    )
    turn(thread, "three?", "three!")
    after = units(thread.state)
    kept = before.keys() & after.keys()
    assert before.keys() - after.keys() == {"m1.2"}
    assert [after[name].preview for name in sorted(kept)] == [
        before[name].preview for name in sorted(kept)
    ]
    thread.clear(2)
    assert units(thread.state).keys() == {name for name in after if not name.startswith("m1.")}


def test_the_newest_exchange_stays_but_not_what_was_done_in_it() -> None:
    thread = started()
    turn(thread, "old?", "old!", message("assistant", "on the way", id="c1"))
    turn(
        thread,
        "new?",
        "new!",
        (call("a"), output("a"), ran("", "a", "ls")),
        message("assistant", "nearly", id="c2"),
    )
    assert protections(thread.state) == {
        "old?": None,
        "on the way": None,
        "old!": "finalAnswer",
        "new?": "newest",
        "ls": None,
        "nearly": "newest",
        "new!": "newest",
    }


def test_a_turn_without_a_prompt_does_not_become_the_newest_exchange() -> None:
    thread = started()
    turn(thread, "new?", "new!")
    turn_id = "turn-shell"
    thread.report(
        ev.TurnStarted(turn_id, 1),
        ev.ContextItemsRecorded(turn_id, (raw(**call("s")), raw(**output("s")))),
    )
    thread.report(ev.TurnCompleted(turn_id, "completed"))
    assert protections(thread.state) == {
        "new?": "newest",
        "new!": "newest",
        'exec_command {"cmd":"ls"}': None,
    }


def test_code_changes_and_plans_stay() -> None:
    thread = started()
    turn(
        thread,
        "old?",
        "old!",
        (thought(), call("p", name="apply_patch"), output("p"), changed("", "p")),
        (call("u", name="update_plan"), output("u")),
    )
    turn(thread, "new?", "new!")
    assert list(protections(thread.state).values()) == [
        None,
        "codeChange",
        "plan",
        "finalAnswer",
        "newest",
        "newest",
    ]


def test_code_that_called_tools_to_change_files_is_protected() -> None:
    thread = started()
    turn(
        thread,
        "old?",
        "old!",
        (
            {"type": "custom_tool_call", "call_id": "x", "name": "exec", "input": "…"},
            output("x"),
            changed("", "exec-1"),
        ),
        ({"type": "custom_tool_call", "call_id": "y", "name": "exec", "input": "…"}, output("y")),
        (call("z"), output("z"), ran("", "z", "ls")),
    )
    turn(thread, "new?", "new!")
    by_position = [unit.protected for unit in context_segments(thread.state) if unit.role == "tool"]
    assert by_position == ["codeChange", "codeChange", None]


def test_a_final_answer_is_what_codex_calls_one() -> None:
    thread = started()
    turn(thread, "old?", "PS", message("assistant", "the answer", phase="final_answer"))
    turn(thread, "new?", "new!")
    assert protections(thread.state) | {"new?": None, "new!": None} == {
        "old?": None, "the answer": "finalAnswer", "PS": None, "new?": None, "new!": None,
    }  # fmt: skip


def test_in_a_turn_that_runs_nothing_is_final_and_half_a_call_is_not_shown() -> None:
    thread = started()
    turn_id = thread.begin_turn("go")
    seen = (
        raw_message("user", "go"),
        raw_message("assistant", "I look"),
        raw(**call("a")),
        raw(**output("a")),
        raw(**call("b")),
    )
    thread.report(ev.ContextItemsRecorded(turn_id, seen))
    assert [(unit.short_id, unit.protected) for unit in context_segments(thread.state)] == [
        ("m1.1", "newest"),
        ("m1.2", "newest"),
        ("m1.3", None),
    ]


def test_a_thought_without_a_seal_belongs_to_what_came_of_it() -> None:
    thread = started()
    turn(
        thread,
        "go",
        "done",
        (thought(sealed=None), call("a"), output("a")),
        thought("rs_2", sealed=None),
        message("user", "stop"),
    )
    listed = context_segments(thread.state)
    assert [unit.positions for unit in listed] == [(0,), (1, 2, 3), (4,), (5,), (6,)]


def test_turns_without_recorded_items_are_protected() -> None:
    thread = started()
    first = thread.turn("one?", "one!", items=[])
    thread.report(activity(first, "ls"))
    turn_id = thread.begin_turn("two?")
    thread.report(
        ev.ContextItemsRecorded(turn_id, (raw_message("user", "two?"),)),
        ev.TurnCompleted(turn_id, "interrupted", None, False),
    )
    listed = context_segments(thread.state)
    assert [(unit.short_id, unit.preview, unit.protected) for unit in listed] == [
        ("m1.1", "one?", "notRecorded"),
        ("m1.2", "one!", "notRecorded"),
        ("m2.1", "two?", "notRecorded"),
    ]
    assert all(unit.tokens for unit in listed)


def test_the_summary_is_part_of_the_context_and_stays() -> None:
    thread = started(turns=3)
    thread.compact("what came before")
    turn(thread, "new?", "new!")
    first = context_segments(thread.state)[0]
    assert (first.short_id, first.kind, first.preview, first.protected) == (
        SUMMARY_ID,
        "summary",
        "what came before",
        "summary",
    )


def test_a_context_of_nothing_has_no_units() -> None:
    thread = started(turns=2)
    thread.clear()
    assert context_segments(thread.state) == []


def test_segments_without_an_entry_are_named_and_repeated_ids_are_qualified() -> None:
    thread = started()
    for word in ("one", "two"):
        turn(
            thread,
            f"{word}?",
            f"{word}!",
            (call("c"), output("c"), ran("", "c", word)),
            (call(word), output(word)),
        )
    calls = [unit.entry_ids for unit in context_segments(thread.state) if unit.role == "tool"]
    assert calls == [("turn-1#c",), ("turn-1#@3",), ("turn-2#c",), ("turn-2#@3",)]


@pytest.mark.parametrize("role", [None, "developer"])
def test_a_message_with_an_unknown_role_is_listed_all_the_same(role: str | None) -> None:
    thread = started()
    turn(
        thread,
        "go",
        "done",
        {"type": "message", "role": role, "content": []},
        {"type": "unheard_of"},
    )
    assert [unit.role for unit in context_segments(thread.state)] == [
        "user",
        str(role),
        "assistant",
        "assistant",
    ]


def test_a_long_list_of_segments_is_freed_in_pieces() -> None:
    left: set[int] = set()

    class Freed:
        def __del__(self) -> None:
            left.add(len(segments))

    segments: Any = Segments(Freed() for _ in range(10_000))  # type: ignore[misc]
    assert isinstance(context_segments(started(turns=1).state), Segments)
    segments.__del__()
    assert len(left) == 3
    assert min(left) == 0
