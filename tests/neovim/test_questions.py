"""Codex's requests are shown to the person, and only the person's choice is answered."""

import pytest
from trimpoint.testkit import run, say

from tests.neovim.editor import opened_editor
from tests.neovim.stage import ASKING, IDLE, UNHURRIED, opened_chat

pytestmark = pytest.mark.codex

TOUCH = "touch made.txt"
PATCH = (
    "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: patched.txt\n+hello\n*** End Patch\nEOF\n"
)


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


async def test_a_window_that_opens_later_shows_the_whole_change_and_can_decline_it() -> None:
    async with opened_chat(ASKING) as chat:
        house, made = chat.house, chat.house.worktree / "patched.txt"
        house.script.then(run(PATCH), say("not then"))
        await chat.type("Patch it.")
        await chat.editor.history_has("The agent asks to change files")
        async with opened_editor(house.with_program_on_path(), house.worktree) as other:
            await other.command("Trimpoint chat")
            await other.history_has("The agent asks to change files")
            shown = await other.history_has("  +hello")
            assert "patched.txt  +1" in shown
            await other.lua(UNHURRIED)
            await other.command("Trimpoint answer")
            screen = await other.shows("Type number")
            number = next(line.split(":")[0] for line in screen.splitlines() if ": No" in line)
            await other.keys(f"{number.strip()}<CR>")
            # It is declined in both windows.
            await other.shows("declined")
            await chat.editor.shows("declined")
        assert not made.exists()


async def test_a_question_that_ends_with_its_turn_is_not_said_to_be_answered_elsewhere() -> None:
    async with opened_chat(ASKING) as chat:
        editor = chat.editor
        chat.house.script.then(run(TOUCH), say("not then"))
        await chat.type("Make it.")
        await editor.history_has("The agent asks to run a command")
        await editor.command("Trimpoint interrupt")
        shown = await editor.history_has("■ The turn was interrupted.")
        assert "elsewhere" not in shown
        assert "elsewhere" not in await editor.messages()


BEGINS_ASKING = """
local threads, session = require("trimpoint.client.threads"), require("trimpoint.client.session")
threads.start = function(cwd)
  return session.request(
    "thread/start",
    { cwd = cwd, approvalPolicy = "untrusted", sandbox = "danger-full-access" }
  )
end
"""


async def test_the_question_of_a_chat_that_is_hidden_is_found_from_another_chat() -> None:
    async with opened_chat(ASKING) as chat:
        editor, worktree = chat.editor, chat.house.worktree
        chat.house.script.then(run(TOUCH), run("touch second.txt"), say("done"))
        await chat.type("Make it.")
        await editor.history_has(f"  $ {TOUCH}")
        await editor.lua(BEGINS_ASKING + UNHURRIED)
        await editor.keys("<C-\\><C-n>q")
        await editor.command("Trimpoint fresh")
        await editor.until("vim.bo.filetype == 'trimpoint_prompt'")
        await editor.keys("iMake another.<C-s>")
        await editor.history_has("  $ touch second.txt")
        # The one that is looked at comes first.
        await editor.command("Trimpoint answer")
        await editor.shows("touch second.txt\n1: Yes")
        await editor.keys("3<CR>")
        await editor.shows("declined")
        await editor.command("Trimpoint answer")
        await editor.shows(f"{TOUCH}\n1: Yes")
        await editor.keys("1<CR>")
        await editor.history_has("done")
        assert [path.name for path in worktree.iterdir()] == ["made.txt"]
        await editor.command("Trimpoint answer")
        await editor.shows("The agent asks nothing here.")
