"""A prompt that went into the running turn, and was not acknowledged because the connection was
lost, is sent again and taken once, by each face: the real ones, and the real Codex.
"""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Protocol

import anyio
import pytest
from trimpoint.testkit import Script, ScriptedModel, held, say
from trimpoint_protocol.client import ConnectionLost

from tests.chat.piloted import piloted
from tests.cli.stage import opened_stage
from tests.deadlines import SCENARIO_S
from tests.neovim.stage import opened_chat
from tests.web.browser import chromium, expected, needs_browser
from tests.web.stage import staged

pytestmark = [
    pytest.mark.processes,
    pytest.mark.codex,
    pytest.mark.each_case("each face has code of its own"),
]


class Face(Protocol):
    """A face with the scripted model that its agent talks to."""

    script: Script
    model: ScriptedModel

    async def says(self, text: str) -> None:
        """Types a prompt and sends it; the connection is lost before a steered one is answered."""

    async def has_sent_it_again(self) -> None:
        """Waits until the connection was lost, and the prompt is acknowledged after all."""

    async def shows(self, text: str) -> None:
        """Waits until a text is shown."""


class InChat:
    def __init__(self, stage: Any, chat: Any) -> None:
        self.script, self.model, self._chat = stage.script, stage.model, chat
        self._is_lost = anyio.Event()

    async def says(self, text: str) -> None:
        client = await self._chat.chat.reconnected()
        request = client.request

        async def lose(method: str, *params: Any, **shape: Any) -> Any:
            answer = await request(method, *params, **shape)
            if method == "turn/steer" and not self._is_lost.is_set():
                client.connection.lose()
                self._is_lost.set()
                raise ConnectionLost
            return answer

        client.request = lose
        await self._chat.types(text)

    async def has_sent_it_again(self) -> None:
        await self._is_lost.wait()
        await self._chat.shows(lambda _: self._chat.state.outgoing == [])

    async def shows(self, text: str) -> None:
        await self._chat.shows(text)


@asynccontextmanager
async def chat() -> AsyncIterator[Face]:
    async with (
        opened_stage() as stage,
        stage.daemon(),
        piloted(stage.socket, stage.worktree) as opened,
    ):
        yield InChat(stage, opened)


_LOSE = """
local session = require("trimpoint.client.session")
local request = session.request
session.request = function(method, params)
  local answer, refusal = request(method, params)
  if method ~= "turn/steer" or _G.is_lost then
    return answer, refusal
  end
  _G.is_lost = true
  vim.defer_fn(function()
    require("trimpoint.ui.chat").last_used():go_on_sending()
  end, 20)
  return nil, { message = "gone", reason = "disconnected" }
end
"""


class InNeovim:
    def __init__(self, chat: Any) -> None:
        self.script, self.model, self._chat = chat.house.script, chat.house.model, chat

    async def says(self, text: str) -> None:
        await self._chat.type(text, "<CR>")

    async def has_sent_it_again(self) -> None:
        chat = "require('trimpoint.ui.chat').last_used()"
        await self._chat.editor.until(f"_G.is_lost and #{chat}.sending == 0")

    async def shows(self, text: str) -> None:
        await self._chat.editor.history_has(text)


@asynccontextmanager
async def neovim() -> AsyncIterator[Face]:
    async with opened_chat() as opened:
        await opened.editor.lua(_LOSE)
        yield InNeovim(opened)


class InPage:
    def __init__(self, stage: Any) -> None:
        self.script, self.model, self._stage = stage.house.script, stage.house.model, stage
        self._is_lost = anyio.Event()

    async def says(self, text: str) -> None:
        await self._stage.send(text)

    async def has_sent_it_again(self) -> None:
        await self._is_lost.wait()
        await expected(self._stage.page.locator("textarea")).to_have_value("")

    async def shows(self, text: str) -> None:
        await self._stage.page.get_by_text(text, exact=True).last.wait_for()

    def on_socket(self, socket: Any) -> None:
        server = socket.connect_to_server()
        steers = set[Any]()

        async def from_server(text: str) -> None:
            if any(json.loads(line).get("id") in steers for line in text.splitlines()):
                await socket.close()
            else:
                socket.send(text)

        def from_page(text: str) -> None:
            for message in map(json.loads, text.splitlines()):
                if (
                    message.get("method") in ("turn/steer", "turn/start")
                    and not self._is_lost.is_set()
                ):
                    self._is_lost.set()
                    steers.add(message["id"])
            server.send(text)

        socket.on_message(from_page)
        server.on_message(from_server)


@asynccontextmanager
async def page() -> AsyncIterator[Face]:
    async with chromium() as browser, staged(browser) as stage:
        face = InPage(stage)
        await stage.page.route_web_socket("**", face.on_socket)
        await stage.thread()
        await stage.page.reload()
        await stage.page.locator("textarea").wait_for()
        yield face


@pytest.mark.parametrize("opened", [chat, neovim, pytest.param(page, marks=needs_browser)])
async def test_a_steered_prompt_is_taken_once_though_its_answer_was_lost(
    opened: Callable[[], AbstractAsyncContextManager[Face]],
) -> None:
    may_go_on = anyio.Event()
    with anyio.fail_after(SCENARIO_S):
        async with opened() as face:
            face.script.then(held(say("first answer"), may_go_on), say("second answer"))
            await face.says("prompt-1.")
            await face.model.wait_for_request(lambda request: request.mentions("prompt-1."))
            await face.says("prompt-2.")
            await face.has_sent_it_again()
            may_go_on.set()
            await face.shows("second answer")
            face.script.then(say("third answer"))
            await face.says("prompt-3.")
            await face.shows("third answer")
            assert str(face.model.turn_requests()[-1].input).count("prompt-2.") == 1
