"""A client at a command's stdin and stdout."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.cli.stage import CliHarness, Running

CLIENT = {"name": "shell", "version": "1"}
INITIALIZE = {"id": 1, "method": "initialize", "params": {"clientInfo": CLIENT}}


class Shell:
    """A client at the other end of a command's stdin and stdout."""

    def __init__(self, command: Running) -> None:
        self.command = command
        self._last_id = 0

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Sends a request, and returns the whole answer."""
        self._last_id += 1
        await self.send({"id": self._last_id, "method": method, "params": params})
        await self.command.said(f'{{"id":{self._last_id},')
        return next(message for message in self.messages() if message.get("id") == self._last_id)

    async def send(self, message: dict[str, Any]) -> None:
        """Sends a message."""
        assert self.command.process.stdin is not None
        await self.command.process.stdin.send(json.dumps(message).encode() + b"\n")

    async def turn(self, folder: Path) -> None:
        """Runs one turn in a new thread."""
        thread = (await self.ask("thread/start", cwd=str(folder)))["result"]["thread"]["id"]
        await self.ask("turn/start", threadId=thread, input=[{"type": "text", "text": "hello"}])
        await self.command.said("turn/completed")

    def messages(self) -> list[dict[str, Any]]:
        """Returns all messages received so far."""
        *lines, _ = self.command.out.split("\n")
        return [json.loads(line) for line in lines]

    async def end(self) -> int:
        """Closes the command's stdin, and returns its exit code."""
        assert self.command.process.stdin is not None
        await self.command.process.stdin.aclose()
        return await self.command.ended()

    def logged(self) -> list[str]:
        """Returns the events that the command has logged."""
        return [
            json.loads(line)["event"]
            for line in self.command.err.splitlines()
            if line.startswith("{")
        ]


@asynccontextmanager
async def shell(stage: CliHarness, *words: str) -> AsyncGenerator[Shell]:
    """Yields an initialized client that has started trimpoint."""
    async with stage.running(*words) as command:
        client = Shell(command)
        answer = await client.ask("initialize", clientInfo={"name": "shell", "version": "1"})
        assert answer["result"]["userAgent"].startswith("shell/")
        await client.send({"method": "initialized"})
        yield client
