"""A person's story in VS Code: the packed extension in code-server starts the daemon, with the real
Codex; the model's next input proves each trim.
"""

import os
import signal
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest
from trimpoint.testkit import run, say

from tests.tools import missing
from tests.vscode.code_server import packed, program
from tests.vscode.stage import opened_window
from tests.web.axe import findings, needs_axe
from tests.web.browser import chromium
from tests.web.browser import missing as no_browser

pytestmark = [pytest.mark.processes, pytest.mark.codex]


@pytest.fixture(scope="module")
async def browser() -> AsyncGenerator[Any]:
    program()
    if no_browser():
        missing(no_browser())
    async with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return packed(tmp_path_factory.mktemp("vsix"))


async def test_a_prompt_an_approval_a_clear_an_undo_and_a_revert(
    browser: Any, archive: Path
) -> None:
    async with opened_window(browser, archive) as window:
        page, chat, written = window.page, window.chat, window.house.worktree / "new.txt"
        await window.command("Open the Conversation")
        await chat.get_by_text("No thread is open").wait_for()
        await window.command("New Conversation")
        await window.turns("one?|apple-1.", "two?|pear-2.")

        # An approval: the setting is made by a picker, the question answered in the conversation.
        await window.command("Choose When the Agent Asks")
        await (await window.row("Ask unless known to be safe")).click()
        await chat.get_by_label("Approvals").get_by_text("Ask unless").wait_for(state="attached")
        await window.picker.wait_for(state="hidden")
        window.house.script.then(run("printf 'one\\ntwo\\n' > new.txt"), say("plum-3."))
        await window.send("Write it.")
        card = chat.get_by_label("The agent asks for approval")
        await card.locator(".card-choices button:enabled").first.wait_for()
        await page.locator(".statusbar").get_by_text("waits for you").wait_for()
        assert not written.exists()
        await card.get_by_role("button", name="Allow", exact=False).first.click()
        await chat.get_by_text("plum-3.", exact=True).wait_for()
        await window.idle()
        assert written.read_text() == "one\ntwo\n"

        # A clear, by a picker that says what would happen.
        await window.command("Clear the agent's context")
        await (await window.row("Keep the last turn")).click()
        await (await window.row("Would clear 4 messages in 2 turns")).click()
        await window.notice("Context cleared")
        await chat.get_by_text("4 messages pruned").wait_for()
        await window.turns("four?|fig-4.")
        assert "plum-3." in window.model_input()
        assert "apple-1." not in window.model_input()

        # The way back.
        await window.command("Take back the last trim")
        await (await window.row("/undo")).click()
        await chat.get_by_text("apple-1.", exact=True).wait_for()
        await window.turns("five?|kiwi-5.")
        assert "apple-1." in window.model_input()

        # A revert, whose difference is shown first.
        await window.command("Take files and context back")
        await (await window.row("After turn 2")).click()
        await page.get_by_role("button", name="Show Changes").click()
        await page.locator(".tab").filter(has_text="after turn 2").wait_for()
        await page.locator(".editor .view-line").get_by_text("two").first.wait_for()
        assert written.exists()
        notice = await window.notice("Nothing was reverted yet")
        await notice.get_by_role("button", name="Revert").click()
        await window.notice("Back to where the thread was")
        assert not written.exists()
        await window.turns("six?|lime-6.")
        assert "pear-2." in window.model_input()
        assert "plum-3." not in window.model_input()


async def test_a_daemon_that_is_killed_and_a_window_that_is_loaded_anew(
    browser: Any, archive: Path
) -> None:
    async with opened_window(browser, archive) as window:
        await window.command("New Conversation")
        await window.turns("one?|apple-1.")
        (pid,) = await anyio.to_thread.run_sync(window.house.background_daemons)
        os.kill(pid, signal.SIGKILL)
        await window.turns("two?|pear-2.")
        assert "apple-1." in window.model_input()
        assert await anyio.to_thread.run_sync(window.house.background_daemons) != [pid]

        # What is added to the prompt is seen, whatever covers the conversation.
        await window.command("Show what the agent's context holds")
        await window.chat.get_by_text("What the context holds").wait_for()
        await window.page.keyboard.press("Control+P")
        await window.picker.locator("input").first.fill("kept.txt")
        await (await window.row("kept.txt")).click()
        await window.page.locator(".editor .monaco-editor.focused").wait_for()
        await window.command("Add File to the Prompt")
        await window.chat.get_by_text("What the context holds").wait_for(state="detached")
        assert await window.chat.locator("textarea").input_value() == "@kept.txt"

        await window.chat.locator("textarea").fill("half a prompt")
        await window.page.reload()
        await window.chat.get_by_text("pear-2.", exact=True).wait_for()
        assert await window.chat.locator("textarea").input_value() == "half a prompt"


async def test_a_drafted_brief_is_taken_from_an_editor_and_the_autopilot_is_seen(
    browser: Any, archive: Path
) -> None:
    async with opened_window(browser, archive) as window:
        await window.command("New Conversation")
        await window.turns("one?|apple-1.", "two?|pear-2.")
        await window.send("/auto mask")
        await window.page.locator(".statusbar-item").get_by_text("auto mask").wait_for()
        window.house.script.then(say("The gist of it."), say("begun-3."))
        await window.command("Begin a new thread with a brief")
        await window.picker.locator("input").first.fill("the tests")
        await window.page.keyboard.press("Enter")
        notice = await window.notice("then take it")
        await window.page.locator(".editor .view-line").get_by_text("The gist").first.wait_for()
        await notice.get_by_role("button", name="Take It").click()
        await window.notice("A new thread begins with the brief")
        await window.chat.get_by_text("begun-3.", exact=True).wait_for()
        assert "The gist of it." in window.model_input()
        assert "apple-1." not in window.model_input()


@needs_axe
@pytest.mark.parametrize("theme", ["Dark Modern", "Light Modern", "High Contrast"])
async def test_axe_finds_nothing_in_the_view_in_any_theme(
    browser: Any, archive: Path, theme: str
) -> None:
    chosen = {"workbench.colorTheme": f"Default {theme}"}
    async with opened_window(browser, archive, **chosen) as window:
        await window.command("New Conversation")
        await window.turns("one?|apple-1.")
        await window.send("/clear 0")
        await window.chat.get_by_text("messages pruned").wait_for()
        kind = await (await window.frame()).evaluate("document.body.dataset.vscodeThemeKind")
        assert theme.lower().split()[0] in kind
        assert await findings(await window.frame()) == []


async def test_windows_on_two_folders_have_conversations_of_their_own(
    browser: Any, archive: Path
) -> None:
    async with opened_window(browser, archive) as window:
        await window.command("New Conversation")
        await window.turns("one?|apple-1.")
        folder = window.house.folder / "second"
        folder.mkdir()
        async with window.another(folder) as other:
            await other.command("New Conversation")
            await other.turns("two?|pear-2.")
            assert "apple-1." not in other.model_input()
            await window.turns("three?|fig-3.")
            assert "apple-1." in window.model_input()
            assert "pear-2." not in window.model_input()
            assert len(await anyio.to_thread.run_sync(window.house.background_daemons)) == 1
