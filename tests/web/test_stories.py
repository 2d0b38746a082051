"""A person's stories in the page (docs/internals/stories.md), in a real browser with the real Codex; the
model's next input proves each trim.
"""

import anyio
import pytest
from trimpoint.testkit import hang, run, say

from tests.web.browser import expected, needs_browser, until_counted
from tests.web.stage import Stage

pytestmark = [pytest.mark.processes, pytest.mark.codex, needs_browser]


async def test_clear_with_a_number_keeps_the_last_turns_and_says_how_many_messages_left(
    stage: Stage,
) -> None:
    await stage.thread()
    await stage.turns("one?|apple-1.", "two?|pear-2.", "three?|plum-3.")
    await stage.send("/clear 1")
    divider = stage.page.locator(".divider")
    await divider.get_by_text("4 messages pruned").wait_for()
    assert await stage.page.locator(".main").get_by_text("apple-1.", exact=True).count() == 0
    assert await stage.page.locator(".main").get_by_text("plum-3.", exact=True).is_visible()
    await stage.turns("four?|fig-4.")
    said = stage.model_input()
    assert "plum-3." in said
    assert "apple-1." not in said
    assert "pear-2." not in said


@pytest.mark.thorough(reason="the page clears with a number in another test")
async def test_clear_without_a_number_leaves_nothing_in_the_same_thread(stage: Stage) -> None:
    thread_id = await stage.thread()
    await stage.turns("one?|apple-1.")
    await stage.send("/clear 0")
    await stage.page.get_by_text("2 messages pruned").wait_for()
    assert thread_id in stage.page.url
    await stage.turns("two?|pear-2.")
    assert "apple-1." not in stage.model_input()


async def test_compact_shows_the_summary_above_the_divider_and_the_model_gets_it(
    stage: Stage,
) -> None:
    await stage.thread()
    await stage.turns("one?|apple-1.", "two?|pear-2.")
    await stage.send("/compact")
    banner = stage.page.get_by_label("Context compacted", exact=True)
    await banner.get_by_text("The gist of it all.").wait_for()
    assert await stage.page.get_by_text("compacted ×1").is_visible()
    box, divider = await banner.bounding_box(), await stage.page.locator(".divider").bounding_box()
    assert box["y"] + box["height"] <= divider["y"]
    # Visually distinct from a message.
    colour = "element => getComputedStyle(element).backgroundColor"
    assert await banner.evaluate(colour) != await stage.page.locator("body").evaluate(colour)
    await stage.turns("three?|plum-3.")
    assert "The gist of it all." in stage.model_input()
    assert "apple-1." not in stage.model_input()


async def test_new_archives_the_thread_which_stays_readable_and_continues_in_the_same_folder(
    stage: Stage,
) -> None:
    old = await stage.thread()
    await stage.turns("one?|apple-1.")
    await stage.send("/new")
    await stage.page.get_by_text("Nothing said yet").wait_for()
    assert old not in stage.page.url
    await stage.page.get_by_label("Settings of the thread").wait_for()
    assert await stage.page.locator(".header-title p").inner_text() == str(stage.house.worktree)
    await stage.page.locator("summary", has_text="Archived").click()
    await stage.page.locator(f".sidebar a[href='#/thread/{old}']").click()
    await stage.page.locator(".main").get_by_text("apple-1.", exact=True).wait_for()
    assert await stage.page.locator("textarea").is_disabled()


async def test_the_section_before_a_divider_opens_dimmed_and_closes_again(stage: Stage) -> None:
    await stage.thread()
    await stage.turns("one?|apple-1.", "two?|pear-2.")
    await stage.send("/clear 1")
    divider = stage.page.locator(".divider button")
    await divider.wait_for()
    assert await divider.get_attribute("aria-expanded") == "false"
    await divider.click()
    hidden = stage.page.locator(".turn.is-trimmed").get_by_text("apple-1.", exact=True)
    await hidden.wait_for()
    colour = "element => getComputedStyle(element).color"
    kept = stage.page.locator(".turn:not(.is-trimmed) .answer")
    assert await hidden.evaluate(colour) != await kept.evaluate(colour)
    await divider.click()
    await hidden.wait_for(state="detached")


