"""What is fetched when it is wanted: files for the prompt, turns and commands by the palette, and the
colours of code.
"""

import pytest
from trimpoint.testkit import say

from tests.web.browser import needs_browser
from tests.web.stage import Stage

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
    await stage.page.locator(".code .hljs-keyword", has_text="return").wait_for()
