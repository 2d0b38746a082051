"""Codex's requests are shown as cards, and the answers reach Codex."""

from typing import Any, cast

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
from trimpoint.tui.model.reading import Reading, Window
from trimpoint.tui.model.state import ChatState
from trimpoint.tui.session.changes import Changes
from trimpoint.tui.session.following import Following
from trimpoint_protocol.client.messages import Notification, ServerRequest

AMEND = {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": ["ls", '"x"']}}
NETWORK = {
    "applyNetworkPolicyAmendment": {
        "network_policy_amendment": {"host": "example.org", "action": "deny"}
    }
}


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
    assert card.title == "May the agent run this command?"
    assert card.details == ("$ rm -rf x", "The agent says:", "  ␛[1m")
    assert [(one.key, one.result) for one in card.choices] == [
        ("y", {"decision": "accept"}),
        ("s", {"decision": "acceptForSession"}),
        ("n", {"decision": "decline"}),
        ("c", {"decision": "cancel"}),
    ]
    filling = Filling(COMMAND, card)
    session = filling.of_key("s")
    assert session is not None
    assert filling.take(session) == {"decision": "acceptForSession"}
    assert filling.of_key("x") is None
    assert not filling.press("1")
    filling.move(2)
    filling.mark()
    assert filling.enter("") == {"decision": "decline"}


def test_a_change_of_files_is_shown_as_a_diff() -> None:
    item = {"changes": [{"path": "a.py", "diff": "-old\n+new"}]}
    card = _card(FILE_CHANGE, {}, item)
    assert card.title == "May the agent change 1 file (+1 -1)?"
    assert card.details == ("a.py  +1 -1", "  -old", "  +new")


def test_all_changed_files_are_shown_with_their_counts_and_signs() -> None:
    item = {
        "changes": [
            {"path": "new.py", "kind": {"type": "add"}, "diff": "a\n-b\n"},
            {"path": "old.py", "kind": {"type": "delete"}, "diff": "c\n"},
            {
                "path": "a",
                "kind": {"type": "update", "move_path": "b"},
                "diff": "@@ -1 +1 @@\n-x\n+y",
            },
        ]
    }
    card = _card(FILE_CHANGE, {"grantRoot": "/w"}, item)
    assert card.title == "May the agent change 3 files (+3 -2)?"
    assert card.details == (
        "new.py  +2 -0", "  +a", "  +-b", "old.py  +0 -1", "  -c", "a → b  +1 -1",
        "  @@ -1 +1 @@", "  -x", "  +y", "It also asks to write below /w for the session.",
    )  # fmt: skip


@pytest.mark.parametrize("method", [COMMAND, FILE_CHANGE])
def test_what_is_not_known_here_cannot_be_allowed_here(method: str) -> None:
    card = _card(method, {"availableDecisions": ["accept", AMEND, "decline", "cancel"]})
    assert [one.key for one in card.choices] == ["n", "c"]
    assert "cannot be allowed here" in card.details[0]


def test_nothing_of_a_command_can_be_overlooked() -> None:
    command = "echo a" + 500 * " " + "; rm -rf /" + 100 * "\n" + "\u200b\u202e\x1b[2Kend"
    card = _card(COMMAND, {"command": command, "cwd": "/work/shop"})
    assert card.title == "May the agent run this command of 101 lines?"
    assert card.folder == "/work/shop"
    assert card.details[0] == "$ echo a ⟨500 blanks⟩ ; rm -rf /"
    assert card.details[1] == "  ⟨99 empty lines⟩"
    assert not set("\u202e\x1b") & set("".join(card.details))


def test_a_text_that_does_not_fit_is_read_in_parts() -> None:
    reading = Reading(("abcdef", "", "g"))
    assert reading.window(3, 9) == Window(["abc", "def", "", "g"], 1, 4)
    assert reading.window(3, 2) == Window(["abc", "def"], 1, 4)
    reading.scroll(9)
    assert reading.window(3, 2) == Window(["", "g"], 3, 4)
    assert not reading.window(3, 2).is_whole


def test_a_lasting_permission_has_a_second_step() -> None:
    card = _card(COMMAND, {"command": "ls", "availableDecisions": ["accept", AMEND, NETWORK]})
    assert [one.rule for one in card.choices] == [
        "", 'prefix_rule(pattern=["ls", "\\"x\\""], decision="allow")',
        'network_rule(host="example.org", decision="deny")',
    ]  # fmt: skip
    filling = Filling(COMMAND, card)
    filling.move(1)
    assert filling.enter("") is None
    assert filling.lines == ["no, go back", "yes, write it"]
    assert filling.enter("") is None
    assert filling.pending is None
    filling.move(1)
    filling.enter("")
    assert filling.go_back()
    assert not filling.go_back()
    filling.enter("")
    filling.move(2)
    filling.enter("")
    filling.move(1)
    assert filling.enter("") == {"decision": NETWORK}


def test_permissions_are_given_for_the_turn_the_session_or_not() -> None:
    asked = {"network": {"enabled": True}}
    card = _card(PERMISSIONS, {"permissions": asked})
    assert card.details == ("the network",)
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
    assert [bool(one.rule) for one in card.choices] == [False, False, True, False]
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


def test_a_question_that_ends_with_its_turn_is_not_said_to_be_answered_elsewhere() -> None:
    for is_own in (True, False):
        state, nothing = ChatState("/work", "t"), cast("Any", None)
        following = Following(nothing, nothing, state, Changes())
        params = b'{"threadId":"t","command":"ls"}'
        following.take(ServerRequest(COMMAND, params, 1, nothing))
        assert state.question is not None
        state.ends_questions = is_own
        following.take(Notification("serverRequest/resolved", b'{"threadId":"t","requestId":1}'))
        assert state.question is None
        assert (state.notice is None) == is_own