async def test_commands_appear_in_the_menu_and_are_chosen_by_keyboard(stage: Stage) -> None:
    await stage.thread()
    await stage.page.locator("textarea").fill("/")
    options = stage.page.get_by_label("Commands").get_by_role("option")
    await options.first.wait_for()
    shown = " ".join(await options.all_inner_texts())
    assert all(name in shown for name in ("/clear", "/compact", "/new"))
    await stage.page.locator("textarea").fill("/comp")
    await until_counted(stage.page.get_by_label("Commands").get_by_role("option"), 2)
    await stage.page.keyboard.press("ArrowDown")
    await stage.page.keyboard.press("ArrowUp")
    await stage.page.keyboard.press("Tab")
    assert (await stage.page.locator("textarea").input_value()).strip() == "/compact"


async def test_tab_takes_the_first_command_also_before_the_menu_is_there(stage: Stage) -> None:
    await stage.thread()
    box = stage.page.locator("textarea")
    await box.click()
    for _ in range(5):
        await stage.page.evaluate("""() => {
            const box = document.querySelector("textarea");
            const set = Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value").set;
            for (const text of ["/", "/cl", "/cle"]) {
                set.call(box, text);
                box.dispatchEvent(new Event("input", {bubbles: true}));
            }
            setTimeout(() => box.dispatchEvent(new KeyboardEvent("keydown", {
                key: "Tab", bubbles: true, cancelable: true,
            })), 0);
        }""")
        await expected(box).to_have_value("/clear ")
        await box.fill("")


async def test_a_command_during_a_turn_is_refused_and_the_blocker_named(stage: Stage) -> None:
    await stage.thread()
    await stage.turns("one?|apple-1.")
    ended = anyio.Event()
    stage.will_answer(hang("half of it", until=ended))
    await stage.send("two?")
    await stage.page.locator(".main").get_by_text("half of it").wait_for()
    await stage.page.locator("textarea").fill("/clear 0")
    await stage.page.get_by_text("Blocked: a turn is running").wait_for()
    await stage.page.keyboard.press("Enter")
    alert = stage.page.get_by_role("alert")
    await alert.wait_for()
    assert "turn is running" in await alert.inner_text()
    assert await stage.page.locator(".divider").count() == 0
    # The command is still there, to be sent again when the turn is over.
    assert await stage.page.locator("textarea").input_value() == "/clear 0"
    ended.set()
    await stage.idle()
    await stage.page.locator("textarea").press("Enter")
    await stage.page.get_by_text("4 messages pruned").wait_for()


@pytest.mark.thorough(reason="one divider is shown and opened by another test")
async def test_several_trims_show_a_divider_each_and_open_one_by_one(stage: Stage) -> None:
    await stage.thread()
    await stage.turns("one?|apple-1.")
    await stage.send("/clear 0")
    await stage.page.locator(".divider").wait_for()
    await stage.turns("two?|pear-2.")
    await stage.send("/compact --force")
    await stage.page.get_by_text("The gist of it all.").wait_for()
    dividers = stage.page.locator(".divider button")
    assert await dividers.count() == 2
    await dividers.nth(1).click()
    await stage.page.locator(".main").get_by_text("pear-2.", exact=True).wait_for()
    assert await stage.page.locator(".main").get_by_text("apple-1.", exact=True).count() == 0


async def test_files_of_a_pruned_turn_come_back_by_a_revert_that_was_previewed(
    stage: Stage,
) -> None:
    file = stage.house.worktree / "note.txt"
    await anyio.run_process(["git", "init", "-q"], cwd=stage.house.worktree)
    await stage.thread()
    for number in (1, 2):
        stage.will_answer(run(f"echo {number} > note.txt"), say(f"written {number}."))
        await stage.send(f"write {number}")
        await stage.page.locator(".main").get_by_text(f"written {number}.", exact=True).wait_for()
        await stage.idle()
    await stage.send("/clear 0")
    await stage.page.locator(".divider").wait_for()
    await stage.page.get_by_role("button", name="Files", exact=True).click()
    pruned = stage.page.locator(".checkpoint").filter(has_text="write 1")
    await pruned.get_by_role("button", name="Revert to here").click()
    dialog = stage.page.get_by_role("dialog")
    await dialog.get_by_text("note.txt", exact=True).wait_for()
    assert file.read_text() == "2\n"
    await dialog.get_by_role("button", name="Revert", exact=True).click()
    await stage.page.get_by_role("button", name="Undo").wait_for()
    assert file.read_text() == "1\n"
    await stage.page.get_by_role("button", name="Undo").click()
    await stage.page.locator(".notice").get_by_text("before the last revert").wait_for()
    assert file.read_text() == "2\n"
