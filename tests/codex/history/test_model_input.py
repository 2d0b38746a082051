"""The model's next input is derived from a rollout."""

from typing import Any

import msgspec
from trimpoint.codex.history.model_input import model_input, own_beginning


def line(kind: str, **payload: Any) -> bytes:
    return msgspec.json.encode({"type": kind, "payload": payload})


def item(role: str, text: str) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]}


def texts(items: list[bytes]) -> list[str]:
    return [msgspec.json.decode(one)["content"][0]["text"] for one in items]


META = line("session_meta", base_instructions={"text": "You are"})


def test_instructions_come_first_and_then_the_items_in_order() -> None:
    lines = [
        META,
        line("response_item", **item("user", "<environment_context>")),
        line("event_msg", type="task_started"),
        b"damage",
        line("response_item", **item("user", "hello")),
    ]
    found = model_input(lines)
    assert texts(found) == ["You are", "<environment_context>", "hello"]
    assert texts(own_beginning(found)) == ["You are", "<environment_context>"]
    assert own_beginning(found[:1]) == found[:1]


def test_the_replacement_history_of_a_compaction_replaces_earlier_items() -> None:
    lines = [
        META,
        line("response_item", **item("user", "gone")),
        line("compacted", message="", replacement_history=[item("user", "kept")]),
        line("response_item", **item("user", "after")),
    ]
    assert texts(model_input(lines)) == ["You are", "kept", "after"]


def test_a_compaction_that_does_not_say_what_it_put_there_replaces_nothing() -> None:
    lines = [line("response_item", **item("user", "kept")), line("compacted", message="x")]
    assert texts(model_input(lines)) == ["kept"]


def test_a_file_without_instructions_has_the_items_alone() -> None:
    assert model_input([line("session_meta", id="x")]) == []
