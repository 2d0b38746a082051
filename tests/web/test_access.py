"""The page without a mouse, with a screen reader, on a phone, in other colours, and in other
scripts.
"""

from typing import Any

import pytest
from trimpoint.testkit import Usage, hang, run, say

from tests.e2e.worktree import git
from tests.web.axe import findings, needs_axe
from tests.web.browser import CUT, needs_browser
from tests.web.stage import Stage, answer, staged

LOOKS = [
    {},
    {"color_scheme": "dark"},
    {"viewport": {"width": 390, "height": 844}},
    {"forced_colors": "active", "reduced_motion": "reduce"},
]
ANSWER = "# Words\n\nA [link](https://example.com), `code` and:\n\n```python\nx = 1  # one\n```\n\n- one\n- two"

pytestmark = [
    pytest.mark.processes,
    pytest.mark.codex,
    needs_browser,
    needs_axe,
]


@pytest.mark.parametrize("look", LOOKS, ids=["light", "dark", "phone", "forced colours"])
async def test_axe_finds_nothing_in_any_state(browser: Any, look: dict[str, Any]) -> None:
    async with staged(browser, **look) as stage:
        page, found = stage.page, dict[str, list[str]]()
        await page.add_init_script(f"({CUT})()")
        await page.reload()
        await page.get_by_text("No thread is open").wait_for()
        found["empty"] = await findings(page)
        await page.get_by_role("main").get_by_role("button", name="New thread").click()
        await page.get_by_role("dialog").wait_for()
        found["new thread"] = await findings(page)
        await page.keyboard.press("Escape")
        git(stage.house.worktree, "init", "--quiet")
        await stage.thread(approvalPolicy="untrusted")
        found["nothing said"] = await findings(page)
        stage.will_answer(run("touch a.txt"), say(ANSWER))
        await stage.send("one?")
        card = page.get_by_label("The agent asks for approval")
        await card.wait_for()
        found["approval"] = await findings(page)
        await answer(page, "y")
        await page.locator(".answer h3").wait_for()
        await stage.idle()
        await page.locator(".activity-line").first.click()
        await stage.send("/compact --force")
        await page.locator(".divider button").click()
        await page.locator(".turn.is-trimmed").wait_for()
        found["pruned"] = await findings(page)
        stage.will_answer(hang(ANSWER))
        await stage.send("two?")
        await page.locator(".answer[aria-busy=true] li").last.wait_for()
        await stage.queue("three?")
        await page.get_by_label("Waiting prompts").wait_for()
        found["streaming"] = await findings(page)
        await page.get_by_label("Do not send").click()
        await page.locator("textarea").press("Escape")
        await stage.idle()
        stage.will_answer(say("full.", usage=Usage(input_tokens=238_000)))
        await stage.send("four?")
        await page.locator(".advice.is-critical").wait_for()
        found["advice"] = await findings(page)
        await page.locator("textarea").fill("/")
        await page.get_by_label("Commands").get_by_role("option").first.wait_for()
        found["menu"] = await findings(page)
        await page.locator("textarea").fill("")
        for panel in ("Files", "Context", "Search"):
            await page.get_by_role("button", name=panel, exact=True).click()
            await page.locator(".panel").wait_for()
            found[panel] = await findings(page)
            if panel == "Files":
                await page.get_by_role("button", name="Diff").last.click()
                await page.locator(".panel .diff").first.wait_for()
                found["diff"] = await findings(page)
                await page.get_by_role("button", name="Revert to here").last.click()
                await page.get_by_role("dialog").get_by_text("To be removed").wait_for()
                found["revert"] = await findings(page)
                await page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
            elif panel == "Context":
                await page.get_by_label("A note to pin").fill("Say grapes.")
                await page.keyboard.press("Enter")
                await page.get_by_role("button", name="Unpin 1").wait_for()
                found["a pin"] = await findings(page)
            elif panel == "Search":
                await page.get_by_label("Words to search for").fill("one")
                await page.locator(".hits .tag").first.wait_for()
                found["hits"] = await findings(page)
            await page.locator(".panel").get_by_label("Close").click()
        await page.keyboard.press("Control+k")
        await page.get_by_role("option", name="/clear").wait_for()
        found["palette"] = await findings(page)
        await page.keyboard.press("Escape")
        await page.get_by_role("button", name="More").click()
        found["more"] = await findings(page)
        await page.get_by_role("menuitem", name="Rename").click()
        await page.get_by_role("dialog").wait_for()
        found["dialog"] = await findings(page)
        width = await page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert width <= 0
        await page.evaluate("localStorage.clear()")
        await page.evaluate("window.cut()")
        await page.get_by_text("This browser is no longer logged in").wait_for()
        found["logged out"] = await findings(page)
        await page.reload()
        await page.get_by_text("This browser is not logged in").wait_for()
        found["login page"] = await findings(page)
        lines = [f"{state}: {line}" for state, of_state in found.items() for line in of_state]
        assert not lines, "\n".join(lines)


