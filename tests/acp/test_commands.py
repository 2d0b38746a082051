"""Slash commands in an editor: they are listed, executed with their arguments, and affect the
model's input.
"""

from collections.abc import Callable
from typing import Any

import anyio
import pytest
from trimpoint.testkit import hang, say

from tests.acp.editor import Editor, opened_editor
from tests.e2e.conftest import Harness

pytestmark = pytest.mark.codex
ASK = "session/request_permission"


async def _turns(harness: Harness, editor: Editor, session_id: str, count: int) -> None:
    for number in range(1, count + 1):
        harness.script.then(say(f"answer-{number}."))
        await editor.prompt(session_id, f"prompt-{number}.")


async def test_commands_are_advertised_with_what_may_follow_them(
    harness: Harness, editor: Editor
) -> None:
    await editor.new_session(harness)
    [update] = editor.updates("available_commands_update")
    commands = {one["name"]: one for one in update["availableCommands"]}
    assert commands["clear"]["input"] == {"hint": "[N] [--force] [--dry-run]"}
    assert {"compact", "compress", "revert", "new", "help", "trim", "status", "context"} <= set(
        commands
    )


@pytest.mark.parametrize("command", ["/clear 1", "/trim 1", ":clear 1", " /CLEAR 1\n"])
async def test_a_clear_takes_the_earlier_turns_from_the_model(
    harness: Harness, editor: Editor, command: str
) -> None:
    session_id = await editor.new_session(harness)
    await _turns(harness, editor, session_id, 3)
    after = len(editor.received)
    answer = await editor.prompt(session_id, command)
    assert answer["stopReason"] == "end_turn"
    assert answer["_meta"]["trimpoint"]["status"] == "completed"
    assert editor.said(after=after).startswith("Context cleared: 4 messages in 2 turns left it")
    [trim] = editor.updates("compaction_update", after=after)
    assert trim["status"] == "completed"
    assert trim["compactionId"] == answer["_meta"]["trimpoint"]["operationId"]
    assert editor.updates("usage_update", after=after)
    await editor.prompt(session_id, "prompt-4.")
    request = harness.model.requests[-1]
    assert request.mentions("answer-3.")
    assert request.mentions("prompt-4.")
    assert not request.mentions("answer-2.")
    assert not any(
        one.mentions("1 turn") or one.mentions("lear 1") for one in harness.model.requests
    )


KEEP_NOTHING, KEEP_ONE, KEEP_EVERYTHING = -1, 1, 0


