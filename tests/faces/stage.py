"""The faces in which a person talks to the agent, behind the same few actions: the chat and Neovim.

Time is the test's own: it passes only where a test lets it.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

import anyio
import msgspec
from textual.pilot import Pilot
from trimpoint.tui.model.questions import COMMAND, card_of
from trimpoint.tui.model.state import ChatState, LinkState, Question
from trimpoint.tui.session.changes import Changes
from trimpoint.tui.session.chat import Chat
from trimpoint.tui.session.drafts import Drafts
from trimpoint.tui.session.link import Link
from trimpoint.tui.widgets.app import ChatApp
from trimpoint_protocol.client import ConnectionLost, RemoteError
from trimpoint_protocol.methods import ThreadOverview
from trimpoint_protocol.shapes.slash_commands import CommandOutcome

from tests.chat.entries import thread
from tests.deadlines import STEP_S
from tests.faces.outcomes import ASKED, REFUSAL, UNKNOWN, Outcome
from tests.neovim.editor import Editor, opened_editor


class Face(Protocol):
    """A face as a person uses it. `answers` are the decisions that would be sent to Codex."""

    async def asks(self, number: int = 1, **params: Any) -> None:
        """Lets the agent ask."""

    async def passes(self, seconds: float) -> None:
        """Lets time pass."""

    async def types(self, text: str) -> None:
        """Types letters, wherever the keys are."""

    async def goes(self) -> None:
        """Goes to the question."""

    async def takes(self, choice: str) -> None:
        """Presses the keys of a choice: accept, always, write or back."""

    async def answers(self) -> list[Any]:
        """Returns the decisions so far."""

    async def prompt(self) -> str:
        """Returns what is typed in the prompt."""

    async def screen(self) -> str:
        """Returns what is on the screen."""

    async def decides(self, outcome: Outcome) -> None:
        """Decides what becomes of what is sent from now on."""

    async def sends(self) -> None:
        """Presses the key that sends."""

    async def others_ask(self, *titles: str) -> None:
        """Lets threads that are not open ask, and all others be idle."""


def _asking(title: str) -> ThreadOverview:
    return thread(title, name=title, busy="turn: running", asks=COMMAND)


class ChatFace:
    """`trimpoint chat` without a terminal and a daemon."""

    KEYS = {"accept": "y", "always": "a", "write": "y", "back": "n"}

    def __init__(self, pilot: Pilot[None], chat: Chat, clock: list[float]) -> None:
        self._pilot, self._chat, self._clock = pilot, chat, clock
        self._answers: list[Any] = []
        self._outcome = Outcome.TAKEN
        chat.answer = self._answer  # type: ignore[method-assign]
        chat.prepare = self._client  # type: ignore[method-assign, assignment]
        chat.reconnected = self._reconnected  # type: ignore[method-assign, assignment]
        self._is_lost = False

    def _answer(self, question: Question, result: Any) -> None:
        self._answers.append(result["decision"])
        self._chat.state.withdraw(question.id)
        self._chat.changes.note()

    async def _client(self, *_: object) -> "ChatFace":
        return self

    async def dispatch(self, command: object) -> None:
        """Answers the command that queues a prompt."""
        match self._outcome:
            case Outcome.REFUSED:
                raise RemoteError(-32000, REFUSAL)
            case Outcome.LOST:
                self._is_lost = True
                raise ConnectionLost
            case Outcome.UNANSWERED:
                await anyio.sleep_forever()
            case _:
                return

    async def _reconnected(self) -> "ChatFace":
        if self._is_lost:
            await anyio.sleep_forever()
        return self

    async def execute(self, *_: object, **__: object) -> CommandOutcome:
        """Answers a command."""
        return UNKNOWN

    async def decides(self, outcome: Outcome) -> None:
        self._outcome = outcome

    async def sends(self) -> None:
        await self._pilot.press("enter")
        await self._pilot.pause()

    async def others_ask(self, *titles: str) -> None:
        self._chat.state.threads = [_asking(title) for title in titles]
        self._chat.changes.note()
        await self._pilot.pause()

    async def asks(self, number: int = 1, **params: Any) -> None:
        card = card_of(COMMAND, ASKED | params, {})
        assert card is not None
        self._chat.state.ask(Question(number, COMMAND, card))
        self._chat.changes.note()
        with anyio.fail_after(STEP_S):
            while card.title not in await self.screen():
                await self._pilot.pause()

    async def passes(self, seconds: float) -> None:
        self._clock[0] += seconds

    async def types(self, text: str) -> None:
        await self._pilot.press(*("space" if key == " " else key for key in text))
        await self._pilot.pause()

    async def goes(self) -> None:
        if "Tab goes here" not in await self.screen():
            return
        await self._pilot.press("tab")
        await self._pilot.pause()

    async def takes(self, choice: str) -> None:
        await self._pilot.press(self.KEYS[choice])
        await self._pilot.pause()
        # The next question is drawn, and the focus has gone back.
        self._pilot.app.show_state()  # type: ignore[attr-defined]
        await self._pilot.pause()

    async def answers(self) -> list[Any]:
        await self._pilot.pause()
        return self._answers

    async def prompt(self) -> str:
        return str(self._pilot.app.query_one("#composer").text)  # type: ignore[attr-defined]

    async def screen(self) -> str:
        strips = self._pilot.app.screen._compositor.render_strips()  # pyright: ignore[reportPrivateUsage]
        return "\n".join(strip.text.rstrip() for strip in strips)


async def _no_daemon() -> Path | None:
    return None


async def _none_to_start() -> Path:
    raise FileNotFoundError("there is no daemon here")


@asynccontextmanager
async def chat_face(drafts: Drafts | None = None) -> AsyncIterator[Face]:
    """Yields the chat."""
    state, clock = ChatState("/work/shop", "t"), [100.0]
    state.link = LinkState.CONNECTED
    chat = Chat(Link(_no_daemon, _none_to_start, None), state, Changes(), drafts)
    app = ChatApp(chat, lambda: clock[0])
    async with app.run_test(size=(90, 30)) as pilot:
        yield ChatFace(pilot, chat, clock)


_SET_UP = """
_G.clock, _G.answers = 100000, {}
require("trimpoint.ui.choose").now = function()
  return _G.clock
