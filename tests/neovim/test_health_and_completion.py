"""The output of `:checkhealth`, and the completions: the daemon's own commands."""

import anyio
import pytest

from tests.cli.stage import opened_stage
from tests.deadlines import STEP_S
from tests.neovim.editor import Editor, opened_editor
from tests.neovim.stage import configure, opened_chat

pytestmark = pytest.mark.codex

BUFFER = "return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\\n')"
COMPLETED = "return vim.fn.getcompletion('Trimpoint ' .. ..., 'cmdline')"
BLINK = """
local line = ...
local source, found = require("trimpoint.completion.blink").new(), nil
vim.cmd.buffer(require("trimpoint.ui.chat").last_used().prompt)
assert(source:enabled() and vim.tbl_contains(source:get_trigger_characters(), "/"))
source:get_completions({ line = line, cursor = { 1, #line } }, function(response)
  found = vim.tbl_map(function(item)
    return item.textEdit.newText
  end, response.items)
end)
vim.wait(20000, function()
  return found
end)
return found
"""


async def health(editor: Editor) -> str:
    """Waits for the output of `:checkhealth`, and returns it."""
    with anyio.fail_after(STEP_S):
        while "Neovim" not in (said := await editor.lua(BUFFER)):
            pass
    return str(said)


async def test_every_kind_of_completion_offers_what_the_daemon_knows() -> None:
    async with opened_chat() as chat:
        editor = chat.editor
        await editor.lua("require('trimpoint.completion.commands').PATIENCE_MS = 60000")
        before = await editor.lua("return vim.go.completeopt")
        offered = await editor.lua(COMPLETED, "")
        assert {"chat", "ask", "clear", "compact", "revert", "undo", "pin", "search"} <= set(
            offered
        )
        assert len(offered) == len(set(offered))
        assert await editor.lua(COMPLETED, "compr") == ["compress"]
        assert await editor.lua(COMPLETED, "clear ") == []
        assert await editor.lua(BLINK, "/comp") == ["/compact", "/compress"]
        assert await editor.lua(BLINK, "no command") == []
        await editor.keys("<Esc>S/co<C-x><C-o>")
        await editor.shows("/compress")
        assert await editor.lua("return vim.api.nvim_get_current_line()") == "/co"
        await editor.keys("<Esc>u")
        assert await editor.lua("return vim.go.completeopt") == before


SLOW_AND_DRAWN = """
local session, chat = require("trimpoint.client.session"), require("trimpoint.ui.chat").last_used()
local connect = session.connect
session.connect = function(...)
  chat:say("drawn meanwhile", "info")
  require("trimpoint.task").sleep(300)
  return connect(...)
end
"""


async def test_a_completion_that_waits_keeps_the_chat_from_being_drawn_only_until_then() -> None:
    """Neovim lets no text be changed while a completion is worked out."""
    async with opened_chat() as chat:
        editor = chat.editor
        await editor.lua("require('trimpoint.completion.commands').PATIENCE_MS = 60000")
        await editor.lua(SLOW_AND_DRAWN)
        await editor.keys("<Esc>S/co<C-x><C-o>")
        await editor.shows("/compress")
        await editor.shows("drawn meanwhile")
        assert "Error" not in await editor.messages()


async def test_a_healthy_installation_is_found_so() -> None:
    async with opened_chat() as chat:
        await chat.editor.command("checkhealth trimpoint")
        lines = await health(chat.editor)
        assert "The daemon 0.1.0 answers at" in lines
        assert "Codex needs no login, or has one" in lines
        assert "ERROR" not in lines


async def test_checkhealth_names_problems_with_their_remedies() -> None:
    async with opened_stage() as house:
        configure(house)
        without_program = house.environment | {"PATH": "/usr/bin:/bin"}
        async with opened_editor(without_program, house.worktree) as editor:
            await editor.lua("vim.g.trimpoint = { layuot = 'left', width = 'wide' }")
            await editor.command("Trimpoint chat")
            await editor.shows('The program "trimpoint" was not found')
            await editor.command("checkhealth trimpoint")
            lines = await health(editor)
    assert 'there is no setting "layuot"' in lines
    assert "width must be a number, not a string" in lines
    assert 'ERROR The program "trimpoint" was not found' in lines
    assert "Neovim sees the PATH that it was started with: /usr/bin:/bin" in lines
