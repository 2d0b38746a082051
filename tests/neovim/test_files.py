"""Files and the chat: what a prompt points at, and what a turn changed in them."""

import pytest
from trimpoint.testkit import run, say

from tests.neovim.stage import IDLE, OPENED, UNHURRIED, opened_chat

pytestmark = pytest.mark.codex

MARKS = """
local namespace = vim.api.nvim_create_namespace("trimpoint.review")
local found = {}
for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(0, namespace, 0, -1, { details = true })) do
  local removed = mark[4].virt_lines
  found[#found + 1] = { mark[2] + 1, removed and removed[1][1][1] or mark[4].sign_text }
end
return found
"""
PROMPT_HEIGHT = """
for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
  if vim.bo[vim.api.nvim_win_get_buf(window)].filetype == "trimpoint_prompt" then
    return vim.api.nvim_win_get_height(window)
  end
end
"""


async def test_a_prompt_points_at_files_and_at_the_buffer_as_it_is_in_the_editor() -> None:
    async with opened_chat(repository=True) as chat:
        editor, worktree = chat.editor, chat.house.worktree
        (worktree / ".gitignore").write_text("ignored.txt\n")
        (worktree / "ignored.txt").write_text("x\n")
        await editor.command("stopinsert | wincmd h | edit kept.txt")
        await editor.keys("onot written<Esc>")
        chat.house.script.then(say("I see"))
        await editor.command("Trimpoint chat")
        await editor.keys("iWhat of @")
        await editor.keys("<C-x><C-o>")
        await editor.shows("@kept.txt")
        assert "@ignored.txt" not in editor.terminal.text
        await editor.keys("kept<C-e> and #buffer?<C-s>")
        await editor.history_has("I see")
        sent = chat.model_input()
        assert "kept.txt, lines 1 to 2:\\n```text\\nkept\\nnot written\\n```" in sent


async def test_changes_of_a_turn_are_shown_in_the_file_and_rejected_by_a_revert() -> None:
    async with opened_chat(repository=True) as chat:
        editor, file = chat.editor, chat.house.worktree / "kept.txt"
        await chat.ask("Say.", say("said"))
        await chat.ask("Write.", run("printf 'one\\ntwo\\n' >kept.txt"), say("written"))
        await chat.checkpoint_of(2)
        await editor.command("Trimpoint review")
        await editor.until("vim.fn.expand('%:t') == 'kept.txt'")
        assert sorted(await editor.lua(MARKS)) == [[1, "+ "], [1, "- kept"], [2, "+ "]]
        await editor.shows("- kept")
        await editor.command("Trimpoint accept")
        assert await editor.lua(MARKS) == []
        assert file.read_text() == "one\ntwo\n"
        await editor.lua(UNHURRIED)
        await editor.command("Trimpoint review")
        await editor.shows("- kept")
        await editor.command("Trimpoint reject")
        await editor.shows("Yes, revert")
        await editor.keys("2<CR>")
        await editor.until("#vim.api.nvim_buf_get_lines(0, 0, -1, false) == 1")
        await editor.until(IDLE)
        assert file.read_text() == "kept\n"
        assert await editor.lua(MARKS) == []


async def test_a_page_that_is_closed_leaves_the_person_in_the_history() -> None:
    async with opened_chat(repository=True) as chat:
        editor = chat.editor
        await editor.command("wincmd h | edit kept.txt")
        await chat.ask("Write.", run("echo two >>kept.txt"), say("written"))
        await chat.checkpoint_of(1)
        await editor.command("Trimpoint timeline")
        await editor.keys("gg/written<CR>d")
        await editor.shows("+two")
        await editor.keys("q")
        await editor.until("vim.bo.filetype == 'trimpoint'")
        # What a command says is seen, although the end of the history is not.
        await editor.command("execute 'normal! gg' | resize 3")
        await editor.command("Trimpoint auto mask")
        await editor.shows("Automatic: mask, chosen for this thread")
        await editor.shows("auto mask")
        assert "Automatic: mask" in await editor.messages()


async def test_a_page_that_is_closed_leaves_the_prompt_its_height() -> None:
    async with opened_chat() as chat:
        editor = chat.editor
        await editor.until(OPENED)
        await chat.turns("One?|first answer")
        before = await editor.lua(PROMPT_HEIGHT)
        for page in ("context", "context"):
            await editor.command(f"Trimpoint {page}")
            await editor.until("vim.fn.bufname() == 'trimpoint://context'")
            await editor.command("quit")
            await editor.until("vim.fn.bufwinid('trimpoint://context') == -1")
            await editor.lua("vim.wait(0)")
            assert await editor.lua(PROMPT_HEIGHT) == before
