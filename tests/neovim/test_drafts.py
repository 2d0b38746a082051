"""A draft in Neovim: it stands in the prompt's buffer, to be changed and sent, or deleted."""

import anyio
import pytest

from tests.deadlines import STEP_S
from tests.neovim.stage import opened_chat

pytestmark = pytest.mark.codex

PROMPT = """
local chat = require("trimpoint.ui.chat").last_used()
return table.concat(vim.api.nvim_buf_get_lines(chat.prompt, 0, -1, false), "\\n")
"""


async def test_a_drafted_summary_is_changed_in_the_prompt_and_accepted() -> None:
    async with opened_chat() as chat:
        await chat.turns("prompt-1.|answer-1.", "prompt-2.|answer-2.", "prompt-3.|answer-3.")
        await chat.type("/compact --edit --keep 1")
        with anyio.fail_after(STEP_S):
            while not (drafted := await chat.editor.lua(PROMPT)).startswith("/accept draft:"):
                pass
        await chat.editor.shows("nothing has changed yet")
        await chat.type(f"{drafted}\nIn my words.")
        await chat.editor.history_has("Context compacted")
        await chat.turns("prompt-4.|answer-4.")
        seen = chat.model_input()
    assert "In my words." in seen
    assert ("prompt-3." in seen, "prompt-2." in seen) == (True, False)
