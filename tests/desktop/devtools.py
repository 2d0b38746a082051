"""Chromium's developer tools for a window. Playwright does not drive Qt's Chromium."""

import itertools
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.request import urlopen

import anyio
import anyio.to_thread
from websockets.asyncio.client import ClientConnection, connect

from tests.deadlines import STEP_S

_LOOK_AGAIN_S = 0.05


class DevTools:
    """The page of one window. `faults` holds the errors of its console."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._ids = itertools.count(1)
        self.faults: list[str] = []

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Returns the result of one method of the protocol."""
        name = next(self._ids)
        await self._socket.send(json.dumps({"id": name, "method": method, "params": params}))
        while True:
            message: dict[str, Any] = json.loads(await self._socket.recv())
            if message.get("id") == name:
                assert "error" not in message, message["error"]
                return dict(message["result"])
            self._note(message)

    async def evaluate(self, expression: str) -> Any:
        """Returns the value of an expression in the page."""
        answer = await self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    async def until(self, expression: str) -> Any:
        """Waits until an expression is true in the page, and returns its value."""
        with anyio.fail_after(STEP_S):
            while True:
                if found := await self.evaluate(expression):
                    return found
                await anyio.sleep(_LOOK_AGAIN_S)

    async def until_shown(self, text: str) -> None:
        """Waits until the page shows a text."""
        await self.until(f"document.querySelector('.main')?.innerText.includes({json.dumps(text)})")

    async def type(self, text: str) -> None:
        """Types into the prompt, and sends it."""
        await self.until("document.querySelector('textarea') !== null")
        await self.evaluate("document.querySelector('textarea').focus()")
        await self.call("Input.insertText", text=text)
        for kind in ("keyDown", "keyUp"):
            await self.call(
                "Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter",
                windowsVirtualKeyCode=13, text="\r",
            )  # fmt: skip

    def _note(self, message: dict[str, Any]) -> None:
        match message.get("method"):
            case "Runtime.exceptionThrown":
                self.faults.append(json.dumps(message["params"]))
            case "Log.entryAdded" if message["params"]["entry"]["level"] == "error":
                self.faults.append(message["params"]["entry"]["text"])
            case _:
                pass


@asynccontextmanager
async def devtools(port: int) -> AsyncIterator[DevTools]:
    """Yields the page of the window whose developer tools listen at `port`."""
    address = await _address_of_page(port)
    async with connect(address, max_size=None) as socket:
        tools = DevTools(socket)
        for domain in ("Runtime", "Log"):
            await tools.call(f"{domain}.enable")
        yield tools


async def _address_of_page(port: int) -> str:
    with anyio.fail_after(STEP_S):
        while True:
            try:
                pages = await anyio.to_thread.run_sync(_pages, port)
            except OSError:
                pages = []
            if pages:
                return str(pages[0]["webSocketDebuggerUrl"])
            await anyio.sleep(_LOOK_AGAIN_S)


def _pages(port: int) -> list[dict[str, Any]]:
    with urlopen(f"http://127.0.0.1:{port}/json/list") as answer:
        return [page for page in json.load(answer) if page["type"] == "page"]
