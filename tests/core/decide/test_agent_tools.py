"""The agent's view of its own context, and what it may discard."""

from typing import Any

import msgspec
import pytest
from trimpoint.core.context.segments import context_segments
from trimpoint.core.decide.agent_tools import (
    MAX_LISTED,
    NAMES,
    SPECIFICATIONS,
    Choice,
    choose,
    follow_up_text,
    listing,
    to_discard,
)
from trimpoint.core.decide.discarding import names_of
from trimpoint.core.model.decision import DiscardPolicy

from tests.core.given import Conversation, started
from tests.core.items import call, output, ran, turn

POLICY = DiscardPolicy(50, 400)


def at_work(*words: str) -> Conversation:
    thread = started()
    for word in words:
        turn(
            thread,
            f"{word}?",
            f"{word}!",
            (
                call(word, f"cat {word}"),
                output(word, f"{word} " * 100),
                ran("", word, f"cat {word}"),
            ),
        )
    return thread


def listed(thread: Conversation, *chosen: str) -> dict[str, Any]:
    answer = listing(thread.state, POLICY, chosen)
    assert answer.success
    return msgspec.json.decode(answer.text, type=dict[str, Any])


def chosen(thread: Conversation, *short_ids: str, before: tuple[str, ...] = ()) -> Choice:
    return choose(thread.state, POLICY, before, {"short_ids": list(short_ids)})


def test_the_tools_are_called_as_they_are_answered() -> None:
    assert {tool["name"] for tool in SPECIFICATIONS} == NAMES


def test_a_listing_says_what_there_is_and_what_stays() -> None:
    answer = listed(at_work("one", "two"))
    first, command = answer["messages"][:2]
    assert first == {
        "short_id": "m1.1",
        "role": "user",
        "kind": "message",
        "preview": "one?",
        "est_tokens": first["est_tokens"],
    }
    assert (command["short_id"], command["kind"]) == ("m1.2", "command")
    assert [row.get("protected") for row in answer["messages"]] == [
        None,
        None,
        "finalAnswer",
        "newest",
        None,
        "newest",
    ]
    assert answer["total_est_tokens"] == sum(row["est_tokens"] for row in answer["messages"])
    assert (answer["target_tokens"], answer["floor_tokens"]) == (400, 50)


def test_previews_in_a_listing_are_short() -> None:
    thread = started()
    thread.turn("x" * 100)
    assert listed(thread)["messages"][0]["preview"] == "x" * 59 + "…"


def test_of_a_long_context_the_cheapest_are_left_out_of_the_listing() -> None:
    thread = started()
    for number in range(MAX_LISTED // 2 + 5):
        thread.turn("short" if number < 10 else "a longer prompt", "an answer of some words")
    answer = listed(thread)
    assert len(answer["messages"]) == MAX_LISTED
    assert answer["omitted"]["count"] == 10
    assert answer["messages"][0]["short_id"] == "m1.2"
    assert answer["total_est_tokens"] == answer["omitted"]["est_tokens"] + sum(
        row["est_tokens"] for row in answer["messages"]
    )


def test_chosen_messages_leave_the_listing_and_cannot_be_chosen_again() -> None:
    thread = at_work("one", "two")
    first = chosen(thread, "m1.2", "m1.2")
    assert (first.names, first.answer.success) == (("turn-1#one",), True)
    assert first.answer.text.startswith("1 message of about ")
    assert "m1.2" not in [row["short_id"] for row in listed(thread, *first.names)["messages"]]
    again = chosen(thread, "m1.2", before=first.names)
    assert (again.names, again.answer.success) == ((), False)
    assert "your context holds no m1.2." in again.answer.text


def test_protected_messages_are_refused_with_the_reason() -> None:
    thread = at_work("one", "two")
    refused = chosen(thread, "m1.2", "m1.3", "m2.1").answer
    assert not refused.success
    assert refused.text.endswith(
        "m1.3 is a final answer; m2.1 belongs to the newest prompt and its answer."
    )


def test_the_floor_counts_what_was_chosen_before() -> None:
    thread = at_work("one", "two")
    policy = DiscardPolicy(100, 400)
    first = choose(thread.state, policy, (), {"short_ids": ["m1.2"]})
    refused = choose(thread.state, policy, first.names, {"short_ids": ["m2.2"]})
    assert (first.answer.success, refused.answer.success) == (True, False)
    assert "less than the floor of 100. Choose fewer." in refused.answer.text


@pytest.mark.parametrize(
    "arguments", [None, "m1.2", {}, {"short_ids": []}, {"short_ids": "m1.2"}, ["m1.2"]]
)
def test_arguments_that_say_nothing_are_refused(arguments: Any) -> None:
    assert "takes short_ids" in choose(at_work("one").state, POLICY, (), arguments).answer.text


def test_both_tools_say_why_nothing_can_be_discarded() -> None:
    thread = at_work("one")
    thread.compact(None)
    turn(thread, "two?", "two!")
    assert "Only Codex" in listed(thread)["refusal"]
    assert "Only Codex" in chosen(thread, "m2.1").answer.text


def test_looking_and_choosing_go_with_what_was_chosen_if_the_floor_lets_them() -> None:
    thread = at_work("one")
    looked = (call("g", name="get_messages"), output("g", "m1.1 " * 60))
    chose = (call("d", name="discard_messages"), output("d", "ok"))
    turn(thread, "tidy up", "done", looked, chose)
    names = chosen(thread, "m1.2").names
    everything = to_discard(thread.state, DiscardPolicy(1, 400), names)
    assert everything == ["turn-1#one", "turn-2#@1", "turn-2#@3"]
    total = sum(unit.tokens for unit in context_segments(thread.state))
    tight = DiscardPolicy(total - 150, 400)
    assert to_discard(thread.state, tight, names) == ["turn-1#one", "turn-2#@3"]
    assert to_discard(thread.state, POLICY, []) == []
    assert to_discard(thread.state, POLICY, ["turn-9#x"]) == []


def test_names_keep_their_meaning_when_an_id_is_reused() -> None:
    thread = at_work("one", "two")
    names = chosen(thread, "m1.2").names
    turn(thread, "three?", "three!", (call("one"), output("one"), ran("", "one")))
    assert to_discard(thread.state, POLICY, names) == ["turn-1#one"]
    [unit] = [unit for unit in context_segments(thread.state) if unit.short_id == "m1.2"]
    assert names_of(unit) == ["turn-1#one"]
    assert unit.entry_ids == ("turn-1#one",)


def test_a_follow_up_never_counts_as_what_the_person_asked_last() -> None:
    thread = at_work("one")
    text = follow_up_text("Discarded: 3 entries.")
    turn(thread, text, "on I go")
    protections = {unit.short_id: unit.protected for unit in context_segments(thread.state)}
    assert protections == {
        "m1.1": "newest",
        "m1.2": None,
        "m1.3": "newest",
        "m2.1": "newest",
        "m2.2": "newest",
    }
    thread.clear(1)
    assert [unit.protected for unit in context_segments(thread.state)] == ["newest", "newest"]
