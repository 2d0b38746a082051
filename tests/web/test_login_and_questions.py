"""A page that is no longer logged in shows how to log in; Codex's requests are answered in the
page.
"""

import json
from typing import Any

import pytest
from trimpoint.testkit import call, say
from trimpoint.threads.ids import new_uuid7

from tests.web.browser import needs_browser
from tests.web.stage import Stage, answer, logged_in, staged

pytestmark = [pytest.mark.processes, pytest.mark.codex, needs_browser]


async def test_a_one_time_address_that_was_used_shows_the_way_in(stage: Stage) -> None:
    address = stage.daemon.http.addresses.login_url().url
    for expected in ("No thread is open", "trimpoint open"):
        opened = await stage.browser.new_context()
        page = await opened.new_page()
        await page.goto(address)
        await page.get_by_text(expected).first.wait_for()
    await page.get_by_text("This code was used already").wait_for()
    await page.get_by_text("trimpoint daemon token --new").wait_for()


async def test_a_page_whose_login_ended_says_so_and_comes_back_with_another(stage: Stage) -> None:
    await stage.thread()
    await stage.page.evaluate("localStorage.clear()")
    await stage.page.reload()
    await stage.page.get_by_text("This browser is not logged in").wait_for()
    await stage.page.goto(stage.daemon.http.addresses.login_url().url)
    await stage.page.locator("textarea").wait_for()
    stage.page.faults.clear()  # the refusal itself is in the browser's console


async def test_a_question_of_the_agent_is_a_card_and_the_model_is_told_the_answer(
    browser: Any,
) -> None:
    options = [
        {"label": "Red (Recommended)", "description": "warm"},
        {"label": "Blue", "description": "cold"},
    ]
    question = {"id": "colour", "header": "Colour", "question": "Which one?", "options": options}
    async with staged(browser, "features.default_mode_request_user_input=true") as stage:
        thread_id = await stage.thread()
        stage.will_answer(
            call("request_user_input", {"questions": [question]}),
            say("Blue it is."),
            say("answer-2."),
        )
        await stage.send("Ask me.")
        card = stage.page.get_by_label("The agent asks", exact=True)
        await card.get_by_text("Which one?").wait_for()
        await card.get_by_role("radio", name="Red (Recommended)").press("ArrowDown")
        await (
            card.get_by_role("button", name="Answer")
            .and_(stage.page.locator(":enabled"))
            .wait_for()
        )
        await stage.page.keyboard.press("Enter")
        await card.wait_for(state="detached")
        await stage.page.locator(".main").get_by_text("Blue it is.", exact=True).wait_for()
        assert "Blue" in stage.model_input()
        other = await logged_in(stage.browser, stage.daemon)  # another browser knows it, too
        await other.goto(stage.page.url)
        for page in (stage.page, other):
            asked = page.locator(".turn .answered")
            await asked.wait_for()
            assert (await asked.inner_text()).split("\n") == ["Which one?", "Blue"]
            parts = page.locator(".turn > :is(.prompt, .answered, .answer)")
            texts = [text.replace("\n", " ") for text in await parts.all_inner_texts()]
            assert texts == ["Ask me.", "Which one? Blue", "Blue it is."]
            assert page.faults == []
        hits = await stage.client.request("history/search", query="which one", threadId=thread_id)
        [found] = [hit for hit in hits["hits"] if hit["kind"] == "other"]
        discarding = {
            "type": "thread.context.discard",
            "commandId": new_uuid7(),
            "threadId": thread_id,
        }
        command = {
            **discarding,
            "entryIds": [found["entryId"]],
        }  # of the call in the model's context
        await stage.client.request("orchestration/dispatch", command=command)
        await stage.page.locator(".answered.is-discarded").wait_for()
        await stage.send("And now?")
        await stage.page.locator(".main").get_by_text("answer-2.", exact=True).wait_for()
        assert "Which one?" not in stage.model_input()


async def test_permissions_are_asked_for_in_words_and_the_model_is_told_what_was_granted(
    browser: Any,
) -> None:
    async with staged(browser, "features.request_permissions_tool=true") as stage:
        await stage.thread(approvalPolicy="on-request", sandbox="workspace-write")
        folder = str(stage.house.worktree.parent / "other")
        asked = {"network": {"enabled": True}, "file_system": {"write": [folder]}}
        arguments = {"reason": "To look it up.", "permissions": asked}
        card = stage.page.get_by_label("The agent asks for approval")
        for key, granted, scope in (
            ("n", {"network": None, "file_system": None}, "turn"),
            ("y", asked, "turn"),
            ("s", asked, "session"),
        ):
            stage.will_answer(call("request_permissions", arguments), say(f"apple-{key}."))
            await stage.send("Ask me.")
            await card.get_by_text("To look it up.").wait_for()
            wishes = await card.locator(".wishes li").all_inner_texts()
            assert wishes == ["Reach the network", f"Write {folder}"]
            await answer(stage.page, key)
            await stage.page.locator(".main").get_by_text(f"apple-{key}.", exact=True).wait_for()
            await stage.idle()
            told = json.loads(stage.house.model.turn_requests()[-1].input[-1]["output"])
            assert told == {"permissions": granted, "scope": scope}
        assert stage.page.faults == []
