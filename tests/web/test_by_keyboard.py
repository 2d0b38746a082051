"""A day in the page by the keyboard alone: each thing is reached, and the keys come back to where
they were.
"""

import base64
from typing import Any

import anyio
import pytest
from trimpoint.testkit import hang, run, say

from tests.web.browser import expected, needs_browser, until_counted
from tests.web.stage import DOT, Stage, answer

pytestmark = [pytest.mark.processes, pytest.mark.codex, needs_browser]

MOST_STEPS = 60
FOCUSED = """() => {
    const {ariaLabel, title, value, innerText} = document.activeElement;
    return ariaLabel || title || innerText || value || "";
}"""


async def tab_to(stage: Stage, name: str, *, back: bool = False) -> None:
    """Presses Tab until what has this name has the keys."""
    for _ in range(MOST_STEPS):
        await stage.page.keyboard.press("Shift+Tab" if back else "Tab")
        if str(await stage.page.evaluate(FOCUSED)).startswith(name):
            return
    pytest.fail(f"Tab does not reach {name}")


async def in_prompt(stage: Stage) -> None:
    """Waits until the keys go to the prompt."""
    await expected(stage.page.locator("textarea")).to_be_focused()


async def type_prompt(stage: Stage, text: str, key: str = "Enter") -> None:
    await in_prompt(stage)
    await stage.page.keyboard.type(text)
    await stage.page.keyboard.press(key)
    await expected(stage.page.locator("textarea")).to_have_value("")


async def said(stage: Stage, text: str) -> None:
    await stage.page.locator(".main").get_by_text(text, exact=True).last.wait_for()
    await stage.idle()


async def test_a_thread_is_begun_and_worked_in_by_keys_alone(stage: Stage) -> None:
    page, keys = stage.page, stage.page.keyboard
    (stage.house.worktree / "app.py").write_text("x = 1\n")
    image = {"mimeType": "image/png", "buffer": base64.b64decode(DOT)}
    images = [{"name": name, **image} for name in ("a.png", "b.png")]

    async def choose(chooser: Any) -> None:
        await chooser.set_files(images)

    page.on("filechooser", choose)
    await page.get_by_text("No thread is open").wait_for()
    await keys.press("Alt+n")
    await keys.press("Control+a")
    await keys.type(str(stage.house.worktree))
    await tab_to(stage, "As configured\nRead only")
    await keys.press("End")
    await keys.press("Tab")
    await keys.type("Ask unless")
    await tab_to(stage, "Start")
    await keys.press("Enter")
    await page.get_by_text("Nothing said yet").wait_for()
    await in_prompt(stage)
    await keys.type("Read @app")
    await page.get_by_role("option", name="app.py").wait_for()
    await keys.press("Enter")
    await tab_to(stage, "Attach images")
    await keys.press("Enter")
    await until_counted(page.locator(".composer-image"), 2)
    await tab_to(stage, "Remove image 2", back=True)
    await keys.press("Enter")
    await until_counted(page.locator(".composer-image"), 1)
    stage.will_answer(run("touch one.txt"), say("apple-1."))
    await type_prompt(stage, "please")
    await answer(page, "y")
    await said(stage, "apple-1.")
    stage.will_answer(run("touch two.txt"))
    await type_prompt(stage, "Again")
    await answer(page, "n")
    await page.get_by_text("Interrupted").wait_for()
    await stage.idle()
    ended = anyio.Event()
    stage.will_answer(
        hang("Working."), hang("Steered.", until=ended), say("pear-1."), say("pear-2.")
    )
    await type_prompt(stage, "Much")
    await page.locator(".main").get_by_text("Working.", exact=True).wait_for()
    await type_prompt(stage, "also this")
    await page.locator(".main").get_by_text("Steered.", exact=True).wait_for()
    waiting = page.get_by_label("Waiting prompts").get_by_role("listitem")
    for number, text in enumerate(("first", "second", "third")):
        await type_prompt(stage, text, "Alt+Enter")
        await until_counted(waiting, number + 1)
    await tab_to(stage, "Do not send", back=True)
    await keys.press("Enter")
    await until_counted(waiting, 2)
    await in_prompt(stage)
    await tab_to(stage, "Move up", back=True)
    await keys.press("Enter")
    await expected(waiting.first).to_contain_text("second")
    await in_prompt(stage)
    await tab_to(stage, "Edit", back=True)
    await keys.press("Enter")
    await expected(page.locator("textarea")).to_have_value("first")
    await in_prompt(stage)
    await keys.press("End")
    await type_prompt(stage, " of all", "Alt+Enter")
    await until_counted(waiting, 2)
    await page.reload()
    await until_counted(waiting, 2)
    ended.set()
    await said(stage, "pear-2.")
    prompts = await page.locator(".prompt-text").all_inner_texts()
    assert prompts[-4:] == ["Much", "also this", "second", "first of all"]
    assert not (stage.house.worktree / "two.txt").exists()


