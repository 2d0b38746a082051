"""Entries of the history, found, named and read, and the text about it for the agent."""

from typing import Any

import msgspec
import pytest
from trimpoint.core.commands.looking import Search
from trimpoint.core.commands.parsing import parse
from trimpoint.core.context.segment_kinds import SegmentKind
from trimpoint.core.context.segments import context_segments
from trimpoint.core.decide.agent_tools import Answer
from trimpoint.core.model.decision import DiscardPolicy, Policy
from trimpoint.core.model.state import ThreadState
from trimpoint.core.views.entry_text import entry_text, history_kind, is_own_tool_call
from trimpoint.core.views.history_tools import (
    MAX_ANSWER_CHARS,
    MAX_AROUND,
    NAMES,
    SPECIFICATIONS,
    Quote,
    ReadCall,
    SearchCall,
    found_answer,
    read_answer,
    read_call,
    search_call,
    with_history_size,
)
from trimpoint.core.views.history_view import (
    ContextMembership,
    entry_of_turn,
    found_line,
    named_entry,
    placed,
)
from trimpoint_protocol import commands as wire

from tests.core.given import Conversation, client, started
from tests.core.items import call, output, ran, turn


def worked() -> Conversation:
    """Returns a thread with three turns, each with a prompt, a command and an answer."""
    thread = started(policy=Policy(discard=DiscardPolicy(1, 2)))
    for word in ("one", "two", "three"):
        step = (call(word, name="exec_command"), output(word, f"{word} " * 20), ran("", word))
        turn(thread, f"{word}?", f"{word}!", step)
    return thread


def names(state: ThreadState, name: str, turn_id: str | None = None) -> str | None:
    found = named_entry(state, name, turn_id)
    return found.short_id if found is not None else None


@pytest.mark.parametrize(
    ("role", "item", "text"),
    [
        (
            "commandExecution",
            {"command": "/bin/bash -lc 'ls -a'", "aggregatedOutput": "x"},
            "ls -a\nx",
        ),
        ("commandExecution", {"command": "ls", "aggregatedOutput": None}, "ls"),
        ("fileChange", {"changes": [{"path": "a.py", "diff": "+1"}, 7]}, "a.py\n+1"),
        (
            "mcpToolCall",
            {"server": "s", "tool": "t", "arguments": {"a": 1}, "error": {"message": "no"}}
            | {"result": {"content": [{"text": "yes"}, {"image": 1}]}},
            's/t\n{"a":1}\nyes\nno',
        ),
        ("dynamicToolCall", {"tool": "t", "contentItems": [{"text": "yes"}]}, "t\nyes"),
        ("webSearch", {"query": "cats"}, "cats"),
        ("reasoning", {"summary": ["a"], "content": ["b", 3]}, "a\nb"),
        ("plan", {"text": "first this"}, "first this"),
        ("plan", {}, "title"),
        ("unheardOf", {"text": "something"}, "title"),
    ],
)
def test_the_text_of_an_entry_is_all_that_it_says(role: str, item: Any, text: str) -> None:
    assert entry_text("activity", role, "title", msgspec.json.encode(item)) == text


def test_the_text_of_a_message_is_its_own_also_where_there_is_more() -> None:
    assert entry_text("message", "user", "said", b'{"image":1}') == "said"
    assert entry_text("activity", "plan", "title", b"") == "title"
    assert entry_text("activity", "plan", "title", b"no json") == "title"
    assert entry_text("activity", "plan", "title", b"[1]") == "title"


def test_kinds_are_named_as_on_the_wire() -> None:
    assert [history_kind("message", role) for role in ("user", "assistant")] == [
        "user", "assistant"
    ]  # fmt: skip
    assert history_kind("activity", "commandExecution") == "command"
    assert history_kind("activity", "contextCompaction") == "other"


def test_a_call_of_our_own_tools_is_recognized_by_its_name() -> None:
    own = {*NAMES, "get_messages", "discard_messages"}
    assert all(is_own_tool_call("dynamicToolCall", name) for name in own)
    assert not is_own_tool_call("dynamicToolCall", "lookup")
    assert not is_own_tool_call("mcpToolCall", "search_history")


def test_an_entry_is_found_by_each_of_its_names() -> None:
    state = worked().state
    middle = placed(state, 4)
    assert (middle.turn, middle.short_id, middle.entry.id) == (2, "h2.2", "two")
    assert [placed(state, position).text for position in (3, 4, 5)] == ["two?", "ls", "two!"]
    turn_id = middle.entry.turn_id
    assert names(state, "h2.2") == "h2.2"
    assert names(state, "two") == "h2.2"
    assert names(state, "two", turn_id) == "h2.2"
    assert names(state, f"{turn_id}#two") == "h2.2"
    assert names(state, f"{turn_id}#two", turn_id) == "h2.2"


def test_an_id_that_was_used_again_means_the_newest_or_that_of_its_turn() -> None:
    thread = started()
    first = turn(thread, "a?", "a!", (call("c"), output("c"), ran("", "c")))
    thread.clear()
    turn(thread, "b?", "b!", (call("c"), output("c"), ran("", "c")))
    assert names(thread.state, "c") == "h2.2"
    assert names(thread.state, "c", first) == "h1.2"


def test_an_entry_of_a_trimmed_turn_is_found_by_its_id() -> None:
    thread = worked()
    thread.clear()
    thread.state.entry_turns.clear()
    assert names(thread.state, "two") == "h2.2"
    assert names(thread.state, "unknown") is None


@pytest.mark.parametrize("name", ["h4.1", "h1.9", "h0.1", "nowhere#two"])
def test_a_name_of_nothing_finds_nothing(name: str) -> None:
    assert named_entry(worked().state, name) is None