end
local session = require("trimpoint.client.session")
local listen = session.listen
_G.listeners = {}
session.listen = function(listener)
  table.insert(_G.listeners, listener)
  listen(listener)
end
session.answer = function(_, result)
  table.insert(_G.answers, result.decision)
end
-- A picker in a window, as most people have one: F5 chooses the first row, F6 the second.
vim.ui.select = function(items, options, choose)
  local lines = vim.split(options.prompt, "\\n")
  for number, item in ipairs(items) do
    table.insert(lines, number .. ": " .. (options.format_item or tostring)(item))
  end
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  local place = { relative = "editor", row = 2, col = 2, width = 90, height = #lines }
  local window = vim.api.nvim_open_win(buffer, true, place)
  for number, item in ipairs(items) do
    vim.keymap.set("n", ("<F%d>"):format(number + 4), function()
      vim.api.nvim_win_close(window, true)
      choose(item)
    end, { buffer = buffer, nowait = true })
  end
end
local chat = require("trimpoint.ui.chat").fresh(vim.fn.getcwd())
chat:show()
vim.cmd.startinsert()
"""
_ASK = """
local id, method, params = ...
require("trimpoint.ui.chat").last_used().talk:on_question(id, method, params)
"""
_OTHERS_ASK = """
local session, threads = require("trimpoint.client.session"), ...
require("trimpoint.ui.waiting")
session.state = function()
  return "ready"
end
session.request = function()
  return { threads = threads }, nil
end
for _, listener in ipairs(_G.listeners) do
  listener.on_notification("thread/status/changed", {})
end
vim.wait(300)
"""
_DECIDE = """
local outcome, refusal, unknown = ...
local chat = require("trimpoint.ui.chat").last_used()
chat.talk.id = "t"
require("trimpoint.client.session").request = function(method)
  if outcome == "not answered" then
    return require("trimpoint.task").await(function() end)
  elseif outcome == "refused" then
    return nil, { message = refusal, reason = "usage" }
  elseif outcome == "lost with the connection" then
    return nil, { message = "The connection was lost.", reason = "disconnected" }
  elseif outcome == "not known as a command" then
    return { handled = true, status = "failed", message = unknown }, nil
  end
  return {}, nil
end
"""
_PROMPT = """
local chat = require("trimpoint.ui.chat").last_used()
return table.concat(vim.api.nvim_buf_get_lines(chat.prompt, 0, -1, false), "\\n")
"""


_SCREEN = """
vim.cmd.redraw()
local lines = {}
for row = 1, vim.o.lines do
  local cells = {}
  for column = 1, vim.o.columns do
    cells[column] = vim.fn.screenstring(row, column)
  end
  lines[row] = table.concat(cells)
end
return table.concat(lines, "\\n")
"""


class NeovimFace:
    """The plugin in a real Neovim, without a daemon."""

    KEYS = {"accept": "<F5>", "always": "<F6>", "write": "<F6>", "back": "<F5>"}

    def __init__(self, editor: Editor) -> None:
        self._editor = editor

    async def asks(self, number: int = 1, **params: Any) -> None:
        await self._editor.lua(_ASK, number, COMMAND, ASKED | params)
        await self._editor.history_has("The agent asks to run a command")

    async def passes(self, seconds: float) -> None:
        await self._editor.lua("_G.clock = _G.clock + ...", seconds * 1000)

    async def types(self, text: str) -> None:
        await self._editor.keys(text)

    async def goes(self) -> None:
        await self._editor.keys("<Esc><Tab>")
        await self._editor.shows("1: Yes")

    async def takes(self, choice: str) -> None:
        await self._editor.keys(self.KEYS[choice])
        await self._editor.lua("vim.wait(0)")

    async def decides(self, outcome: Outcome) -> None:
        await self._editor.lua(_DECIDE, outcome, REFUSAL, UNKNOWN.message)

    async def sends(self) -> None:
        await self._editor.keys("<C-s>")
        await self._editor.lua("vim.wait(50)")

    async def others_ask(self, *titles: str) -> None:
        threads = [msgspec.to_builtins(_asking(title)) for title in titles]
        await self._editor.lua(_OTHERS_ASK, threads)

    async def answers(self) -> list[Any]:
        await self._editor.lua("vim.wait(20)")
        return list(await self._editor.lua("return _G.answers"))

    async def prompt(self) -> str:
        return str(await self._editor.lua(_PROMPT))

    async def screen(self) -> str:
        return str(await self._editor.lua(_SCREEN))


@asynccontextmanager
async def neovim_face(folder: Path) -> AsyncIterator[Face]:
    """Yields Neovim with an empty chat."""
    environment = {"HOME": str(folder), "PATH": "/usr/bin:/bin", "TERM": "xterm-256color"}
    async with opened_editor(environment, folder) as editor:
        await editor.lua(_SET_UP)
        yield NeovimFace(editor)