async def test_room_is_made_and_taken_back_by_keys_alone(stage: Stage) -> None:
    page, keys = stage.page, stage.page.keyboard
    await anyio.run_process(["git", "init", "-q"], cwd=stage.house.worktree)
    await stage.thread()
    for number in (1, 2):
        stage.will_answer(run(f"echo {number} > note.txt"), say(f"apple-{number}."))
        await type_prompt(stage, f"write {number}")
        await said(stage, f"apple-{number}.")
    undo = page.get_by_role("button", name="Undo")
    for choose in ("clear", "trim", "discard", "revert"):
        if choose == "clear":
            await in_prompt(stage)
            await keys.type("/clear ")
            await keys.press("Enter")
            await page.get_by_role("radio", name="Keep everything").wait_for()
            await keys.press("ArrowDown")
            await keys.press("Enter")
        elif choose == "trim":
            await keys.press("Control+k")
            await keys.type("1")
            await page.get_by_role("option", name="Go to turn 1").wait_for()
            await keys.press("Enter")
            await expected(page.get_by_role("region", name="Turn 1")).to_be_focused()
            await tab_to(stage, "Trim turn 1")
            await keys.press("Enter")
            await page.get_by_role("dialog").get_by_text("Would clear turn 1").wait_for()
            await tab_to(stage, "Apply")
            await keys.press("Enter")
        elif choose == "discard":
            await keys.press("Alt+3")
            await page.locator(".segment input:enabled").first.wait_for()
            await tab_to(stage, "on")
            await keys.press("Space")
            await tab_to(stage, "Discard")
            await keys.press("Enter")
            await page.locator(".prompt.is-discarded").wait_for()
            await in_prompt(stage)
            await keys.type("/undo")
            await page.get_by_text("Blocked").wait_for(state="detached")
            await keys.press("Enter")
            await page.locator(".prompt.is-discarded").wait_for(state="detached")
            await keys.press("Escape")
            await stage.idle()
            continue
        else:
            await keys.press("Alt+2")
            await page.get_by_role("button", name="Revert to here").nth(1).wait_for()
            for _ in range(2):
                await tab_to(stage, "Revert to here")
            await keys.press("Enter")
            await page.get_by_role("dialog").get_by_text("note.txt", exact=True).wait_for()
            await tab_to(stage, "Revert")
            await keys.press("Enter")
        await undo.wait_for()
        await in_prompt(stage)
        await tab_to(stage, "Undo", back=True)
        await keys.press("Enter")
        await (
            page.get_by_role("button", name="Redo")
            .or_(page.get_by_text("before the last revert"))
            .first.wait_for()
        )
        await in_prompt(stage)
        await keys.press("Escape")
        await stage.idle()
    assert (stage.house.worktree / "note.txt").read_text() == "2\n"


async def test_what_is_typed_after_a_look_elsewhere_goes_to_the_prompt(stage: Stage) -> None:
    page, keys = stage.page, stage.page.keyboard
    await stage.thread()
    await stage.turns("one?|apple-1.")
    box = page.locator("textarea")
    for open_it, words in (("Alt+2", "files"), ("Alt+3", "context")):
        await keys.press(open_it)
        await expected(page.locator(".panel")).to_be_focused()
        await keys.type(words)
        await expected(box).to_have_value(words)
        await box.fill("")
        await keys.press("Escape")
        await page.locator(".panel").wait_for(state="detached")
        await in_prompt(stage)
    await page.evaluate("document.activeElement.blur()")
    await keys.type("lost")
    await expected(box).to_have_value("lost")
