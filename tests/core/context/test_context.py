"""The items that a new session begins with: whole turns as the model saw them, without Codex's
preamble.
"""

from typing import Any

import pytest
from trimpoint.core.context.active_context import (
    SEALED_SUMMARY_LOST,
    has_unanswered_call,
    injectable,
    is_preamble,
    turn_items,
)
from trimpoint.core.context.generations import bootstrap_items, items_beside, rebuilt_generation
from trimpoint.core.context.summary_items import summary_item
from trimpoint.core.model import events as ev

from tests.core.given import activity, raw, raw_message, started, texts


def call(call_id: str, kind: str = "function_call") -> bytes:
    return raw(type=kind, call_id=call_id, name="exec_command", arguments="{}")


def output(call_id: str, kind: str = "function_call_output") -> bytes:
    return raw(type=kind, call_id=call_id, output="done")


def test_a_kept_turn_is_given_exactly_as_the_model_saw_it() -> None:
    items = [raw_message("user", "go"), call("c1"), output("c1"), raw_message("assistant", "done")]
    thread = started(turns=1)
    thread.turn("go", "done", items=items)
    thread.clear(1)
    assert bootstrap_items(thread.state, thread.state.generation) == items


def test_a_turn_without_items_is_rebuilt_from_its_messages() -> None:
    thread = started()
    thread.turn("one?", "one!", items=[])
    thread.turn("two?", "two!", activities=["ls"], items=[])
    thread.turn("three?", "three!", items=[])
    thread.report(activity("turn-2", "npm run dev"))
    assert turn_items(thread.state, thread.state.turns[1]) == [
        raw_message("user", "two?"),
        raw_message("assistant", "two!"),
    ]
    assert texts(turn_items(thread.state, thread.state.turns[2])) == ["three?", "three!"]


@pytest.mark.parametrize(
    ("keep", "kept"),
    [(0, []), (1, ["turn-3"]), (2, ["turn-2", "turn-3"]), (9, ["turn-2", "turn-3"])],
)
def test_a_compaction_keeps_whole_turns_of_the_active_context(keep: int, kept: list[str]) -> None:
    thread = started(turns=3)
    thread.clear(2)
    expected = [f"{part} of {turn_id}" for turn_id in kept for part in ("prompt", "answer")]
    assert texts(items_beside(thread.state, keep)) == expected


def test_a_generation_without_bootstrap_is_given_nothing() -> None:
    thread = started(turns=2)
    assert bootstrap_items(thread.state, thread.state.generation) == []


def test_a_summary_is_one_user_message_that_codex_does_not_take_for_its_own() -> None:
    assert summary_item("in short", 12) == raw_message(
        "user", "<conversation-summary messages=12>in short</conversation-summary>"
    )


CALLS = [
    ("function_call", "function_call_output"),
    ("custom_tool_call", "custom_tool_call_output"),
    ("local_shell_call", "function_call_output"),
    ("tool_search_call", "tool_search_output"),
]


@pytest.mark.parametrize(("call_kind", "output_kind"), CALLS)
def test_a_call_stays_with_its_result(call_kind: str, output_kind: str) -> None:
    pair = [call("c1", call_kind), output("c1", output_kind)]
    assert injectable(pair) == pair


@pytest.mark.parametrize(("call_kind", "output_kind"), CALLS)
def test_a_call_without_a_result_is_kept_and_a_result_without_a_call_is_not(
    call_kind: str, output_kind: str
) -> None:
    unanswered = [raw_message("user", "go"), call("c1", call_kind)]
    assert injectable([*unanswered, output("c2", output_kind)]) == unanswered


@pytest.mark.parametrize(("call_kind", "output_kind"), CALLS)
def test_a_call_is_answered_by_the_result_with_its_id_alone(
    call_kind: str, output_kind: str
) -> None:
    asked = [raw_message("user", "go"), call("c1", call_kind)]
    assert has_unanswered_call(asked)
    assert has_unanswered_call([*asked, output("c2", output_kind)])
    assert not has_unanswered_call([*asked, output("c1", output_kind)])


def test_only_a_call_whose_result_is_an_item_of_its_own_needs_one() -> None:
    assert not has_unanswered_call([raw_message("user", "go"), output("c1")])
    assert not has_unanswered_call([raw(type="mcp_call", call_id="m", output="done")])


def test_a_call_that_the_provider_ran_itself_is_whole() -> None:
    items = [
        raw(type="web_search_call", id="ws_1"),
        raw(type="mcp_call", call_id="m", output="done"),
    ]
    assert injectable(items) == items


