"""What is fetched when it is wanted: files for the prompt, turns and commands by the palette, and the
colours of code.
"""

import shlex

import anyio
import pytest
from trimpoint.testkit import run, say

from tests.web.browser import expected, needs_browser, until_counted
from tests.web.stage import SETTINGS, Stage

PATCH = """apply_patch <<'EOF'
*** Begin Patch
*** Update File: app.py
@@
 def f():
-    return 1
+    return 2
*** End Patch
EOF
"""

pytestmark = [pytest.mark.processes, pytest.mark.codex, needs_browser]


async def test_an_at_sign_finds_the_files_of_the_thread(stage: Stage) -> None:
    await stage.thread()
    folder = stage.house.worktree / "src"
    folder.mkdir()
    (folder / "app.py").touch()
    box = stage.page.locator("textarea")
    await box.fill("Read")
    await box.press_sequentially(" @app")
    await stage.page.get_by_role("option", name="src/app.py").wait_for()
    await box.press("Enter")
    assert await box.input_value() == "Read @src/app.py "
    await stage.turns("And @src/app.py?|It is empty.")
    assert "And @src/app.py?" in stage.model_input()


async def test_the_palette_goes_to_turns_and_gives_the_focus_back(stage: Stage) -> None:
    await stage.thread()
    long = "A line.\n\n" * 60
    stage.will_answer(say(f"{long}The first."))
    await stage.send("one?")
    await stage.page.get_by_text("The first.").wait_for()
    await stage.idle()
    await stage.turns("two?|The second.", "three?|The third.")
    first = stage.page.locator(".prompt-text", has_text="one?")
    await stage.page.keyboard.press("Control+k")
    field = stage.page.get_by_role("combobox", name="Go to or do")
    await field.fill("1")
    await stage.page.get_by_role("option", name="Go to turn 1").wait_for()
    await field.press("Enter")
    await field.wait_for(state="detached")
    await first.wait_for()
    await stage.page.get_by_label("Go to the newest").wait_for()
    await stage.page.keyboard.press("Alt+End")
    await stage.page.get_by_label("Go to the newest").wait_for(state="detached")
    await stage.page.keyboard.press("Alt+Home")
    await stage.page.get_by_label("Go to the newest").wait_for()
    await stage.send("/help")
    await field.fill("clear")
    await stage.page.get_by_role("option", name="/clear").wait_for()
    await field.press("Escape")
    await stage.page.locator("textarea:focus").wait_for()


async def test_code_has_the_colours_of_its_language(stage: Stage) -> None:
    await stage.thread()
    stage.will_answer(say("So:\n\n```python\ndef f():\n    return 1\n```"))
    await stage.send("one?")
    await stage.page.locator(".code .token-keyword", has_text="return").wait_for()
    bar = stage.page.locator(".code-bar")
    assert await bar.inner_text() == "python"
    assert await bar.get_by_label("Copy code").is_visible()
    assert await bar.evaluate("bar => getComputedStyle(bar).opacity") == "1"


async def test_each_of_twelve_kinds_of_context_has_a_colour_of_its_own(stage: Stage) -> None:
    colours = await stage.page.evaluate("""() => [...Array(12).keys()].map((at) => {
        const swatch = document.createElement("span");
        swatch.className = `swatch is-${at}`;
        document.body.append(swatch);
        return getComputedStyle(swatch).backgroundColor;
    })""")
    assert len(set(colours)) == 12


async def test_a_diff_has_the_colours_of_its_language_and_two_sides_where_there_is_room(
    stage: Stage,
) -> None:
    (stage.house.worktree / "app.py").write_text("def f():\n    return 1\n")
    await stage.thread()
    stage.will_answer(run(PATCH), say("Done."))
    await stage.send("one?")
    await stage.page.locator(".main").get_by_text("Done.", exact=True).wait_for()
    await stage.page.locator(".activity-line", has_text="app.py").click()
    diff = stage.page.locator(".diff")
    await diff.locator(".is-added .token-keyword", has_text="return").wait_for()
    toggle = diff.get_by_role("button", name="Side by side")
    for pressed, tops in (("false", 3), ("true", 2)):
        await expected(toggle).to_have_attribute("aria-pressed", pressed)
        lines = await diff.locator(".diff-line:not(.is-place)").all()
        boxes = [await line.bounding_box() for line in lines]
        assert len({box["y"] for box in boxes if box}) == tops
        text = await diff.locator("pre").inner_text()
        assert "-    return 1\n" in text
        assert "+    return 2\n" in text
        if pressed == "false":
            await toggle.click()
    await stage.page.reload()
    await stage.page.locator(".activity-line", has_text="app.py").click()
    await stage.page.locator(".diff.is-split").wait_for()
    await stage.page.set_viewport_size({"width": 700, "height": 800})
    await toggle.wait_for(state="detached")
    await stage.page.locator(".diff:not(.is-split)").wait_for()


