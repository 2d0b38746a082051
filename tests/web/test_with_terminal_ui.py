"""Two windows of the page and Codex's own terminal UI on one thread."""

import anyio
import pytest
from trimpoint.testkit import ModelRequest, Reply, say

from tests.deadlines import SCENARIO_S
from tests.e2e.conftest import CODEX_BIN
from tests.tui.stage import attached
from tests.web.browser import needs_browser, shown, until_counted
from tests.web.stage import Stage, logged_in

pytestmark = [pytest.mark.processes, pytest.mark.codex, needs_browser]


@pytest.mark.thorough(
    reason="two windows show the same in test_page.py, and a UI beside others in tests/tui"
)
async def test_two_windows_and_the_terminal_show_the_same_thread(stage: Stage) -> None:
    with anyio.fail_after(SCENARIO_S):
        async with attached(stage.house, CODEX_BIN) as terminal:
            # The terminal asks for titles, too: what is answered depends on what was asked.
            stage.house.script.then(*[answer] * 12)
            await terminal.types("one?")
            await terminal.shows("apple-1.")
            threads = (await stage.client.request("orchestration/snapshot"))["threads"]
            [thread_id] = [thread["id"] for thread in threads]
            other = await logged_in(stage.browser, stage.daemon)
            for page in (stage.page, other):
                await page.goto(f"{stage.origin}/#/thread/{thread_id}")
                await page.locator(".main").get_by_text("apple-1.", exact=True).wait_for()

            await stage.send("two?")
            await terminal.shows("pear-2.")
            await other.get_by_text("pear-2.", exact=True).wait_for()

            await stage.idle()
            await other.locator("textarea").fill("/clear 0")
            await other.keyboard.press("Enter")
            for page in (stage.page, other):
                await page.locator(".divider").wait_for()
            await terminal.shows("Context cleared")

            await terminal.types("three?")
            await terminal.shows("plum-3.")
            for page in (stage.page, other):
                await page.locator(".main").get_by_text("plum-3.", exact=True).wait_for()
                await page.keyboard.press("Control+o")
                await until_counted(page.locator(".turn.is-trimmed"), 2)
            await stage.idle()
            assert "apple-1." not in stage.model_input()
            assert await shown(stage.page) == await shown(other)
            assert other.faults == []


def answer(request: ModelRequest) -> Reply:
    fruits = {"three?": "plum-3.", "two?": "pear-2.", "one?": "apple-1."}
    return say(next(fruit for prompt, fruit in fruits.items() if request.mentions(prompt)))