def test_reasoning_is_kept_with_and_without_a_seal() -> None:
    sealed = raw(type="reasoning", encrypted_content="xyz", summary=[])
    bare = raw(type="reasoning", summary=[{"type": "summary_text", "text": "hm"}])
    thoughts = [bare, sealed, raw(type="reasoning", encrypted_content=None)]
    assert injectable(thoughts) == thoughts


def test_an_item_without_a_type_is_passed_on() -> None:
    assert injectable([raw(role="user")]) == [raw(role="user")]


def message(role: str, text: Any, **more: Any) -> dict[str, Any]:
    return {
        "type": "message",
        "role": role,
        "content": [{"type": "input_text", "text": text}],
        **more,
    }


def labelled(*kinds: str) -> dict[str, Any]:
    return {"internal_chat_message_metadata_passthrough": {"content_item_kinds": [*kinds]}}


@pytest.mark.parametrize(
    "item",
    [
        {"type": "additional_tools"},
        {"type": "configuration_update"},
        message("developer", "be brief"),
        message("system", "be brief"),
        message("user", "<environment_context>\n  <cwd>/work</cwd>"),
        message("user", "\n<user_instructions>"),
        message("user", "# AGENTS.md instructions for /work"),
        message("user", "<permissions instructions>"),
        message("user", "<environment_context>", **labelled("context.environment")),
        message("user", "<environment_context>", **labelled()),
        message("user", "<environment_context>", internal_chat_message_metadata_passthrough=None),
    ],
)
def test_items_that_codex_writes_are_preamble(item: dict[str, Any]) -> None:
    assert is_preamble(item)


@pytest.mark.parametrize(
    "item",
    [
        {},
        {"type": "function_call"},
        {"type": "reasoning"},
        {"type": "message", "role": "user"},
        {"type": "message", "role": "user", "content": "<environment_context>"},
        {"type": "message", "role": "user", "content": []},
        {"type": "message", "role": "user", "content": ["<environment_context>"]},
        {"type": "message", "role": "user", "content": [{"type": "input_image"}]},
        message("user", None),
        message("user", "What is an <environment_context>?"),
        message("user", "<environment_context> is what I ask about", **labelled("user.text")),
        message("user", "<environment_context>", **labelled("context.x", "user.text")),
        message("assistant", "<environment_context>"),
    ],
)
def test_messages_of_the_conversation_are_not_preamble(item: dict[str, Any]) -> None:
    assert not is_preamble(item)


def test_a_lost_session_is_rebuilt_from_the_active_turns() -> None:
    thread = started(turns=3)
    thread.clear(1)
    thread.turn()
    rebuilt = rebuilt_generation(thread.state)
    assert rebuilt == (ev.GenerationOpened(3, "resume", "turns", ("turn-3", "turn-4")),)
    thread.write(*rebuilt)
    assert texts(bootstrap_items(thread.state, thread.state.generation)) == [
        "prompt of turn-3",
        "answer of turn-3",
        "prompt of turn-4",
        "answer of turn-4",
    ]


def test_a_lost_session_without_turns_is_rebuilt_as_nothing() -> None:
    assert rebuilt_generation(started().state) == (ev.GenerationOpened(2, "resume", "none"),)


@pytest.mark.parametrize("keep", [None, 1])
def test_a_lost_session_gets_its_summary_again(keep: int | None) -> None:
    thread = started(turns=3)
    thread.compact("in short", keep)
    thread.turn()
    before = thread.state.generation
    (opened,) = rebuilt_generation(thread.state)
    assert isinstance(opened, ev.GenerationOpened)
    assert (opened.bootstrap, opened.summary) == ("summary", "in short")
    assert opened.summarized_messages == before.summarized_messages
    assert opened.turn_ids == (*before.turn_ids, "turn-4")


def test_a_lost_sealed_summary_is_reported_as_lost() -> None:
    thread = started(turns=3)
    thread.compact(None)
    thread.turn()
    assert rebuilt_generation(thread.state) == (
        ev.GenerationOpened(3, "resume", "turns", ("turn-4",)),
        ev.ContextLost(2, SEALED_SUMMARY_LOST),
    )


def test_a_readable_summary_that_the_provider_carried_is_not_lost_with_it() -> None:
    thread = started(turns=3)
    thread.write(ev.GenerationOpened(2, "compact", "provider", (), "in short", 6))
    assert rebuilt_generation(thread.state) == (
        ev.GenerationOpened(3, "resume", "summary", ("turn-1", "turn-2", "turn-3"), "in short", 6),
    )
