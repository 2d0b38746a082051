"""A drafted summary or brief in an editor with forms: it is changed there, taken or refused."""

from collections.abc import AsyncGenerator
from typing import Any

import pytest
from trimpoint.acp.translate.forms import draft_command, draft_form
from trimpoint.acp.wire.capabilities import Capabilities
from trimpoint.testkit import say

from tests.acp.editor import Editor, opened_editor
from tests.e2e.conftest import Harness


@pytest.fixture
async def editor(harness: Harness) -> AsyncGenerator[Editor]:
    """Yields an editor that supports compactions and forms."""
    async with opened_editor(harness) as opened:
        await opened.introduce(session={"compaction": {}}, elicitation={"form": {}})
        yield opened


FORM = "elicitation/create"
DRAFT = {"text": "The gist\n\nof it.", "accept": "/accept draft:1", "anew": "/compact --edit"}
STANDING = {"text": "The gist.", "accept": "/summary edit", "anew": None}


@pytest.mark.parametrize(
    ("draft", "action", "content", "command"),
    [
        (DRAFT, "accept", {"text": "Mine."}, "/accept draft:1 Mine."),
        (DRAFT, "accept", {"text": "The gist of it."}, "/accept draft:1"),
        (DRAFT, "accept", {"text": "Mine.", "anew": " files "}, "/compact --edit files"),
        (DRAFT, "accept", {"text": " "}, None),
        (DRAFT, "accept", None, None),
        (DRAFT, "decline", {"text": "Mine."}, None),
        (DRAFT, "cancel", None, None),
        (STANDING, "accept", {"text": "Mine.", "anew": "x"}, "/summary edit Mine."),
        (STANDING, "accept", {"text": "The gist. "}, None),
    ],
)
def test_the_answer_to_a_draft_is_a_command_or_nothing(
    draft: dict[str, Any], action: str, content: Any, command: str | None
) -> None:
    assert draft_command(draft, action, content) == command


def test_an_editor_without_forms_is_shown_none() -> None:
    assert draft_form({"draft": DRAFT}, Capabilities()) is None
    assert draft_form({"message": "Done."}, Capabilities(form=True)) is None


async def _three_turns(harness: Harness, editor: Editor) -> str:
    session_id = await editor.new_session(harness)
    for number in range(1, 4):
        harness.script.then(say(f"answer-{number}."))
        await editor.prompt(session_id, f"prompt-{number}.")
    return session_id


@pytest.mark.codex
async def test_a_summary_is_changed_in_a_form_and_taken(harness: Harness, editor: Editor) -> None:
    session_id = await _three_turns(harness, editor)
    shown: list[str] = []

    def answer(params: dict[str, Any]) -> dict[str, Any]:
        text = params["requestedSchema"]["properties"]["text"]["default"]
        shown.append(text)
        anew = {"anew": "the API"} if len(shown) == 1 else {}
        return {"action": "accept", "content": {"text": f"{text} In my words.", **anew}}

    editor.answer[FORM] = answer
    after = len(editor.received)
    told = (await editor.prompt(session_id, "/compact --edit --keep 1"))["_meta"]["trimpoint"]
    assert told["status"] == "completed", editor.said(after=after)
    assert len(shown) == 2
    assert any(one.mentions("the API") for one in harness.model.requests)
    ended = editor.updates("compaction_update", after=after)
    assert [one["status"] for one in ended if one["status"] != "in_progress"] == [
        "cancelled",
        "cancelled",
        "completed",
    ]
    await editor.prompt(session_id, "And now?")
    request = harness.model.requests[-1]
    assert request.mentions("In my words.")
    assert (request.mentions("answer-3."), request.mentions("answer-2.")) == (True, False)


@pytest.mark.codex
async def test_a_summary_that_is_refused_or_cancelled_changes_nothing(
    harness: Harness, editor: Editor
) -> None:
    session_id = await _three_turns(harness, editor)
    editor.answer[FORM] = lambda _: {"action": "decline"}
    told = (await editor.prompt(session_id, "/compact --edit"))["_meta"]["trimpoint"]
    assert (told["status"], told["reason"]) == ("skipped", "nothing_chosen")
    del editor.answer[FORM]
    after = len(editor.received)
    prompt = await editor.begin_prompt(session_id, "/compact --edit")
    question = await editor.until(lambda message: message.get("method") == FORM, after)
    await editor.notify("session/cancel", sessionId=session_id)
    assert (await editor.result_of(prompt))["stopReason"] == "cancelled"
    withdrawn = await editor.until(lambda message: message.get("method") == "$/cancel_request")
    assert withdrawn["params"] == {"requestId": question["id"]}
    await editor.prompt(session_id, "And now?")
    assert harness.model.requests[-1].mentions("answer-1.")


@pytest.mark.codex
async def test_a_brief_is_taken_and_the_session_goes_on_in_the_new_thread(
    harness: Harness, editor: Editor
) -> None:
    session_id = await _three_turns(harness, editor)
    editor.answer[FORM] = lambda _: {"action": "accept", "content": {"text": "My own brief."}}
    after = len(editor.received)
    told = (await editor.prompt(session_id, "/handoff the tests"))["_meta"]["trimpoint"]
    assert told["status"] == "completed", editor.said(after=after)
    assert "A new thread begins with the brief" in editor.said(after=after)
    await editor.prompt(session_id, "And now?")
    request = harness.model.requests[-1]
    assert (request.mentions("My own brief."), request.mentions("answer-1.")) == (True, False)


@pytest.mark.codex
async def test_an_editor_without_forms_reads_the_draft_and_types_the_command(
    harness: Harness,
) -> None:
    async with opened_editor(harness) as editor:
        await editor.introduce()
        session_id = await _three_turns(harness, editor)
        after = len(editor.received)
        await editor.prompt(session_id, "/compact --edit")
        assert "/accept" in editor.said(after=after)
        assert editor.questions(FORM) == []
