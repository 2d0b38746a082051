"""Codex's requests are shown to the person, and only the person's choice is answered."""

import pytest
from trimpoint.testkit import run, say

from tests.neovim.stage import ASKING, IDLE, UNHURRIED, opened_chat

pytestmark = pytest.mark.codex

TOUCH = "touch made.txt"


async def test_an_approval_shows_the_command_and_runs_it_when_it_is_allowed() -> None:
    async with opened_chat(ASKING) as chat:
        editor, made = chat.editor, chat.house.worktree / "made.txt"
        chat.house.script.then(run(TOUCH), say("done"))
        await chat.type("Make it.")
        await editor.shows("The agent asks to run a command")
        await editor.history_has(f"$ {TOUCH}")
        await editor.lua(UNHURRIED)
        await editor.keys("<C-\\><C-n><Tab>")
        await editor.shows("Type number")
        assert not made.exists()
        await editor.keys("1<CR>")
        await editor.history_has("done")
        await editor.until(IDLE)
        assert made.exists()


async def test_a_question_does_not_take_the_keys_of_a_person_who_types_elsewhere() -> None:
    async with opened_chat(ASKING) as chat:
        editor, made = chat.editor, chat.house.worktree / "made.txt"
        chat.house.script.then(run(TOUCH), say("not then"))
        await chat.type("Make it.")
        await editor.lua("vim.cmd('stopinsert | wincmd h | startinsert')")
        await editor.history_has("The agent asks to run a command")
        await editor.keys("1<CR>y<CR>")
        await editor.until("#vim.api.nvim_buf_get_lines(0, 0, -1, false) == 3")
        assert not made.exists()
        await editor.lua(UNHURRIED)
        await editor.command("Trimpoint answer")
        screen = await editor.shows("Type number")
        number = next(line.split(":")[0] for line in screen.splitlines() if ": No" in line)
        await editor.keys(f"{number.strip()}<CR>")
        await editor.until("#require('trimpoint.ui.chat').last_used().talk.questions == 0")
        assert not made.exists()
