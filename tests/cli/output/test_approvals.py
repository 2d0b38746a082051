"""Codex's requests, and the answers that the keys of a person give."""

from typing import Any

import pytest
from trimpoint.cli import keyboard
from trimpoint.cli.views.approvals import answer_question

COMMAND = "item/commandExecution/requestApproval"
FILES = "item/fileChange/requestApproval"
NETWORK = {
    "applyNetworkPolicyAmendment": {
        "network_policy_amendment": {"host": "example.org", "action": "deny"}
    }
}
AMEND = {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": ["ls"]}}


class Client:
    """A client that records what would be sent."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []

    def answer(self, question: dict[str, Any], result: Any) -> None:
        self.sent.append({"id": question["id"], "result": result})

    def refuse(self, question: dict[str, Any], reason: str) -> None:
        self.sent.append({"id": question["id"], "error": reason})


async def answer(
    monkeypatch: pytest.MonkeyPatch, typed: list[str | None] | None, method: str, **params: Any
) -> dict[str, Any]:
    """Returns the answer to a request; `typed` is None without a terminal."""
    lines = list(typed or [])

    async def typed_line() -> str | None:
        return lines.pop(0)

    monkeypatch.setattr(keyboard, "is_there", lambda: typed is not None)
    monkeypatch.setattr(keyboard, "typed_line", typed_line)
    client = Client()
    await answer_question(client, {"id": "q1", "method": method, "params": params})  # type: ignore[arg-type]
    assert lines == []
    [message] = client.sent
    assert message.pop("id") == "q1"
    return message


@pytest.mark.parametrize(
    ("typed", "offered", "decision"),
    [
        (["y"], ["accept", AMEND, "cancel"], "accept"),
        (["Y"], None, "accept"),
        (["s"], None, "acceptForSession"),
        (["n"], None, "decline"),
        (["c"], None, "cancel"),
        (["n"], ["accept", "cancel"], "cancel"),
        (["a", "y"], ["accept", AMEND, "cancel"], AMEND),
        (["a", "n", "y"], ["accept", AMEND, "cancel"], "accept"),
        (["d", "y"], ["accept", NETWORK, "cancel"], NETWORK),
        (["2"], ["accept", {"something": "new"}, "cancel"], {"something": "new"}),
        (["", "what", "3", "y"], ["accept", "cancel"], "accept"),
        ([None], ["accept", "decline", "cancel"], "cancel"),
        (None, ["accept", "decline", "cancel"], "decline"),
        (None, ["accept", "cancel"], "cancel"),
    ],
)
async def test_only_an_offered_decision_is_given(
    monkeypatch: pytest.MonkeyPatch,
    typed: list[str | None] | None,
    offered: list[Any] | None,
    decision: Any,
) -> None:
    for method, params in (
        (COMMAND, {"command": "rm x", "reason": "why not", "cwd": "/w"}),
        (FILES, {}),
    ):
        sent = await answer(monkeypatch, typed, method, availableDecisions=offered, **params)
        assert sent == {"result": {"decision": decision}}


async def test_a_long_command_is_shown_whole_with_the_number_of_its_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = "\n".join(f"echo line-{number}" for number in range(1, 121))
    await answer(monkeypatch, ["n"], COMMAND, command=command, cwd="/w")
    shown = capsys.readouterr().err
    assert "| echo line-1\n" in shown
    assert "| echo line-120\n" in shown
    assert "120 lines in all" in shown


async def test_what_is_hidden_in_a_long_command_is_seen(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = "echo a" + " " * 400 + "; rm x\n" + "\n" * 60 + "\x1b[2Jecho end"
    await answer(monkeypatch, ["n"], COMMAND, command=command, cwd="/w")
    shown = capsys.readouterr().err
    assert "⟨400 blanks⟩ ; rm x" in shown
    assert "⟨60 empty lines⟩" in shown
    assert "\x1b" not in shown


@pytest.mark.parametrize(
    ("typed", "granted"), [(["y"], {"network": {"enabled": True}}), (["n"], {}), (None, {})]
)
async def test_permissions_are_granted_for_the_turn_or_not_at_all(
    monkeypatch: pytest.MonkeyPatch, typed: list[str | None] | None, granted: dict[str, Any]
) -> None:
    wanted = {"network": {"enabled": True}}
    sent = await answer(
        monkeypatch,
        typed,
        "item/permissions/requestApproval",
        permissions=wanted,
        reason="to look it up",
    )
    assert sent == {"result": {"permissions": granted, "scope": "turn"}}


async def test_user_input_is_an_option_by_number_or_free_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    questions = [
        {
            "id": "a",
            "header": "A",
            "question": "Which?",
            "options": [{"label": "red"}, {"label": "blue"}],
        },
        {"id": "b", "header": "B", "question": "Why?", "options": None},
        {"id": "c", "header": "C", "question": "When?"},
    ]
    sent = await answer(
        monkeypatch, ["2", "because 7", None], "item/tool/requestUserInput", questions=questions
    )
    assert sent == {
        "result": {
            "answers": {
                "a": {"answers": ["blue"]},
                "b": {"answers": ["because 7"]},
                "c": {"answers": [""]},
            }
        }
    }


@pytest.mark.parametrize("method", ["item/tool/call", "item/tool/requestUserInput"])
async def test_a_question_that_the_command_line_cannot_answer_stays_open_for_others(
    monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    sent = await answer(monkeypatch, None, method)
    assert sent["error"] == "trimpoint's command line does not answer this"


@pytest.mark.parametrize(
    ("method", "params", "item", "words"),
    [
        (COMMAND, {"command": "/bin/bash -lc 'rm -f LICENSE'"}, {}, ["asks to run rm -f LICENSE"]),
        (COMMAND, {"command": "x", "availableDecisions": ["accept", AMEND]}, {}, ["[a] yes, and never ask again for `ls`"]),
        (COMMAND, {"command": "x", "availableDecisions": ["accept", NETWORK]}, {}, ["[d] no, and never allow example.org"]),
        (COMMAND, {"networkApprovalContext": {"host": "example.org"}}, {}, ["asks to reach example.org over the network"]),
        (FILES, {}, {"changes": [{"path": "a.py"}, {"path": "b.py"}]}, ["asks to change a.py, b.py"]),
        (
            "item/permissions/requestApproval",
            {"permissions": {"network": {"enabled": True}, "fileSystem": {"write": ["/w"], "entries": [
                {"access": "read", "path": {"type": "special", "value": {"kind": "tmpdir"}}}]}}},
            {},
            ["more permissions: the network, to write /w, to read tmpdir"],
        ),
    ],
)  # fmt: skip
async def test_a_question_is_put_in_words_and_so_is_what_came_of_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], method: str, params: dict[str, Any],
    item: dict[str, Any], words: list[str],
) -> None:  # fmt: skip
    async def typed_line() -> str:
        return "y"

    monkeypatch.setattr(keyboard, "is_there", lambda: True)
    monkeypatch.setattr(keyboard, "typed_line", typed_line)
    await answer_question(Client(), {"id": 1, "method": method, "params": params}, item)  # type: ignore[arg-type]
    said = " ".join(capsys.readouterr().err.split())
    assert all(part in said for part in words), said
    assert "Allowed" in said
    assert "{" not in said
