"""A scripted model, the real Codex, a daemon, and Neovim with the plugin."""

import subprocess
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import msgspec
from trimpoint.testkit import Reply, say

from tests.cli.stage import CliHarness, opened_stage
from tests.deadlines import SCENARIO_S, STEP_S
from tests.neovim.editor import Editor, opened_editor

FREELY = ('approval_policy="never"', 'sandbox_mode="danger-full-access"')
ASKING = {"approvalPolicy": "untrusted", "sandbox": "danger-full-access"}
IDLE = "not require('trimpoint.ui.chat').last_used().talk:is_busy()"

# The window is there before it is known which thread it shows.
OPENED = "not require('trimpoint.ui.opening').is_waiting(require('trimpoint.ui.chat').last_used())"
CURRENT = {"threadId": "current"}
REQUEST = """
local method, params = ...
local answer, is_over
if params.threadId == "current" then
  params.threadId = require("trimpoint.ui.chat").last_used().talk.id
end
require("trimpoint.task").run(function()
  answer = require("trimpoint.client.session").request(method, params)
  is_over = true
end)
vim.wait(60000, function()
  return is_over
end)
return answer
"""

# Each look at the clock is a second later: nothing comes too soon.
UNHURRIED = """
local clock = 0
require("trimpoint.ui.choose").now = function()
  clock = clock + 1000
  return clock
end
"""


class Chat:
    """A person at an editor with an open chat."""

    def __init__(self, house: CliHarness, editor: Editor) -> None:
        self.house = house
        self.editor = editor

    async def ask(self, prompt: str, *replies: Reply) -> None:
        """Types a prompt and waits until the model has answered it."""
        before = len(self.house.model.turn_requests())
        self.house.script.then(*replies)
        await self.type(prompt)
        with anyio.fail_after(SCENARIO_S):
            while len(self.house.model.turn_requests()) < before + len(replies):
                await self.editor.lua("return 1")
        await self.editor.until(IDLE)

    async def turns(self, *pairs: str) -> None:
        """Runs turns: each pair is a prompt and an answer, with `|` between."""
        for pair in pairs:
            prompt, _, answer = pair.partition("|")
            await self.ask(prompt, say(answer))
            await self.editor.history_has(answer)

    async def type(self, text: str, send: str = "<C-s>") -> None:
        """Types a text into the prompt and sends it."""
        await self.editor.command("Trimpoint chat")
        await self.editor.until("vim.bo.filetype == 'trimpoint_prompt'")
        await self.editor.lua(
            "vim.api.nvim_buf_set_lines(0, 0, -1, false, vim.split(..., '\\n'))", text
        )
        await self.editor.keys(send)

    async def checkpoint_of(self, turn: int) -> None:
        """Waits until the files after a turn are captured."""
        with anyio.fail_after(STEP_S):
            while True:
                found = await self.editor.lua(REQUEST, "checkpoint/list", CURRENT)
                if found["turns"][turn].get("commit"):
                    return

    def model_input(self) -> str:
        """Returns the model's newest input as text, which proves the effect of a trim."""
        return msgspec.json.encode(self.house.model.turn_requests()[-1].input).decode()


def configure(house: CliHarness) -> None:
    """Makes every Codex of the stage use the scripted model."""
    lines = [*FREELY, *house.overrides]
    (house.codex_home / "config.toml").write_text("\n".join(lines) + "\n")


def make_repository(folder: Path) -> None:
    """Makes the worktree a git repository, so that its files have checkpoints."""
    (folder / "kept.txt").write_text("kept\n")
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    for words in (("init", "-q"), ("add", "."), (*identity, "commit", "-qm", "first")):
        subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)


@asynccontextmanager
async def opened_chat(
    thread: dict[str, str] | None = None, *, repository: bool = False, **options: Any
) -> AsyncIterator[Chat]:
    """Yields an editor with an open chat in a new folder, with a running daemon.

    :param thread: the settings of a thread that the folder already has.
    """
    async with AsyncExitStack() as stack:
        house = await stack.enter_async_context(opened_stage())
        configure(house)
        if repository:
            make_repository(house.worktree)
        environment = house.with_program_on_path()
        await stack.enter_async_context(house.daemon_alone())
        editor = await stack.enter_async_context(
            opened_editor(environment, house.worktree, **options)
        )
        if thread is not None:
            await editor.lua(REQUEST, "thread/start", {"cwd": str(house.worktree), **thread})
        await editor.command("Trimpoint chat")
        await editor.shows("Ask, or type")
        await editor.until(OPENED)
        try:
            yield Chat(house, editor)
        except BaseException:
            print(editor.terminal.text)
            raise
