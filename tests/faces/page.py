"""The page in a real Chromium, behind the actions of a face. The real daemon and Codex have its
thread; the agent's questions, and the answers to what is sent, are put into its WebSocket.
"""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import msgspec
from trimpoint.tui.model.questions import COMMAND

from tests.deadlines import STEP_S
from tests.faces.outcomes import ASKED, REFUSAL, UNKNOWN, Outcome
from tests.web.browser import chromium
from tests.web.stage import Stage, staged

_SENT = ("orchestration/dispatch", "turn/start", "commands/execute")
_FIRST_ID = 900_000
_FRAME_MS = 50


class PageFace:
    """The page with a thread. Its clock stands still but for what a test lets pass, and a moment
    after each act, in which it is drawn.
    """

    KEYS = {"accept": ["y"], "always": ["a"], "write": ["Tab", "Tab", "Tab", "Enter"]}

    def __init__(self, stage: Stage) -> None:
        self._page = stage.page
        self._thread_id = ""
        self._socket: Any = None
        self._answers: list[Any] = []
        self._open: set[int] = set()
        self._outcome = Outcome.TAKEN

    async def shows_thread(self, stage: Stage) -> None:
        """Opens a new thread in the page, and stops its clock."""
        await self._page.clock.install()
        await self._page.route_web_socket("**", self._on_socket)
        self._thread_id = await stage.thread()
        await self._page.reload()
        await self._page.locator("textarea").wait_for()
        await self._page.get_by_text("Ask for something below").wait_for()
        now = await self._page.evaluate("Date.now()")
        await self._page.clock.pause_at(now + 1000)
        await self._page.locator("textarea").focus()
        await self._drawn()

    def _on_socket(self, socket: Any) -> None:
        server = socket.connect_to_server()
        self._socket = socket
        socket.on_message(lambda text: self._on_sent(server, text))
        server.on_message(socket.send)

    def _on_sent(self, server: Any, text: str) -> None:
        for line in text.splitlines():
            message = json.loads(line)
            if "method" not in message and message.get("id") in self._open:
                self._open.discard(message["id"])
                self._answers.append(message["result"]["decision"])
            elif message.get("method") in _SENT:
                self._decided(message["id"])
            else:
                server.send(line)

    def _decided(self, request_id: int) -> None:
        match self._outcome:
            case Outcome.UNANSWERED | Outcome.LOST:
                answer = None
            case Outcome.REFUSED:
                answer = {"error": {"code": -32000, "message": REFUSAL}}
            case Outcome.UNKNOWN:
                answer = {"result": msgspec.to_builtins(UNKNOWN)}
            case Outcome.TAKEN:
                answer = {"result": {"sequence": 1, "events": [], "operationId": None}}
        if answer is not None:
            self._socket.send(json.dumps({"id": request_id, **answer}))

    async def _drawn(self) -> None:
        await self._page.clock.run_for(_FRAME_MS)

    async def _until(self, condition: str, value: Any = None) -> None:
        with anyio.fail_after(STEP_S):
            while not await self._page.evaluate(condition, value):
                await self._drawn()

    async def asks(self, number: int = 1, **params: Any) -> None:
        asked = {**ASKED, "threadId": self._thread_id, "turnId": "t", "itemId": f"i{number}"}
        question = {"id": _FIRST_ID + number, "method": COMMAND, "params": asked | params}
        self._open.add(_FIRST_ID + number)
        self._socket.send(json.dumps(question))
        more = f"{len(self._open) - 1} more" if len(self._open) > 1 else ""
        shown = "more => document.querySelector('.questions')?.innerText.includes(more)"
        await self._until(shown, more)

    async def passes(self, seconds: float) -> None:
        await self._page.clock.run_for(round(seconds * 1000))

    async def types(self, text: str) -> None:
        await self._page.keyboard.type(text)
        await self._drawn()

    async def goes(self) -> None:
        await self._page.keyboard.press("Alt+ArrowUp")

    async def takes(self, choice: str) -> None:
        keys = ["Escape"] if choice == "back" else self.KEYS[choice]
        for key in keys:
            await self._page.keyboard.press(key)
        await self._drawn()

    async def decides(self, outcome: Outcome) -> None:
        self._outcome = outcome

    async def sends(self) -> None:
        await self._page.keyboard.press("Enter")
        if self._outcome is Outcome.LOST:
            await self._socket.close()
        await self._drawn()

    async def answers(self) -> list[Any]:
        await self._drawn()
        return self._answers

    async def prompt(self) -> str:
        return str(await self._page.locator("textarea").input_value())

    async def screen(self) -> str:
        await self._drawn()
        box = await self._page.locator("textarea").input_value()
        return f"{await self._page.locator('body').inner_text()}\n{box}"

    async def others_ask(self, *titles: str) -> None:
        raise NotImplementedError  # its list of threads shows them: tests/web/test_waiting.py


@asynccontextmanager
async def page_face() -> AsyncIterator[PageFace]:
    """Yields the page with an empty thread."""
    async with chromium() as browser, staged(browser) as stage:
        face = PageFace(stage)
        await face.shows_thread(stage)
        yield face
