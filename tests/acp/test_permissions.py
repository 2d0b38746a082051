"""Codex's requests are sent to the person at the editor, and to no other client."""

import sys
from pathlib import Path
from typing import Any

import pytest
from trimpoint.testkit import Reply, run, say

from tests.acp.editor import EVERYTHING, Editor, opened_editor
from tests.e2e import asking_mcp_server
from tests.e2e.conftest import Harness

pytestmark = pytest.mark.codex

ASK = "session/request_permission"
PATCH = """\
*** Begin Patch
*** Update File: a.txt
@@
 one
-two
+2
 three
*** End Patch
"""


def _choosing(kind: str) -> Any:
    def answer(params: dict[str, Any]) -> dict[str, Any]:
        chosen = next(one["optionId"] for one in params["options"] if one["kind"] == kind)
        return {"outcome": {"outcome": "selected", "optionId": chosen}}

    return answer


async def _asking_session(harness: Harness, editor: Editor) -> str:
    session_id = await editor.new_session(harness)
    await editor.request("session/set_mode", sessionId=session_id, modeId="ask")
    return session_id


async def test_a_command_that_is_allowed_runs_and_shows_its_output(
    harness: Harness, editor: Editor
) -> None:
    session_id = await _asking_session(harness, editor)
    editor.answer[ASK] = _choosing("allow_once")
    harness.script.then(run("touch made.txt && echo done-it"), say("Made."))
    assert await editor.prompt(session_id, "Make it.") == {"stopReason": "end_turn"}
    [question] = editor.questions(ASK)
    call_ = question["params"]["toolCall"]
    assert call_["title"] == "touch made.txt && echo done-it"
    assert call_["kind"] == "execute"
    assert {one["kind"] for one in question["params"]["options"]} >= {"allow_once", "reject_once"}
    assert (harness.worktree / "made.txt").exists()
    ended = await editor.update("tool_call_update", status="completed")
    assert ended["toolCallId"] == call_["toolCallId"]
    assert "done-it" in ended["content"][0]["content"]["text"]


async def test_a_command_that_is_rejected_does_not_run_and_the_turn_continues(
    harness: Harness, editor: Editor
) -> None:
    session_id = await _asking_session(harness, editor)
    editor.answer[ASK] = _choosing("reject_once")
    harness.script.then(run("touch made.txt"), say("Then not."))
    assert await editor.prompt(session_id, "Make it.") == {"stopReason": "end_turn"}
    assert not (harness.worktree / "made.txt").exists()
    assert editor.said() == "Then not."
    await editor.update("tool_call_update", status="failed")


async def test_a_question_that_the_person_dismisses_is_a_rejection(
    harness: Harness, editor: Editor
) -> None:
    session_id = await _asking_session(harness, editor)
    editor.answer[ASK] = lambda params: {"outcome": {"outcome": "cancelled"}}
    harness.script.then(run("touch made.txt"), say("Then not."))
    assert await editor.prompt(session_id, "Make it.") == {"stopReason": "end_turn"}
    assert not (harness.worktree / "made.txt").exists()


async def test_a_cancel_while_a_question_is_open_ends_the_prompt(
    harness: Harness, editor: Editor
) -> None:
    session_id = await _asking_session(harness, editor)
    harness.script.then(run("touch made.txt"), say("Never said."))
    prompt = await editor.begin_prompt(session_id, "Make it.")
    question = await editor.until(lambda message: message.get("method") == ASK)
    await editor.notify("session/cancel", sessionId=session_id)
    await editor.reply(question, {"outcome": {"outcome": "cancelled"}})
    assert await editor.result_of(prompt) == {"stopReason": "cancelled"}
    assert not (harness.worktree / "made.txt").exists()
    await editor.update("tool_call_update", status="failed")