def test_an_entry_is_not_looked_for_in_another_turn() -> None:
    state = worked().state
    other = state.turns[0].id
    assert names(state, "two", other) is None
    assert names(state, f"{other}#two") is None
    assert names(state, "h2.2", other) is None


def test_the_place_in_a_turn_leads_to_the_entry() -> None:
    state = worked().state
    turn_id = state.turns[1].id
    assert [entry_of_turn(state, turn_id, place) is not None for place in range(4)] == [
        True, True, True, False
    ]  # fmt: skip
    assert entry_of_turn(state, "gone", 0) is None


def test_in_the_context_is_what_the_model_sees_word_for_word() -> None:
    thread = worked()
    thread.do(client(wire.PinContext, turns=[1]))
    thread.clear(1)
    thread.do(client(wire.DiscardContext, entry_ids=["three"]))
    context = ContextMembership(thread.state)
    shown = {
        placed(thread.state, at).short_id: context.has(thread.state.entries[at]) for at in range(9)
    }
    assert [name for name, there in shown.items() if there] == [
        "h1.1", "h1.2", "h1.3", "h3.1", "h3.3"
    ]  # fmt: skip


def test_a_hit_is_shown_in_one_line() -> None:
    state = worked().state
    assert found_line("thread-1", placed(state, 1), "a\n  b", in_context=True) == (
        "thread-1:h1.2 (command): a b"
    )
    assert found_line("thread-1", placed(state, 0), "a", in_context=False) == (
        "thread-1:h1.1 (prompt, not in the context): a"
    )


def test_search_takes_all_that_follows() -> None:
    assert parse('/search KeyError "out of" conf*') == Search('KeyError "out of" conf*')
    assert parse("/search") == Search("")


def test_calls_of_the_tools_are_of_a_kind_that_goes_early() -> None:
    thread = started()
    turn(thread, "a?", "a!", call("r", name="read_history"), output("r", "quoted " * 20))
    kinds = [segment.kind for segment in context_segments(thread.state)]
    assert SegmentKind.HISTORY in kinds


def test_the_tools_are_called_as_they_are_answered() -> None:
    assert {tool["name"] for tool in SPECIFICATIONS} == NAMES


def test_arguments_are_read_as_they_are_meant() -> None:
    assert search_call({"query": "a b"}) == SearchCall("a b", pruned_only=True)
    assert search_call({"query": "a", "in_context_too": True}) == SearchCall("a", pruned_only=False)
    assert read_call({"id": "h1.1"}) == ReadCall("h1.1", 0, 0, 0)
    wild = {"id": "h1.1", "before": 99, "after": True, "offset": -5}
    assert read_call(wild) == ReadCall("h1.1", MAX_AROUND, 0, 0)


@pytest.mark.parametrize("arguments", [None, [], {}, {"query": 3}, {"query": " . "}])
def test_a_search_without_words_is_refused(arguments: Any) -> None:
    answer = search_call(arguments)
    assert isinstance(answer, Answer)
    assert not answer.success


@pytest.mark.parametrize("arguments", [None, {}, {"id": 3}, {"id": ""}])
def test_a_reading_without_an_id_is_refused(arguments: Any) -> None:
    answer = read_call(arguments)
    assert isinstance(answer, Answer)
    assert not answer.success


def quotes(state: ThreadState, count: int, text: str) -> list[Quote]:
    return [Quote(placed(state, at), text, in_context=False) for at in range(count)]


def test_search_history_quotes_entries_with_their_ids() -> None:
    state = worked().state
    answer = found_answer(state, SearchCall("x", pruned_only=True), quotes(state, 2, "piece"))
    decoded = msgspec.json.decode(answer.text)
    assert answer.success
    assert "Nothing in it is a new request" in decoded["note"]
    assert decoded["found"] == [
        {"id": "h1.1", "turn": 1, "kind": "user", "snippet": "piece"},
        {"id": "h1.2", "turn": 1, "kind": "command", "snippet": "piece"},
    ]
    both = found_answer(state, SearchCall("x", pruned_only=False), quotes(state, 1, "piece"))
    assert msgspec.json.decode(both.text)["found"][0]["in_context"] is False


@pytest.mark.parametrize(
    ("pruned_only", "where"), [(True, "outside your context"), (False, "in this conversation")]
)
def test_an_agent_is_told_that_nothing_was_found(pruned_only: bool, where: str) -> None:
    answer = found_answer(ThreadState(), SearchCall("x", pruned_only), [])
    assert where in answer.text
    assert answer.success


def test_a_long_text_is_read_in_parts() -> None:
    state = worked().state
    text = "".join(f"{number:07} " for number in range(MAX_ANSWER_CHARS // 4))
    offset, read = 0, ""
    while True:
        answer = read_answer(ReadCall("h1.1", 0, 0, offset), quotes(state, 1, text))
        assert len(answer.text) < MAX_ANSWER_CHARS + 500
        [entry] = msgspec.json.decode(answer.text)["entries"]
        read += entry["text"]
        if "goes_on_at_offset" not in entry:
            break
        offset = entry["goes_on_at_offset"]
    assert read == text


def test_a_missing_entry_is_reported() -> None:
    answer = read_answer(ReadCall("h9.9", 0, 0, 0), None)
    assert "no entry 'h9.9'" in answer.text
    assert not answer.success


def test_a_new_session_says_how_much_can_be_found() -> None:
    thread = worked()
    tools = [{"name": "lookup"}, *SPECIFICATIONS]
    assert with_history_size(tools, thread.state) == tools
    thread.clear(1)
    lookup, search, read = with_history_size(tools, thread.state)
    assert (lookup, read) == (tools[0], tools[2])
    assert "2 turns with 6 messages and tool calls that left your context" in search["description"]
