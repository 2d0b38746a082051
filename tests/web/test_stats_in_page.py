"""What all threads took, in the page."""

import pytest
from trimpoint.testkit import say

from tests.e2e.gauge import spending
from tests.web.browser import needs_browser
from tests.web.stage import Stage

pytestmark = [pytest.mark.processes, pytest.mark.codex, needs_browser]


async def test_a_table_sums_all_threads_by_what_was_chosen(stage: Stage) -> None:
    page = stage.page
    await stage.thread()
    stage.will_answer(say("apple-1.", usage=spending(30_000)))
    await stage.send("one?")
    await page.locator(".main").get_by_text("apple-1.", exact=True).wait_for()
    await stage.idle()
    await stage.thread()
    stage.will_answer(say("pear-1.", usage=spending(60_000)))
    await stage.send("two?")
    await page.locator(".main").get_by_text("pear-1.", exact=True).wait_for()
    await stage.idle()
    await page.get_by_label("More").click()
    await page.get_by_role("menuitem", name="What all threads took").click()
    dialog = page.get_by_role("dialog", name="What all threads took")
    first = dialog.locator("tbody tr").first
    await first.get_by_text("2 threads").wait_for()
    assert (await first.inner_text()).split("\t")[1:5] == ["2", "90k", "50%", "20"]
    assert await first.locator("td").first.evaluate("td => getComputedStyle(td).textAlign") == "end"
    await dialog.get_by_label("By").select_option("model")
    await dialog.get_by_role("rowheader", name="gpt-5").wait_for()
    await dialog.get_by_label("Since").select_option("ever")
    await dialog.get_by_label("By").select_option("thread")
    link = dialog.get_by_role("link", name="one?")
    await link.wait_for()
    await link.click()
    await dialog.wait_for(state="detached")
    await page.locator(".main").get_by_text("apple-1.", exact=True).wait_for()
    assert page.faults == []
