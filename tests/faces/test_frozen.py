"""A daemon that answers nothing while its socket is open is noticed and said, in each face; what is
typed meanwhile is sent once when it wakes.
"""

import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Protocol

import anyio
import pytest
from trimpoint.testkit import say
from trimpoint.tui.session import link

from tests.chat.piloted import Piloted, piloted
from tests.cli.stage import CliHarness, opened_stage
from tests.deadlines import STEP_S
from tests.neovim.editor import opened_editor
from tests.neovim.stage import Chat as Neovim
from tests.neovim.stage import configure

pytestmark = pytest.mark.codex
SOON_S = 0.5
NOT_CONNECTED = {"chat": "it does not answer", "neovim": "Not connected to the daemon"}
NOT_SENT = {"chat": "not sent yet", "neovim": "not connected: it is kept"}

TYPE_BEHIND = """
local chat = require("trimpoint.ui.chat").last_used()
chat:show()
local is_empty = vim.fn.getline(1, "$")[1] == "" and vim.fn.line("$") == 1
vim.api.nvim_buf_set_lines(0, is_empty and 0 or -1, -1, false, { ... })
chat:submit("enter")
"""


class Open(Protocol):
    """An open face."""

    async def types(self, text: str) -> None:
        """Types a text and presses the key that sends."""

    async def shows(self, text: str) -> None:
        """Waits until a text is on the screen."""


class OpenNeovim:
    """The plugin with an open chat."""

    def __init__(self, chat: Neovim) -> None:
        self._chat = chat

    async def types(self, text: str) -> None:
        # Behind what is on its way: who writes over that takes it back.
        await self._chat.editor.lua(TYPE_BEHIND, text)

    async def shows(self, text: str) -> None:
        await self._chat.editor.shows(text)


@asynccontextmanager
async def opened(name: str, stage: CliHarness) -> AsyncIterator[Open | Piloted]:
    if name == "chat":
        async with piloted(stage.socket, stage.worktree) as chat:
            yield chat
        return
    configure(stage)
    async with opened_editor(stage.with_program_on_path(), stage.worktree) as editor:
        session = "require('trimpoint.client.session')"
        await editor.lua(f"{session}.SILENCE_MS, {session}.PATIENCE_MS = 500, 500")
        await editor.command("Trimpoint chat")
        await editor.shows("Ask, or type")
        yield OpenNeovim(Neovim(stage, editor))


@pytest.mark.parametrize("name", ["chat", "neovim"])
async def test_what_is_typed_while_the_daemon_is_stopped_is_sent_once_when_it_wakes(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link, "SILENCE_S", SOON_S)
    monkeypatch.setattr(link, "PATIENCE_S", SOON_S)
    async with opened_stage() as stage, stage.serving() as serve, opened(name, stage) as face:
        stage.script.then(say("Before."), say("After."), say("At last."))
        await face.types("prompt-1.")
        await face.shows("Before.")
        serve.process.send_signal(signal.SIGSTOP)
        try:
            await face.types("prompt-2.")
            await face.shows(NOT_CONNECTED[name])
            await face.shows(NOT_SENT[name])
            await face.shows("prompt-2.")
            await face.types("prompt-3.")
            await face.shows("prompt-3.")
        finally:
            serve.process.send_signal(signal.SIGCONT)
        await face.shows("At last.")
        with anyio.fail_after(STEP_S):
            while len(stage.model.turn_requests()) < 3:  # noqa: ASYNC110
                await anyio.sleep(0.05)
        asked = [str(one.input[-1]) for one in stage.model.turn_requests()]
        assert [f"prompt-{at}." in text for at, text in enumerate(asked, 1)] == [True] * 3
