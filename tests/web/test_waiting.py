"""A thread that waits for a person is told from one that works, wherever the person looks."""

import re
from typing import Any

import anyio
import pytest
from trimpoint.testkit import run, say

from tests.deadlines import STEP_S
from tests.web.browser import expected, needs_browser
from tests.web.stage import Stage

pytestmark = [pytest.mark.processes, pytest.mark.codex, needs_browser]

# Keeps what is shown, as if the person looked elsewhere. The browser's own notifications are made,
# but a browser without a screen says of its permission that it is denied, whatever was granted.
NOTIFICATIONS = """() => {
    window.told = [];
    window.Notification = class extends Notification {
        static permission = "default";
        static async requestPermission() {
            const { state } = await navigator.permissions.query({ name: "notifications" });
            return (this.permission = state);
        }
        constructor(title, options) {
            super(title, options);
            window.told.push(`${this.title}: ${this.body}`);
        }
    };
    document.hasFocus = () => false;
}"""


async def until_told(page: Any, *wanted: str) -> None:
    """Waits until the browser has shown this, and no more."""
    with anyio.move_on_after(STEP_S):
        while len(await page.evaluate("window.told")) < len(wanted):  # noqa: ASYNC110
            await anyio.sleep(0.05)
    assert await page.evaluate("window.told") == list(wanted)


async def test_a_thread_that_asks_elsewhere_is_marked_and_reported_once(stage: Stage) -> None:
    await stage.page.context.grant_permissions(["notifications"], origin=stage.origin)
    await stage.page.add_init_script(f"({NOTIFICATIONS})()")
    await stage.page.reload()
    folder = stage.house.worktree.name
    asks, done = f"{folder}: The agent asks for an answer.", f"{folder}: The agent has finished."
    await stage.page.get_by_label("Notify me while I look elsewhere").click()
    await stage.thread(approvalPolicy="untrusted")
    stage.will_answer(run("touch asked-for.txt"), say("apple-1."))
    await stage.send("Do it.")
    card = stage.page.get_by_label("The agent asks for approval")
    await card.wait_for()
    other = await stage.thread()
    await stage.page.locator(".sidebar").get_by_text("asks", exact=True).wait_for()
    await stage.page.get_by_text("Do it. waits for your answer.").wait_for()
    await expected(stage.page).to_have_title(re.compile(r"^\(1\) "), timeout=STEP_S * 1000)
    await until_told(stage.page, asks)
    await stage.page.get_by_role("link", name="Go there").click()
    await card.get_by_role("button", name="Allow", exact=False).first.click()
    await stage.page.locator(".main").get_by_text("apple-1.", exact=True).wait_for()
    await stage.page.locator(".sidebar").get_by_text("asks", exact=True).wait_for(state="detached")
    await expected(stage.page).to_have_title(re.compile(r"^[^(]"), timeout=STEP_S * 1000)
    assert other not in stage.page.url
    await until_told(stage.page, asks, done)


async def test_settings_of_a_thread_are_shown_and_changed_below_the_prompt(stage: Stage) -> None:
    thread_id = await stage.thread()
    settings = stage.page.get_by_label("Settings of the thread")
    await settings.get_by_label("Sandbox").select_option("readOnly")
    await settings.get_by_label("Approvals").select_option("untrusted")
    await stage.turns("one?|apple-1.")
    answer = await stage.client.request("thread/resume", threadId=thread_id)
    assert answer["sandbox"]["type"] == "readOnly"
    assert answer["approvalPolicy"] == "untrusted"
    await stage.client.request("thread/settings/update", threadId=thread_id, approvalPolicy="never")
    await stage.turns("two?|pear-2.")
    assert await settings.get_by_label("Approvals").input_value() == "never"


async def test_no_thread_begins_where_there_is_no_folder(stage: Stage) -> None:
    page = stage.page
    await page.goto(f"{stage.origin}/#/in/{stage.house.worktree}")
    await page.reload()
    await page.get_by_role("button", name="New thread").first.click()
    dialog = page.get_by_role("dialog")
    folder = dialog.get_by_label("Folder", exact=True)
    assert await folder.input_value() == str(stage.house.worktree)
    file = stage.house.worktree / "file.txt"
    file.touch()
    for path, words in (
        ("code", "Type the whole path"),
        ("/does/not/exist", "There is no folder"),
        (str(file), "is no folder"),
    ):
        await folder.fill(path)
        await dialog.get_by_role("button", name="Start").click()
        await dialog.get_by_text(words).wait_for()
    await folder.fill(str(stage.house.worktree))
    await dialog.get_by_role("button", name="Start").click()
    await page.get_by_text("Nothing said yet").wait_for()
