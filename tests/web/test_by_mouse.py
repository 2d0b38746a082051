"""A day in the page by the mouse alone; only words are typed, as a phone's keyboard does."""

import anyio
import pytest
from trimpoint.testkit import hang, run, say

from tests.web.browser import expected, needs_browser, until_counted
from tests.web.stage import Stage

pytestmark = [pytest.mark.processes, pytest.mark.codex, needs_browser]


async def click(stage: Stage, name: str, role: str = "button") -> None:
    """Clicks what has this name, and may be anywhere."""
    await stage.page.get_by_role(role, name=name, exact=True).last.click()


async def write(stage: Stage, text: str, button: str = "Send") -> None:
    """Types words, and sends them by a button."""
    await stage.page.locator("textarea").click()
    await stage.page.keyboard.insert_text(text)
    await click(stage, button)


async def said(stage: Stage, text: str) -> None:
    await stage.page.locator(".main").get_by_text(text, exact=True).last.wait_for()
    await stage.idle()


@pytest.mark.parametrize("width", [1280, 390])
async def test_a_thread_is_begun_worked_in_and_trimmed_by_clicks_alone(
    stage: Stage, width: int
) -> None:
    page = stage.page
    await page.set_viewport_size({"width": width, "height": 800})
    await anyio.run_process(["git", "init", "-q"], cwd=stage.house.worktree)
    await page.get_by_text("No thread is open").wait_for()
    await click(stage, "New thread")
    await page.get_by_label("Folder", exact=True).fill(str(stage.house.worktree))
    await page.get_by_label("Approvals").select_option("untrusted")
    await page.get_by_label("Sandbox").select_option("danger-full-access")
    await click(stage, "Start")
    await page.get_by_text("Nothing said yet").wait_for()
    for number, choice in ((1, "Allow"), (2, "Allow"), (3, "Decline and stop")):
        stage.will_answer(
            run(f"echo {number} > note.txt"), *([say(f"apple-{number}.")] * (number < 3))
        )
        await write(stage, f"write {number}")
        card = page.get_by_label("The agent asks for approval")
        await card.locator(".card-choices button:enabled").first.wait_for()
        await card.get_by_role("button", name=choice).first.click()
        await card.wait_for(state="detached")
        await (said(stage, f"apple-{number}.") if number < 3 else stage.idle())
    ended = anyio.Event()
    stage.will_answer(
        hang("Working."), hang("Steered.", until=ended), say("pear-1."), say("pear-2.")
    )
    await write(stage, "Much")
    await page.locator(".main").get_by_text("Working.", exact=True).wait_for()
    await write(stage, "also this")
    await page.locator(".main").get_by_text("Steered.", exact=True).wait_for()
    waiting = page.get_by_label("Waiting prompts").get_by_role("listitem")
    for number, text in enumerate(("first", "second", "third")):
        await write(stage, text, "Queue")
        await until_counted(waiting, number + 1)
    await click(stage, "Do not send")
    await until_counted(waiting, 2)
    await click(stage, "Move up")
    await expected(waiting.first).to_contain_text("second")
    ended.set()
    await said(stage, "pear-2.")
    undo = page.get_by_role("button", name="Undo", exact=True)
    # Clear, with a preview of what stays.
    await page.locator("textarea").click()
    await page.keyboard.insert_text("/")
    await page.get_by_role("option", name="/clear").click()
    await click(stage, "Send")
    await page.get_by_role("radio", name="Keep nothing").click()
    await click(stage, "Clear")
    await page.locator(".divider").wait_for()
    await undo.click()
    await page.locator(".divider").wait_for(state="detached")
    await click(stage, "Dismiss")
    # Room at a turn.
    await stage.idle()
    await click(stage, "Trim turn 6")
    await page.get_by_role("dialog").get_by_text("Would clear turn 6").wait_for()
    await click(stage, "Apply")
    await undo.click()
    await page.get_by_role("button", name="Redo", exact=True).wait_for()
    await click(stage, "Dismiss")
    # Back to the files of a turn.
    await click(stage, "Files")
    turn = page.locator(".checkpoint").filter(has_text="write 1")
    await turn.get_by_role("button", name="Revert to here").click()
    await page.get_by_role("dialog").get_by_text("note.txt", exact=True).wait_for()
    await click(stage, "Revert")
    if width < 800:
        await click(stage, "Close")
    await undo.click()
    await page.get_by_text("before the last revert").wait_for()
    assert (stage.house.worktree / "note.txt").read_text() == "2\n"
    # What the context holds.
    await click(stage, "Context")
    await page.locator(".segment input:enabled").first.check()
    await click(stage, "Discard")
    if width < 800:
        await click(stage, "Close")
    await page.locator(".prompt.is-discarded").first.wait_for()
    await stage.idle()
    # Names, search, and another thread.
    await click(stage, "More")
    await click(stage, "Rename …", "menuitem")
    await page.get_by_role("textbox", name="Name").fill("My day")
    await click(stage, "Rename")
    await page.locator("h1").get_by_text("My day").wait_for()
    await click(stage, "Search")
    await page.get_by_label("Words to search for").fill("pear-1")
    await page.locator(".hits button").first.click()
    await page.locator(".turn.is-found").wait_for()
    if width > 800:
        await click(stage, "Close")
    await click(stage, "More")
    await click(stage, "Fork", "menuitem")
    await page.locator(".header-links").get_by_text("My day").click()
    await page.locator("h1").get_by_text("My day").wait_for()
    assert page.faults == []


async def test_at_400_percent_a_notice_a_question_and_a_dialog_can_be_clicked(stage: Stage) -> None:
    page = stage.page
    await page.set_viewport_size({"width": 360, "height": 225})
    await stage.thread(approvalPolicy="untrusted")
    await stage.turns("one?|apple-1.", "two?|pear-2.")
    await stage.send("/clear 1")
    await click(stage, "Undo")
    await page.get_by_role("button", name="Redo").wait_for()
    assert (await page.locator(".conversation").bounding_box())["height"] >= 90
    await stage.idle()
    stage.will_answer(run("touch a.txt"), say("plum-3."))
    await stage.send("Do it.")
    card = page.get_by_label("The agent asks for approval")
    await card.locator(".card-choices button:enabled").first.wait_for()
    await card.get_by_role("button", name="Allow").first.click()
    await said(stage, "plum-3.")
    await click(stage, "More")
    await click(stage, "Rename …", "menuitem")
    await page.get_by_role("textbox", name="Name").fill("My day")
    await click(stage, "Rename")
    await page.locator("h1").get_by_text("My day").wait_for()
    await write(stage, "four?")
    await until_counted(page.locator(".prompt"), 4)