async def test_a_whole_visit_needs_no_mouse(stage: Stage) -> None:
    await stage.thread()
    keys = stage.page.keyboard
    stage.will_answer(say("apple-1."))
    await keys.type("one?")
    await keys.press("Enter")
    await stage.page.locator(".main").get_by_text("apple-1.", exact=True).wait_for()
    await stage.idle()
    await keys.type("/cle")
    await stage.page.get_by_label("Commands").get_by_role("option").first.wait_for()
    await keys.press("Tab")
    await keys.press("Enter")
    await stage.page.get_by_label("Keep nothing").wait_for()
    await keys.press("ArrowUp")  # from the first to the last
    await keys.press("Enter")
    await stage.page.get_by_text("2 messages pruned").wait_for()
    await keys.press("Control+o")
    await stage.page.locator(".turn.is-trimmed").wait_for()
    await keys.press("Control+o")
    await stage.page.locator(".turn.is-trimmed").wait_for(state="detached")
    await keys.press("Control+f")
    assert await stage.page.evaluate("document.activeElement.type") == "search"
    await keys.press("Escape")
    await stage.page.locator(".panel").wait_for(state="detached")


async def test_text_from_right_to_left_runs_so_and_code_does_not(stage: Stage) -> None:
    await stage.thread()
    stage.will_answer(say("שלום עולם\n\n```\nleft to right\n```"))
    await stage.send("مرحبا؟")
    await stage.page.locator(".main").get_by_text("שלום עולם").wait_for()
    side = "element => getComputedStyle(element).direction"
    assert await stage.page.locator(".main").get_by_text("שלום עולם").evaluate(side) == "rtl"
    assert await stage.page.locator(".prompt").evaluate(side) == "rtl"
    assert await stage.page.locator(".code pre").evaluate(side) == "ltr"


async def test_a_person_chooses_the_theme_of_this_browser(stage: Stage) -> None:
    await stage.page.emulate_media(color_scheme="light")
    await stage.thread()
    back = "getComputedStyle(document.body).backgroundColor"
    light, dark = "rgb(255, 255, 255)", "rgb(20, 20, 23)"
    assert await stage.page.evaluate(back) == light
    button = stage.page.get_by_role("button", name="Theme: ")
    await button.click()
    await button.click()
    assert await stage.page.evaluate(back) == dark
    await stage.page.reload()
    await button.wait_for()
    assert await stage.page.evaluate(back) == dark
    await stage.page.keyboard.press("Control+k")
    await stage.page.keyboard.type("theme: light")
    await stage.page.keyboard.press("Enter")
    await stage.page.emulate_media(color_scheme="dark")
    assert await stage.page.evaluate(back) == light
    await button.click()
    await button.click()
    assert await stage.page.evaluate(back) == dark