async def test_a_cancel_ends_the_prompt_of_an_editor_that_leaves_the_question_open(
    harness: Harness, editor: Editor
) -> None:
    session_id = await _asking_session(harness, editor)
    harness.script.then(run("touch made.txt"), say("Never said."))
    prompt = await editor.begin_prompt(session_id, "Make it.")
    question = await editor.until(lambda message: message.get("method") == ASK)
    await editor.notify("session/cancel", sessionId=session_id)
    assert await editor.result_of(prompt) == {"stopReason": "cancelled"}
    taken_back = await editor.until(lambda message: message.get("method") == "$/cancel_request")
    assert taken_back["params"] == {"requestId": question["id"]}
    assert await editor.prompt(session_id, "And now?") == {"stopReason": "end_turn"}


async def test_a_lasting_permission_is_not_asked_for_again(
    harness: Harness, editor: Editor
) -> None:
    session_id = await _asking_session(harness, editor)
    editor.answer[ASK] = _choosing("allow_always")
    harness.script.then(run("touch made.txt"), run("touch made.txt"), say("Twice."))
    await editor.prompt(session_id, "Make it twice.")
    assert len(editor.questions(ASK)) == 2, "the question and its second step"
    assert editor.said() == "Twice."


async def _lasting(harness: Harness, editor: Editor) -> tuple[str, int, dict[str, Any]]:
    """Lets the agent ask, chooses the lasting permission, and returns the session, the prompt and
    the second question.
    """
    session_id = await _asking_session(harness, editor)
    harness.script.then(run("touch made.txt"), say("So be it."), say("After."))
    prompt = await editor.begin_prompt(session_id, "Make it.")
    first = await editor.until(lambda message: message.get("method") == ASK)
    lasting = _choosing("allow_always")
    offered = [one["name"] for one in first["params"]["options"]]
    assert offered[1] == "Always allow commands starting with `touch made.txt` …"
    await editor.reply(first, lasting(first["params"]))
    second = await editor.until(
        lambda message: message.get("method") == ASK and message["id"] != first["id"]
    )
    return session_id, prompt, second


def _rules(harness: Harness) -> str:
    return "".join(path.read_text() for path in (harness.codex_home / "rules").glob("*"))


@pytest.mark.each_case(reason="each row is another answer")
@pytest.mark.parametrize(
    ("choice", "is_made", "is_written"),
    [
        ("allow_once", True, False), ("allow_always", True, True), ("reject_once", False, False),
        (None, False, False),
    ],
)  # fmt: skip
async def test_a_lasting_permission_is_given_in_a_second_step_that_shows_the_rule(
    harness: Harness, editor: Editor, choice: str | None, is_made: bool, is_written: bool
) -> None:
    _, prompt, second = await _lasting(harness, editor)
    rule = 'prefix_rule(pattern=["touch", "made.txt"], decision="allow")'
    assert rule in str(second["params"]["toolCall"]["content"])
    assert [rule in one["name"] for one in second["params"]["options"]] == [False, True, False]
    assert _rules(harness) == ""
    dismissed = {"outcome": {"outcome": "cancelled"}}
    answer = dismissed if choice is None else _choosing(choice)(second["params"])
    await editor.reply(second, answer)
    assert await editor.result_of(prompt) == {"stopReason": "end_turn"}
    assert (harness.worktree / "made.txt").exists() == is_made
    assert ("made.txt" in _rules(harness)) == is_written


async def test_a_cancel_in_the_second_step_of_a_permission_cancels_the_prompt(
    harness: Harness, editor: Editor
) -> None:
    session_id, prompt, second = await _lasting(harness, editor)
    await editor.notify("session/cancel", sessionId=session_id)
    await editor.reply(second, {"outcome": {"outcome": "cancelled"}})
    assert await editor.result_of(prompt) == {"stopReason": "cancelled"}
    assert not (harness.worktree / "made.txt").exists()
    assert _rules(harness) == ""
    assert await editor.prompt(session_id, "And now?") == {"stopReason": "end_turn"}


