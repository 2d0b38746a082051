"""Codex's questions as permissions of an editor, and the answers."""

from trimpoint.acp.translate import permissions

from tests.acp.json_values import as_json


def test_decisions_are_sent_back_exactly_as_they_were_offered() -> None:
    amend = {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": ["touch", "x"]}}
    host = {
        "applyNetworkPolicyAmendment": {"network_policy_amendment": {"action": "deny", "host": "h"}}
    }
    params = {
        "itemId": "1",
        "command": "touch x",
        "availableDecisions": ["accept", amend, host, "cancel"],
    }
    permission = permissions.command_permission(params, None)
    assert [one.kind for one in permission.options] == [
        "allow_once", "allow_always", "reject_always", "reject_once",
    ]  # fmt: skip
    assert permission.options[1].name == "Always allow commands starting with `touch x` …"
    assert permission.answer("1") == {"decision": amend}
    assert permission.answer("2") == {"decision": host}
    assert permission.answer("nonsense") == {"decision": "decline"}
    always, never = (permission.second_step(place) for place in ("1", "2"))
    assert permission.second_step("0") is permission.second_step("nonsense") is None
    assert always is not None
    assert never is not None
    rule = 'prefix_rule(pattern=["touch", "x"], decision="allow")'
    assert [(one.kind, rule in one.name) for one in always.options] == [
        ("allow_once", False), ("allow_always", True), ("reject_once", False),
    ]  # fmt: skip
    assert rule in str(as_json(always.request("s"))["toolCall"]["content"])
    assert always.answer("1") == {"decision": amend}
    assert always.second_step("1") is None
    assert [one.kind for one in never.options] == ["reject_once", "reject_always"]
    assert never.answer("1") == {"decision": host}


def test_what_is_hidden_in_a_permission_is_named_and_an_unknown_change_cannot_be_allowed() -> None:
    amend = {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": ["rm\u202e", "x"]}}
    params = {"itemId": "1", "command": "rm\u200b x", "reason": "a\u2066b"}
    asked = permissions.command_permission({**params, "availableDecisions": [amend]}, None)
    shown = as_json(asked.request("s"))
    assert "\u200b" not in shown["toolCall"]["title"]
    assert "rm⟨U+202E⟩ x" in str([one["name"] for one in shown["options"]])
    assert "a⟨U+2066⟩b" in str(shown["toolCall"]["content"])
    change = as_json(permissions.file_change_permission({"itemId": "2"}, None).request("s"))
    assert [one["kind"] for one in change["options"]] == ["reject_once"]
    assert "not known here" in str(change["toolCall"]["content"])


def test_wider_permissions_and_tools_and_choices_are_permissions() -> None:
    wider = permissions.wider_permission(
        {"itemId": "1", "permissions": {"network": {}}, "reason": "r"}
    )
    assert wider.answer("1") == {"permissions": {"network": {}}, "scope": "session"}
    asked = {
        "_meta": {"codex_approval_kind": "mcp_tool_call", "persist": ["session", "always"]},
        "message": "May I?",
    }
    assert permissions.is_tool_approval(asked)
    tool = permissions.tool_permission(asked, None)
    assert tool.answer("1")["_meta"] == {"persist": "session"}
    assert tool.second_step("1") is None
    assert "every thread" in str(as_json(tool.second_step("2")))
    question = {"id": "q", "question": "Which?", "options": [{"label": "a"}, {"label": "b"}]}
    choice = permissions.question_permission({"itemId": "1", "questions": [question]})
    assert choice is not None
    assert choice.answer("1") == {"answers": {"q": {"answers": ["b"]}}}
    assert permissions.question_permission({"questions": [{**question, "isSecret": True}]}) is None
