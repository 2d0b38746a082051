"""A bare client of the real `codex app-server`, just enough to prove the test kit without
trimpoint.
"""

from __future__ import annotations

import subprocess
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias, cast

import anyio
import msgspec
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream
from codex_cli_bin import bundled_codex_path  # type: ignore[import-untyped]  # pyright: ignore[reportMissingTypeStubs]
from trimpoint.testkit import codex_environment, config_flags

Message: TypeAlias = dict[str, Any]

CODEX_BIN = Path(bundled_codex_path())

_MAX_LINE_BYTES = 64 * 1024 * 1024


class CodexOverStdio:
    """One app-server; every notification it ever sent is in `notifications`, in order."""

    def __init__(self, process: Process) -> None:
        self.notifications: list[Message] = []
        self._process = process
        self._answers: dict[int, Message] = {}
        self._ids = count(1)
        self._news = anyio.Event()

    async def request(self, method: str, **params: Any) -> Message:
        """The result; a JSON-RPC error fails the test."""
        request_id = next(self._ids)
        await self.send({"id": request_id, "method": method, "params": params})
        while request_id not in self._answers:
            await self._news.wait()
        answer = self._answers.pop(request_id)
        assert "error" not in answer, answer
        return cast("Message", answer["result"])

    async def send(self, message: Message) -> None:
        assert self._process.stdin is not None
        await self._process.stdin.send(msgspec.json.encode(message) + b"\n")

    async def notified(
        self, method: str, accepts: Callable[[Message], bool] = lambda _: True, *, since: int = 0
    ) -> Message:
        """Params of the first such notification at index `since` or later."""
        while True:
            for notification in self.notifications[since:]:
                if notification["method"] == method and accepts(notification["params"]):
                    return cast("Message", notification["params"])
            await self._news.wait()

    async def read_messages(self) -> None:
        assert self._process.stdout is not None
        lines = BufferedByteReceiveStream(self._process.stdout)
        while True:
            try:
                message = msgspec.json.decode(await lines.receive_until(b"\n", _MAX_LINE_BYTES))
            except (anyio.IncompleteRead, anyio.EndOfStream):
                return
            if "method" in message:
                self.notifications.append(message)
            else:
                self._answers[message["id"]] = message
            self._news.set()
            self._news = anyio.Event()

    async def start_thread(self, cwd: Path) -> str:
        started = await self.request(
            "thread/start", cwd=str(cwd), approvalPolicy="never", sandbox="danger-full-access"
        )
        return cast("str", started["thread"]["id"])

    async def begin_turn(self, thread_id: str, text: str) -> str:
        answer = await self.request(
            "turn/start", threadId=thread_id, input=[{"type": "text", "text": text}]
        )
        return cast("str", answer["turn"]["id"])

    async def turn(self, thread_id: str, text: str) -> Message:
        """The turn as `turn/completed` reports it."""
        since = len(self.notifications)
        await self.begin_turn(thread_id, text)
        return await self.turn_end(thread_id, since)

    async def compact(self, thread_id: str) -> Message:
        since = len(self.notifications)
        await self.request("thread/compact/start", threadId=thread_id)
        return await self.turn_end(thread_id, since)

    async def turn_end(self, thread_id: str, since: int) -> Message:
        ended = await self.notified(
            "turn/completed", lambda p: p["threadId"] == thread_id, since=since
        )
        return cast("Message", ended["turn"])

    async def close(self) -> None:
        assert self._process.stdin is not None
        await self._process.stdin.aclose()
        await self._process.wait()


@asynccontextmanager
async def codex_over_stdio(
    overrides: Sequence[str], codex_home: Path, *, certificates: bool = False
) -> AsyncGenerator[CodexOverStdio, None]:
    """An initialized app-server; it has ended when the block has."""
    command = [str(CODEX_BIN), "app-server", *config_flags(overrides)]
    environment = codex_environment(codex_home, certificates=certificates)
    async with (
        await anyio.open_process(command, stderr=subprocess.DEVNULL, env=environment) as process,
        anyio.create_task_group() as tasks,
    ):
        codex = CodexOverStdio(process)
        tasks.start_soon(codex.read_messages)
        capabilities = {"experimentalApi": True}
        await codex.request(
            "initialize", clientInfo={"name": "testkit", "version": "1"}, capabilities=capabilities
        )
        await codex.send({"method": "initialized"})
        yield codex
        await codex.close()
