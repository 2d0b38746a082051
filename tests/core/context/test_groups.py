"""Which raw items of a turn belong together, and which ledger entries describe them."""

from typing import Any

import msgspec
import pytest
from trimpoint.core.context.groups import ItemGroup, grouped
from trimpoint.core.model.ledger import Entry

from tests.core.items import call, message, output, thought


def entry(
    entry_id: str,
    role: str = "commandExecution",
    text: str = "",
    kind: str = "activity",
    detail: bytes = b"{}",
) -> Entry:
    return Entry(entry_id, "turn-1", kind, role, text, 0, detail)


def said(role: str, text: str, entry_id: str = "", detail: bytes = b"") -> Entry:
    return entry(entry_id or f"entry {text}", role, text, "message", detail)


def positions(*items: dict[str, Any]) -> list[list[int]]:
    return [group.positions for group in grouped(items, [])]


def names(groups: list[ItemGroup]) -> list[list[str]]:
    return [[one.id for one in group.entries] for group in groups]


def test_a_call_and_its_result_are_one_and_a_message_is_alone() -> None:
    items = message("user", "go"), call("a"), output("a"), message("assistant", "done")
    assert positions(*items) == [[0], [1, 2], [3]]


def test_calls_made_at_once_are_apart_unless_one_thought_led_to_them() -> None:
    at_once = call("a"), call("b"), output("a"), output("b")
    assert positions(*at_once) == [[0, 2], [1, 3]]
    assert positions(thought(), *at_once) == [[0, 1, 2, 3, 4]]


def test_a_message_between_reasoning_and_a_call_stays_in_their_group() -> None:
    assert positions(thought(), message("assistant", "I look"), call("a"), output("a")) == [
        [0, 1, 2, 3]
    ]
    assert positions(message("assistant", "I look"), call("a"), output("a")) == [[0], [1, 2]]


def test_a_new_thought_begins_a_group_and_thoughts_in_a_row_are_one() -> None:
    assert positions(
        thought(), thought(), call("a"), thought(), call("b"), output("a"), output("b")
    ) == [[0, 1, 2, 5], [3, 4, 6]]


def test_a_thought_ends_with_a_result_or_a_prompt() -> None:
    assert positions(thought(), call("a"), output("a"), message("assistant", "ok")) == [
        [0, 1, 2],
        [3],
    ]
    assert positions(thought(), message("user", "stop"), message("assistant", "ok")) == [
        [0],
        [1],
        [2],
    ]


def test_a_result_answers_the_call_before_it_where_ids_are_used_again() -> None:
    assert positions(call("c"), output("c"), call("c"), output("c"), output("lost")) == [
        [0, 1],
        [2, 3],
        [4],
    ]


def test_entries_are_placed_by_the_id_of_item_or_call_and_prompts_by_what_they_say() -> None:
    items = [
        message("user", "go", id="raw-1"),
        thought("rs_1"),
        call("a"),
        output("a"),
        message("assistant", "done", id="msg_1"),
    ]
    entries = [
        said("user", "go"),
        entry("rs_1", "reasoning"),
        entry("a"),
        said("assistant", "done", "msg_1"),
    ]
    assert names(grouped(items, entries)) == [["entry go"], ["rs_1", "a"], ["msg_1"]]


def test_of_equal_prompts_each_has_its_own_and_of_an_id_used_twice_the_first_counts() -> None:
    items = [
        message("user", "go"),
        message("user", "go"),
        call("c"),
        output("c"),
        call("c"),
        output("c"),
    ]
    entries = [
        said("user", "go", "e1"),
        said("user", "go", "e2"),
        said("user", "never seen", "e3"),
        entry("c"),
    ]
    groups = grouped(items, entries)
    assert names(groups) == [["e1"], ["e2"], ["c"], []]
    assert [group.is_anonymous for group in groups] == [False, False, False, False]


def test_a_prompt_with_attachments_is_known_by_its_words() -> None:
    content = [
        {"type": "input_text", "text": "<image>"},
        {"type": "input_image"},
        {"type": "input_text", "text": "what is this?"},
    ]
    items = [{"type": "message", "role": "user", "content": content}]
    detail = msgspec.json.encode(
        {
            "content": [
                {"type": "localImage", "path": "x"},
                {"type": "text", "text": "what is this?"},
            ]
        }
    )
    assert names(grouped(items, [said("user", "[localImage: x]\nwhat is this?", "e", detail)])) == [
        ["e"]
    ]
    assert names(grouped(items, [said("user", "what is this?", "e")])) == [[]]


def test_entries_of_no_item_are_what_the_call_did_that_has_none_of_its_own() -> None:
    items = [
        call("named"),
        output("named"),
        call("code"),
        output("code"),
        message("assistant", "done"),
    ]
    entries = [entry("named"), entry("exec-1"), entry("exec-2", "fileChange")]
    groups = grouped(items, entries)
    assert names(groups) == [["named"], ["exec-1", "exec-2"], []]
    assert [group.is_anonymous for group in groups] == [False, True, False]
    assert names(grouped(items[:2], entries)) == [["named"]]


@pytest.mark.parametrize("content", [None, "text", [], ["text"], [{"type": "input_image"}]])
def test_a_message_without_words_says_nothing(content: Any) -> None:
    [group] = grouped([{"type": "message", "role": "user", "content": content}], [said("user", "")])
    assert (group.text, group.calls) == ("", [])