async def test_a_file_of_a_diff_is_read_whole_as_the_turn_left_it(stage: Stage) -> None:
    await anyio.run_process(["git", "init", "-q"], cwd=stage.house.worktree)
    file = stage.house.worktree / "app.py"
    far = "".join(f"line_{number} = {number}\n" for number in range(12_000))
    file.write_text(f"def f():\n    return 1\n{far}")
    await stage.thread()
    stage.will_answer(run(PATCH), say("Done."))
    await stage.send("one?")
    await stage.page.locator(".main").get_by_text("Done.", exact=True).wait_for()
    await stage.idle()
    await stage.page.keyboard.press("Alt+2")
    panel = stage.page.locator(".panel")
    await panel.get_by_role("button", name="Diff").wait_for()
    file.write_text("changed later\n")
    await panel.get_by_role("button", name="Diff").click()
    await panel.get_by_role("button", name="Whole file").click()
    whole = panel.locator(".diff > .code")
    await whole.get_by_text("line_59").wait_for()
    text = await whole.inner_text()
    assert "return 2\n" in text
    assert "changed later" not in text
    assert "line_11999" not in text
    await panel.get_by_text("The rest is left out.").wait_for()
    await panel.get_by_role("button", name="Whole file").click()
    await whole.wait_for(state="detached")
    assert stage.page.faults == []


async def test_a_file_of_a_diff_opens_in_the_editor_that_was_chosen(stage: Stage) -> None:
    page, folder = stage.page, stage.house.worktree
    await anyio.run_process(["git", "init", "-q"], cwd=folder)
    (folder / "app.py").write_text("one\ntwo\n")
    await stage.thread()
    names = ["a b#c?.txt", "a\nb.txt", "\u202e\u05d0.txt"]
    writes = "; ".join(f"echo x > {shlex.quote(name)}" for name in names)
    stage.will_answer(run(f"{writes}; sed -i s/two/2/ app.py"), say("Done."))
    await stage.send("one?")
    await page.locator(".main").get_by_text("Done.", exact=True).wait_for()
    await stage.idle()
    await page.keyboard.press("Alt+2")
    panel = page.locator(".panel")
    await panel.get_by_role("button", name="Diff").click()
    await until_counted(panel.locator(".diff"), 4)
    link = panel.get_by_role("link", name="Open in the editor")
    assert await link.count() == 0

    async def choose(option: str, address: str = "") -> None:
        await page.get_by_label("More").click()
        await page.get_by_role("menuitem", name="Open files in").click()
        dialog = page.get_by_role("dialog", name="Open files in")
        await dialog.get_by_text(option).click()
        if address:
            await dialog.get_by_role("textbox").fill("javascript:alert(1)//{path}")
            assert await dialog.get_by_role("button", name="Save").is_disabled()
            await dialog.get_by_role("textbox").fill(address)
        await dialog.get_by_role("button", name="Save").click()

    async def addresses() -> set[str]:
        await until_counted(link, 4)
        return {await one.get_attribute("href") for one in await link.all()}

    await choose("VS Code")
    stem = f"vscode://file{folder}"
    assert await addresses() == {
        f"{stem}/a%20b%23c%3F.txt:1",
        f"{stem}/a%0Ab.txt:1",
        f"{stem}/%E2%80%AE%D7%90.txt:1",
        f"{stem}/app.py:2",
    }
    for one in await link.all():
        assert await one.evaluate("(link) => link.protocol") == "vscode:"
    await choose("An address", "vscode://vscode-remote/ssh-remote+desk{path}:{line}")
    assert f"vscode://vscode-remote/ssh-remote+desk{folder}/app.py:2" in await addresses()
    await page.evaluate("""localStorage["trimpoint editor"] = '"javascript://a{path}"'""")
    await page.reload()
    await page.locator(".panel, textarea").first.wait_for()
    await page.keyboard.press("Alt+2")
    await panel.get_by_role("button", name="Diff").click()
    await until_counted(panel.locator(".diff"), 4)
    assert await link.count() == 0
    assert page.faults == []


@pytest.mark.parametrize("width", [1280, 390])
async def test_the_list_of_turns_goes_to_each(stage: Stage, width: int) -> None:
    await stage.thread()
    await stage.turns(*(f"question-{n}|" + f"answer-{n}." for n in range(3)))
    await stage.page.set_viewport_size({"width": width, "height": 400})
    await stage.send("/timeline")
    await expected(stage.page.locator("textarea")).to_have_value("")
    panel = stage.page.get_by_role("complementary", name="Turns and their files")
    await panel.get_by_role("button", name="question-0").click()
    await expected(stage.page.locator(".prompt", has_text="question-0")).to_be_in_viewport()
    assert await panel.count() == (1 if width == 1280 else 0)


async def test_the_folders_used_last_are_listed_until_more_are_asked_for(stage: Stage) -> None:
    page = stage.page
    for number in range(14):
        folder = stage.house.worktree / f"folder-{number}"
        folder.mkdir()
        await stage.client.request("thread/start", cwd=str(folder), **SETTINGS)
    folders = page.locator(".sidebar h2[title*='folder-']")
    more = page.get_by_role("button", name="2 more folders")
    await more.wait_for()
    await expected(folders).to_have_count(12)
    assert await folders.first.inner_text() == "folder-13"
    await more.click()
    await expected(folders).to_have_count(14)
    await more.wait_for(state="detached")
    assert page.faults == []