def _choosing(choice: int | None, names: list[str]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Returns what answers a question whose choices have these names; None cancels it."""

    def answer(params: dict[str, Any]) -> dict[str, Any]:
        assert [one["name"] for one in params["options"]] == names
        if choice is None:
            return {"outcome": {"outcome": "cancelled"}}
        chosen = params["options"][choice]["optionId"]
        return {"outcome": {"outcome": "selected", "optionId": chosen}}

    return answer


@pytest.mark.each_case(reason="each row is another answer")
@pytest.mark.parametrize(
    ("choice", "known"),
    [
        (KEEP_NOTHING, []), (KEEP_ONE, ["answer-3."]),
        (KEEP_EVERYTHING, ["answer-1.", "answer-2.", "answer-3."]),
        (None, ["answer-1.", "answer-2.", "answer-3."]),
    ],
)  # fmt: skip
async def test_a_clear_without_a_number_lets_the_person_choose(
    harness: Harness, editor: Editor, choice: int | None, known: list[str]
) -> None:
    session_id = await editor.new_session(harness)
    await _turns(harness, editor, session_id, 3)

    names = [
        "Keep everything", "Keep the last turn: prompt-3.",
        "Keep the last 2 turns, from: prompt-2.", "Keep nothing",
    ]  # fmt: skip
    editor.answer[ASK] = _choosing(choice, names)
    after = len(editor.received)
    told = (await editor.prompt(session_id, "/clear"))["_meta"]["trimpoint"]
    is_cleared = choice in (KEEP_NOTHING, KEEP_ONE)
    assert told["status"] == ("completed" if is_cleared else "skipped")
    assert ("/clear 3 keeps the last 3 turns" in editor.said(after=after)) != is_cleared
    assert len(editor.questions(ASK)) == 1
    await editor.prompt(session_id, "And now?")
    answers = [f"answer-{number}." for number in (1, 2, 3)]
    assert [one for one in answers if harness.model.requests[-1].mentions(one)] == known


@pytest.mark.each_case(reason="each row is another answer")
@pytest.mark.parametrize(("choice", "known"), [(0, [1, 2, 3]), (1, [1, 2]), (2, [1]), (3, [])])
async def test_a_revert_without_a_turn_lets_the_person_choose(
    harness: Harness, editor: Editor, choice: int, known: list[int]
) -> None:
    session_id = await editor.new_session(harness)
    await _turns(harness, editor, session_id, 3)

    names = [
        "Leave everything as it is", "Back to after turn 2: prompt-2.",
        "Back to after turn 1: prompt-1.", "Back to before the first turn",
    ]  # fmt: skip
    editor.answer[ASK] = _choosing(choice, names)
    after = len(editor.received)
    told = (await editor.prompt(session_id, "/revert --context"))["_meta"]["trimpoint"]
    assert told["status"] == ("completed" if choice else "skipped"), editor.said(after=after)
    assert ("/revert 3 goes back to after turn 3" in editor.said(after=after)) != bool(choice)
    await editor.prompt(session_id, "And now?")
    numbers = [1, 2, 3]
    requests = harness.model.requests
    assert [one for one in numbers if requests[-1].mentions(f"answer-{one}.")] == known


async def test_a_cancel_while_a_clear_asks_changes_nothing(
    harness: Harness, editor: Editor
) -> None:
    session_id = await editor.new_session(harness)
    await _turns(harness, editor, session_id, 2)
    prompt = await editor.begin_prompt(session_id, ":trim ")
    question = await editor.until(lambda message: message.get("method") == ASK)
    await editor.notify("session/cancel", sessionId=session_id)
    assert (await editor.result_of(prompt))["stopReason"] == "cancelled"
    withdrawn = await editor.until(lambda message: message.get("method") == "$/cancel_request")
    assert withdrawn["params"] == {"requestId": question["id"]}
    await editor.prompt(session_id, "And now?")
    assert harness.model.requests[-1].mentions("answer-1.")


async def test_a_clear_of_one_turn_asks_nothing(harness: Harness, editor: Editor) -> None:
    session_id = await editor.new_session(harness)
    await _turns(harness, editor, session_id, 1)
    answer = await editor.prompt(session_id, "/clear")
    assert answer["_meta"]["trimpoint"]["status"] == "completed"
    assert editor.questions(ASK) == []


async def test_a_compaction_has_its_arguments_and_shows_its_summary(
    harness: Harness, editor: Editor
) -> None:
    session_id = await editor.new_session(harness)
    await _turns(harness, editor, session_id, 3)
    after = len(editor.received)
    answer = await editor.prompt(session_id, "/compact --keep 1 --force mind the API")
    assert answer["_meta"]["trimpoint"]["status"] == "completed"
    begun, *_, ended = editor.updates("compaction_update", after=after)
    assert (begun["status"], ended["status"]) == ("in_progress", "completed")
    assert begun["compactionId"] == ended["compactionId"]
    assert ended["summary"] == [{"type": "text", "text": "The gist of it all."}]
    assert any(one.mentions("mind the API") for one in harness.model.requests)
    await editor.prompt(session_id, "And now?")
    request = harness.model.requests[-1]
    assert request.mentions("The gist of it all.")
    assert request.mentions("answer-3.")
    assert not request.mentions("answer-2.")


async def test_a_new_thread_continues_the_same_session(harness: Harness, editor: Editor) -> None:
    session_id = await editor.new_session(harness)
    await _turns(harness, editor, session_id, 2)
    answer = await editor.prompt(session_id, "/new")
    assert answer["_meta"]["trimpoint"]["status"] == "completed"
    harness.script.then(say("Nothing is known to me."))
    assert await editor.prompt(session_id, "What do you know?") == {"stopReason": "end_turn"}
    assert not harness.model.requests[-1].mentions("answer-2.")
    async with opened_editor(harness) as later:
        await later.introduce()
        await later.request(
            "session/load", sessionId=session_id, cwd=str(harness.worktree), mcpServers=[]
        )
        said = [one["content"]["text"] for one in later.updates() if "content" in one]
        assert [text for text in said if "answer" in text or "know" in text] == [
            "answer-1.",
            "answer-2.",
            "── A new thread begins here; the agent knows nothing of what is above. ──",
            "What do you know?",
            "Nothing is known to me.",
        ]
        await later.prompt(session_id, "Still there?")
        assert harness.model.requests[-1].mentions("Nothing is known to me.")
        listed = await later.request("session/list")
        assert [one["sessionId"] for one in listed["sessions"]] == [session_id]


async def test_a_revert_goes_back_to_a_turn(harness: Harness, editor: Editor) -> None:
    session_id = await editor.new_session(harness)
    await _turns(harness, editor, session_id, 2)
    answer = await editor.prompt(session_id, "/revert 1 --context")
    assert answer["_meta"]["trimpoint"]["status"] == "completed"
    await editor.prompt(session_id, "And now?")
    assert harness.model.requests[-1].mentions("answer-1.")
    assert not harness.model.requests[-1].mentions("answer-2.")


async def test_a_command_that_changes_nothing_says_so_for_people_and_programs(
    harness: Harness, editor: Editor
) -> None:
    session_id = await editor.new_session(harness)
    await _turns(harness, editor, session_id, 1)
    after = len(editor.received)
    answer = await editor.prompt(session_id, "/clear 5")
    assert answer["stopReason"] == "end_turn"
    told = answer["_meta"]["trimpoint"]
    assert (told["status"], told["reason"]) == ("skipped", "nothing_to_trim")
    assert editor.said(after=after)
    assert not editor.updates("compaction_update", after=after)


async def test_an_attachment_of_a_command_is_not_sent_and_the_answer_says_so(
    harness: Harness, editor: Editor
) -> None:
    session_id = await editor.new_session(harness)
    await _turns(harness, editor, session_id, 2)
    link = {"type": "resource_link", "name": "a.py", "uri": "file:///a.py"}
    await editor.prompt(session_id, "/clear 0", link)
    assert "were not sent" in editor.said()
    await editor.prompt(session_id, "And now?")
    assert not harness.model.requests[-1].mentions("a.py")


async def test_a_compaction_that_is_cancelled_changes_nothing(
    harness: Harness, editor: Editor
) -> None:
    session_id = await editor.new_session(harness)
    await _turns(harness, editor, session_id, 2)
    harness.script.at_compaction(hang("The gist", until=anyio.Event()))
    after = len(editor.received)
    prompt = await editor.begin_prompt(session_id, "/compact --force")
    await editor.update("compaction_update", after, status="in_progress")
    await editor.notify("session/cancel", sessionId=session_id)
    assert (await editor.result_of(prompt))["stopReason"] == "cancelled"
    assert editor.updates("compaction_update", after=after)[-1]["status"] == "cancelled"
    await editor.prompt(session_id, "And now?")
    assert harness.model.requests[-1].mentions("answer-1.")


async def test_a_path_is_a_prompt_and_no_command(harness: Harness, editor: Editor) -> None:
    session_id = await editor.new_session(harness)
    await editor.prompt(session_id, "/etc/hosts is a file")
    assert harness.model.requests[-1].mentions("/etc/hosts is a file")


@pytest.mark.each_case(reason="each is another mistake")
@pytest.mark.parametrize(
    ("typed", "says"),
    [("/claer 3", "/clear"), ("/nonsense", "There is no /nonsense"), ("/clear abc", "Usage")],
)
async def test_a_mistyped_command_is_refused_and_not_sent(
    harness: Harness, editor: Editor, typed: str, says: str
) -> None:
    session_id = await editor.new_session(harness)
    assert (await editor.prompt(session_id, typed))["stopReason"] == "end_turn"
    assert says in editor.said()
    assert harness.model.requests == []


async def test_the_status_tells_model_folder_mode_and_context(
    harness: Harness, editor: Editor
) -> None:
    session_id = await editor.new_session(harness)
    await _turns(harness, editor, session_id, 1)
    after = len(editor.received)
    assert await editor.prompt(session_id, "/status") == {"stopReason": "end_turn"}
    said = editor.said(after=after)
    assert "gpt-5" in said
    assert str(harness.worktree) in said
    assert "Context: 1,010 of 258,400 tokens (0%); " in said
    assert "automatic: warn." in said
