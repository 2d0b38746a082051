"""A draft in the page: it stands in the box, to be changed and sent, or deleted."""

import re

import anyio
import pytest
from trimpoint.testkit import say

from tests.deadlines import STEP_S
from tests.web.browser import expected, needs_browser
from tests.web.stage import Stage

pytestmark = [pytest.mark.processes, pytest.mark.codex, needs_browser]


async def test_a_drafted_summary_is_changed_in_the_box_and_accepted(stage: Stage) -> None:
    await stage.thread()
    await stage.turns(*(f"prompt-{one}.|answer-{one}." for one in range(1, 4)))
    await stage.send("/compact --edit --keep 1")
    box = stage.page.locator("textarea")
    with anyio.fail_after(STEP_S):
        while not (await box.input_value()).startswith("/accept draft:"):
            pass
    await stage.page.get_by_text("nothing has changed yet").first.wait_for()
    await box.press("End")
    drafted = await box.input_value()
    await box.fill(f"{drafted} In my words.")
    await box.press("Enter")
    await stage.page.get_by_label("Context compacted").wait_for()
    await stage.turns("prompt-4.|answer-4.")
    seen = stage.model_input()
    assert drafted.partition(" ")[2].partition(" ")[2] + " In my words." in seen
    assert ("prompt-3." in seen, "prompt-2." in seen) == (True, False)


async def test_what_is_typed_while_a_summary_is_drafted_stays_and_the_draft_comes_behind_it(
    stage: Stage,
) -> None:
    await stage.thread()
    await stage.turns(*(f"prompt-{one}.|answer-{one}." for one in range(1, 4)))
    await stage.send("/compact --edit --keep 1")
    box = stage.page.locator("textarea")
    await box.fill("half")
    await stage.page.get_by_text("nothing has changed yet").first.wait_for()
    assert await box.input_value() == "half"
    await box.fill("")
    with anyio.fail_after(STEP_S):
        while not (await box.input_value()).startswith("/accept draft:"):
            pass


async def test_a_handoff_begins_a_thread_and_each_shows_the_way_to_the_other(stage: Stage) -> None:
    page = stage.page
    thread_id = await stage.thread()
    await stage.turns("one?|apple-1.")
    stage.will_answer(say("The tests are open."))
    await stage.send("/handoff write the tests")
    box = page.locator("textarea")
    await expected(box).to_have_value(re.compile("^/accept draft:"))
    stage.will_answer(say("I begin."))
    await box.press("Enter")
    await page.locator(".main").get_by_text("I begin.", exact=True).wait_for()
    await page.get_by_label("Settings of the thread").wait_for()
    await page.locator(".header-links", has_text="From one?").get_by_role("link").click()
    await page.wait_for_url(f"**/thread/{thread_id}")
    await page.locator(".main").get_by_text("apple-1.", exact=True).wait_for()
    there = page.locator(".header-links", has_text="Handed off to")
    await there.get_by_role("link", name="The tests are open.").click()
    await page.locator(".main").get_by_text("I begin.", exact=True).wait_for()
