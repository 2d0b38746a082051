"""Codex's requests are shown as cards, and the answers reach Codex."""

from typing import Any

import pytest
from trimpoint.tui.model.filling import Filling
from trimpoint.tui.model.questions import (
    COMMAND,
    ELICITATION,
    FILE_CHANGE,
    PERMISSIONS,
    USER_INPUT,
    Card,
    Field,
    FieldKind,
    card_of,
    value_of,
)


def _card(method: str, params: dict[str, Any], item: dict[str, Any] | None = None) -> Card:
    card = card_of(method, params, item or {})
    assert card is not None
    return card


def test_a_command_is_approved_by_the_decisions_that_codex_offers() -> None:
    offered = ["accept", "acceptForSession", "decline", "cancel"]
    card = _card(
        COMMAND,
        {"command": "/bin/bash -lc 'rm -rf x'", "availableDecisions": offered, "reason": "\x1b[1m"},
    )
    assert card.title == "May the agent run rm -rf x?"
    assert card.details == ("␛[1m",)
    assert [(one.key, one.result) for one in card.choices] == [
        ("y", {"decision": "accept"}),
        ("s", {"decision": "acceptForSession"}),
        ("n", {"decision": "decline"}),
        ("c", {"decision": "cancel"}),
    ]
    filling = Filling(COMMAND, card)
    assert filling.result_of_key("s") == {"decision": "acceptForSession"}
    assert filling.result_of_key("x") is None
    assert not filling.press("1")
    filling.move(2)
    filling.mark()
    assert filling.enter("") == {"decision": "decline"}


def test_a_change_of_files_is_shown_as_a_diff() -> None:
    item = {"changes": [{"path": "a.py", "diff": "-old\n+new"}]}
    card = _card(FILE_CHANGE, {}, item)
    assert card.title == "May the agent change a.py?"
    assert card.details == ("a.py", "  -old", "  +new")


def test_permissions_are_given_for_the_turn_the_session_or_not() -> None:
    asked = {"network": {"enabled": True}}
    card = _card(PERMISSIONS, {"permissions": asked})
    assert "the network" in card.title
    assert [one.result for one in card.choices] == [
        {"permissions": asked, "scope": "turn"},
        {"permissions": asked, "scope": "session"},
        {"permissions": {}, "scope": "turn"},
    ]


def test_questions_are_answered_one_after_the_other() -> None:
    params = {
        "questions": [
            {"id": "a", "question": "Which?", "isOther": True,
             "options": [{"label": "x", "description": "the first"}, {"label": "y"}]},
            {"id": "b", "header": "Secret", "isSecret": True},
        ]
    }  # fmt: skip
    filling = Filling(USER_INPUT, _card(USER_INPUT, params))
    assert (filling.progress, filling.lines) == ("1 of 2", ["x: the first", "y"])
    assert filling.press("2")
    assert not filling.press("3")
    assert filling.enter("") is None
    field = filling.field
    assert field is not None
    assert (field.title, field.is_secret, filling.lines) == ("Secret", True, [])
    filling.move(1)
    assert filling.enter(" ") is None
    assert filling.problem == "It needs an answer."
    assert filling.enter("hush") == {
        "answers": {"a": {"answers": ["y"]}, "b": {"answers": ["hush"]}}
    }


def test_another_answer_than_the_options_can_be_typed() -> None:
    params = {
        "questions": [{"id": "a", "question": "?", "isOther": True, "options": [{"label": "x"}]}]
    }
    assert Filling(USER_INPUT, _card(USER_INPUT, params)).enter("mine") == {
        "answers": {"a": {"answers": ["mine"]}}
    }


def test_a_form_of_an_mcp_server_is_filled_in_by_type() -> None:
    schema = {
        "properties": {
            "name": {"type": "string", "title": "Name", "description": "Yours", "default": "me"},
            "age": {"type": "integer"},
            "size": {"type": "number"},
            "ok": {"type": "boolean", "title": "Sure"},
            "one": {"type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"]},
            "two": {"type": "string", "oneOf": [{"const": "c", "title": "C"}, {"const": "d"}]},
            "many": {"type": "array", "items": {"enum": ["p", "q"]}},
            "more": {"type": "string"},
        },
        "required": ["name", "age", "size", "ok", "one", "two", "many"],
    }
    params = {"mode": "form", "serverName": "srv", "message": "Fill", "requestedSchema": schema}
    card = _card(ELICITATION, params)
    assert (card.title, card.details, card.declined) == (
        "srv asks",
        ("Fill",),
        {"action": "decline"},
    )
    assert (card.fields[0].title, card.fields[0].default) == ("Name: Yours", "me")
    filling = Filling(ELICITATION, card)
    filling.enter("Ann")
    filling.enter("young")
    assert filling.problem == "Enter a whole number."
    filling.enter("33")
    filling.enter("tall")
    assert filling.problem == "Enter a number."
    filling.enter("1.5")
    filling.enter("")
    assert filling.lines == ["A", "B"]
    filling.move(1)
    filling.enter("")
    assert filling.lines == ["C", "d"]
    filling.enter("")
    filling.enter("")
    assert filling.problem == "Mark at least one with the space bar."
    filling.mark()
    filling.move(1)
    filling.mark()
    filling.enter("")
    content = {
        "name": "Ann", "age": 33, "size": 1.5, "ok": True, "one": "b", "two": "c", "many": ["p", "q"],
    }  # fmt: skip
    assert filling.enter("") == {"action": "accept", "content": content}


def test_a_tool_is_allowed_once_or_for_longer() -> None:
    meta = {"codex_approval_kind": "mcp_tool_call", "persist": ["session", "always", "odd"]}
    card = _card(ELICITATION, {"message": "Run it?", "_meta": meta})
    assert [one.key for one in card.choices] == ["y", "s", "a", "n"]
    assert card.choices[1].result["_meta"] == {"persist": "session"}
    assert card.title == "An MCP server asks"
    once = _card(ELICITATION, {"_meta": {"persist": "session"}})
    assert [one.key for one in once.choices] == ["y", "s", "n"]


def test_an_address_is_shown_and_confirmed() -> None:
    card = _card(ELICITATION, {"mode": "url", "url": "https://x", "message": "Log in"})
    assert card.details == ("Log in", "https://x")
    assert card.choices[0].result == {"action": "accept", "content": {}}


def test_other_questions_are_left_to_other_clients() -> None:
    assert card_of("item/tool/call", {}, {}) is None


@pytest.mark.parametrize(
    ("field", "text", "value"),
    [
        (Field("a", "A", FieldKind.ONE, (("x", 1),)), "typed", None),
        (Field("a", "A", FieldKind.TEXT, is_free=True), " typed ", "typed"),
        (Field("a", "A", FieldKind.TEXT, is_free=True), "", None),
    ],
)
def test_only_what_a_field_takes_is_a_value(field: Field, text: str, value: object) -> None:
    assert value_of(field, text) == value
