"""Text of a model is shown and never executed."""

import pytest
from trimpoint.testkit import run, say

from tests.neovim.stage import opened_chat

pytestmark = pytest.mark.codex

HOSTILE = "\n".join(
    [
        "vim: set foldmethod=marker tabstop=3 textwidth=7:",
        "\x1b]0;title\x07\x1b[2J\x1b[31mred \u202eright to left",
        "%{execute('let g:owned = 1')} %#Error# `!touch owned`",
        "```lua",
        "a fence that is never closed",
        "",
        "<script>alert(1)</script> [[file:///etc/passwd]] |quit|",
        "vim: set tabstop=3:",
    ]
)

RENAME = """
local id = ...
require("trimpoint.task").run(function()
  local name = "%{execute('let g:owned = 1')}"
  require("trimpoint.client.session").request("thread/name/set", { threadId = id, name = name })
end)
"""


async def test_text_of_the_model_changes_nothing_in_the_editor() -> None:
    async with opened_chat() as chat:
        editor = chat.editor
        await chat.ask(HOSTILE, run("printf '\\033[2J%%{x}\\n%s' out"), say(HOSTILE))
        await chat.turns("And then?|**a quiet answer**")
        # The fence that was left open does not reach into what comes behind it.
        await editor.shows(lambda text: "a quiet answer" in text and "**" not in text)
        shown = "\n".join(await editor.history())
        assert not set("\x1b\x07\u202e") & set(shown)
        assert "%{execute" in shown
        await editor.command("Trimpoint search <script>")
        await editor.shows("[Location List]")
        thread_id = await editor.lua("return require('trimpoint.ui.chat').last_used().talk.id")
        await editor.lua(RENAME, thread_id)
        await editor.history_has("trimpoint · %{execute")
        await editor.command("Trimpoint clear 1")
        await editor.shows("Context cleared")
        state = "{ g = vim.g.owned, tabs = vim.bo[require('trimpoint.ui.chat').last_used().buffer].tabstop }"
        assert await editor.lua(f"return {state}") == {"tabs": 8}
        assert await editor.lua("return vim.v.errmsg") == ""
        assert not (chat.house.worktree / "owned").exists()


@pytest.mark.parametrize("mark", ["> ", "- ", "1. "])
async def test_blocks_deep_inside_each_other_do_not_end_the_editor(mark: str) -> None:
    async with opened_chat() as chat:
        await chat.ask("Deep?", say(mark * 500 + "deep"))
        await chat.turns("And then?|a quiet answer")
        assert await chat.editor.lua("return vim.v.errmsg") == ""


async def test_bytes_that_are_no_text_can_be_asked_about() -> None:
    async with opened_chat() as chat:
        (chat.house.worktree / "binary").write_bytes(b"a\xff\xfe\x00b\n")
        chat.house.script.then(say("bytes"))
        await chat.editor.command("wincmd h | edit binary")
        await chat.editor.keys("V:Trimpoint ask What is this?<CR>")
        await chat.editor.history_has("bytes")
        assert "binary, lines 1 to 1" in chat.model_input()