async def test_a_file_change_is_asked_for_with_its_whole_diff(
    harness: Harness, editor: Editor
) -> None:
    (harness.worktree / "a.txt").write_text("zero\none\ntwo\nthree\nfour\n")
    session_id = await editor.new_session(harness)
    await editor.request("session/set_mode", sessionId=session_id, modeId="read-only")
    editor.answer[ASK] = _choosing("allow_once")
    harness.script.then(run(f"apply_patch <<'EOF'\n{PATCH}EOF"), say("Changed."))
    assert await editor.prompt(session_id, "Change it.") == {"stopReason": "end_turn"}
    assert (harness.worktree / "a.txt").read_text() == "zero\none\n2\nthree\nfour\n"
    [question] = editor.questions(ASK)
    [diff] = question["params"]["toolCall"]["content"][:1]
    assert diff == {
        "type": "diff",
        "path": str(harness.worktree / "a.txt"),
        "oldText": "zero\none\ntwo\nthree\nfour\n",
        "newText": "zero\none\n2\nthree\nfour\n",
    }
    [begun] = editor.updates("tool_call")
    assert begun["content"] == [diff]
    assert begun["locations"] == [{"path": str(harness.worktree / "a.txt"), "line": 2}]


async def test_a_question_that_another_client_answers_is_taken_back(
    harness: Harness, editor: Editor
) -> None:
    session_id = await _asking_session(harness, editor)
    harness.script.then(run("touch made.txt"), say("Made."))
    async with harness.client() as other:
        await other.request("thread/resume", threadId=session_id)
        prompt = await editor.begin_prompt(session_id, "Make it.")
        await editor.until(lambda message: message.get("method") == ASK)
        asked = await other.received("item/commandExecution/requestApproval")
        other.answer(asked, {"decision": "accept"})
        assert await editor.result_of(prompt) == {"stopReason": "end_turn"}
    await editor.until(lambda message: message.get("method") == "$/cancel_request")
    assert (harness.worktree / "made.txt").exists()


def _asking(server: str) -> Reply:
    """Returns a reply in which the model calls the asking tool of an MCP server."""
    tool = {"namespace": f"mcp__{server}", "name": "ask", "arguments": "{}"}
    return Reply(items=[{"type": "function_call", **tool}])


def _asking_server(name: str = "asking") -> dict[str, Any]:
    return {
        "name": name,
        "command": sys.executable,
        "args": [str(Path(asking_mcp_server.__file__))],
        "env": [],
    }


async def test_an_mcp_server_of_the_editor_asks_the_person_by_a_form(harness: Harness) -> None:
    async with opened_editor(harness) as editor:
        await editor.introduce(**EVERYTHING)
        editor.answer[ASK] = _choosing("allow_once")
        editor.answer["elicitation/create"] = lambda params: {
            "action": "accept",
            "content": {"colour": "green"},
        }
        session_id = await editor.new_session(harness, mcpServers=[_asking_server("my server")])
        await editor.request("session/set_mode", sessionId=session_id, modeId="ask")
        harness.script.then(_asking("my_server"), say("Green it is."))
        assert await editor.prompt(session_id, "Ask me.") == {"stopReason": "end_turn"}
        [form] = editor.questions("elicitation/create")
        assert form["params"]["requestedSchema"]["properties"] == {"colour": {"type": "string"}}
        assert harness.model.requests[-1].mentions("green")


async def test_an_editor_without_forms_declines_what_it_cannot_show(
    harness: Harness, editor: Editor
) -> None:
    editor.answer[ASK] = _choosing("allow_once")
    session_id = await editor.new_session(harness, mcpServers=[_asking_server()])
    harness.script.then(_asking("asking"), say("Then not."))
    assert await editor.prompt(session_id, "Ask me.") == {"stopReason": "end_turn"}
    assert harness.model.requests[-1].mentions("decline")
