"""The mouse alone, and files that are opened from the history."""

import pytest
from trimpoint.testkit import run, say

from tests.neovim.editor import Editor
from tests.neovim.stage import IDLE, UNHURRIED, opened_chat

pytestmark = pytest.mark.codex

PATCH = """apply_patch <<'EOF'
*** Begin Patch
*** Update File: kept.txt
@@
 kept
+added
*** End Patch
EOF"""


async def _click(
    editor: Editor, words: str, button: str = "left", *, of_list: bool = False
) -> None:
    """Clicks on words of the screen. A list has scrolled to its place once its last line is there."""

    def is_shown(screen: str) -> bool:
        last = screen.rstrip().rpartition("\n")[2]
        return words in screen and (not of_list or last.startswith("Type number"))

    rows = (await editor.shows(is_shown)).split("\n")
    row = next(number for number, line in enumerate(rows) if words in line)
    for action in ("press", "release"):
        await editor.request("nvim_input_mouse", button, action, "", 0, row, rows[row].index(words))


async def test_a_change_opens_its_file_at_the_line_by_key_and_by_mouse() -> None:
    async with opened_chat(repository=True) as chat:
        editor = chat.editor
        await chat.ask("Write.", run(PATCH), say("I changed `kept.txt`."))
        await editor.history_has("± kept.txt")
        await editor.command("Trimpoint timeline")
        await editor.keys("gg/± kept<CR>gf")
        await editor.until("vim.fn.expand('%:t') == 'kept.txt'")
        assert await editor.lua("return vim.fn.line('.')") == 2
        await editor.command("enew | Trimpoint timeline")
        await editor.keys("gg/I changed<CR>wwgf")
        await editor.until("vim.fn.expand('%:t') == 'kept.txt'")
        assert await editor.lua("return vim.bo.buftype") == ""
        await editor.command("enew | set mouse=a")
        await _click(editor, "± kept")
        await _click(editor, "± kept", "right")
        await editor.shows("Open kept.txt")
        await editor.keys("1<CR>")
        await editor.until("vim.fn.expand('%:t') == 'kept.txt'")


async def test_room_is_made_and_settings_are_chosen_with_the_mouse_alone() -> None:
    async with opened_chat() as chat:
        editor = chat.editor
        await chat.turns("One?|first answer", "Two?|second answer")
        await editor.command("set mouse=a")
        await editor.lua(UNHURRIED)
        await _click(editor, "first answer", "right")
        await editor.shows("Turn 1")
        await _click(editor, "Make room here", of_list=True)
        await editor.shows("Make room at turn 1")
        await _click(editor, "Clear turn 1: ", of_list=True)
        await editor.shows("Yes, clear")
        await _click(editor, "Yes, clear", of_list=True)
        await editor.history_has("To undo")
        await editor.until(IDLE)
        await _click(editor, "never ask")
        await editor.shows("What the agent may touch")
        await editor.keys("<Esc>")
        await _click(editor, "of 258,400")
        await editor.until("vim.fn.bufname() == 'trimpoint://context'")
        await editor.keys("q")
        await editor.command("Trimpoint chat")
        await editor.until("vim.bo.filetype == 'trimpoint_prompt'")
        chat.house.script.then(say("third answer"))
        await editor.lua("vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'Three?' })")
        # The line above the prompt has moved since the page was closed.
        await editor.shows("Three?")
        await _click(editor, "<CR> sends")
        await editor.history_has("third answer")
