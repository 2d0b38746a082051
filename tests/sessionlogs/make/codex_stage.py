"""A real Codex behind its app-server, with the scripted model, for the scenes of `codex_sessions`."""

import os
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import msgspec
from trimpoint.testkit import (
    Script,
    ScriptedModel,
    codex_environment,
    codex_overrides,
    remote_overrides,
)
from trimpoint.testkit.codex_home import config_flags, throwaway_codex_home


class AppServer:
    """A client of one app-server."""

    def __init__(self, process: anyio.abc.Process) -> None:
        self._process = process
        self._next = 0
        self._answers: dict[int, dict[str, Any]] = {}
        self.notifications: list[dict[str, Any]] = []
        self._changed = anyio.Event()

    async def listen(self) -> None:
        """Reads what the app-server writes."""
        assert self._process.stdout is not None
        rest = b""
        async for chunk in self._process.stdout:
            *lines, rest = (rest + chunk).split(b"\n")
            for line in filter(None, lines):
                self._take(msgspec.json.decode(line))

    def _take(self, message: dict[str, Any]) -> None:
        if "id" in message and "method" not in message:
            self._answers[message["id"]] = message
        else:
            self.notifications.append(message)
        self._changed.set()
        self._changed = anyio.Event()

    async def request(self, method: str, **params: Any) -> Any:
        """Asks and returns the result."""
        self._next += 1
        number = self._next
        await self._send({"id": number, "method": method, "params": params})
        while number not in self._answers:
            await self._changed.wait()
        answer = self._answers.pop(number)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    async def notify(self, method: str) -> None:
        """Sends a notification."""
        await self._send({"method": method})

    async def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        await self._process.stdin.send(msgspec.json.encode(message) + b"\n")

    async def until(self, method: str, seen: int, item_type: str | None = None) -> dict[str, Any]:
        """Returns the first notification of `method`, about an item of that type if one is given,
        behind the first `seen` ones.
        """
        while True:
            for one in self.notifications[seen:]:
                if one.get("method") == method and item_type in (None, _item_type(one)):
                    return one
            await self._changed.wait()

    async def until_turns_end(self, count: int, seen: int) -> None:
        """Waits until so many turns, of any threads, have ended behind the first `seen`
        notifications.
        """
        while True:
            new = self.notifications[seen:]
            if sum(one.get("method") == "turn/completed" for one in new) >= count:
                return
            await self._changed.wait()

    async def stop(self) -> None:
        """Ends it, if it has not ended."""
        if self._process.returncode is None:
            self._process.terminate()
            await self._process.wait()

    async def turn(self, thread_id: str, text: str, **params: Any) -> str:
        """Runs a turn to its end and returns its id."""
        seen = len(self.notifications)
        content = [{"type": "text", "text": text}]
        await self.request("turn/start", threadId=thread_id, input=content, **params)
        ended = await self.until("turn/completed", seen)
        return str(ended["params"]["turn"]["id"])

    async def turn_with(self, thread_id: str, content: list[dict[str, Any]]) -> None:
        """Runs a turn whose prompt has several parts."""
        seen = len(self.notifications)
        await self.request("turn/start", threadId=thread_id, input=content)
        await self.until("turn/completed", seen)

    async def interrupt(self, thread_id: str, text: str, item_type: str) -> None:
        """Begins a turn, and interrupts it once an item of that type has begun in it."""
        seen = len(self.notifications)
        answer = await self.request(
            "turn/start", threadId=thread_id, input=[{"type": "text", "text": text}]
        )
        await self.until("item/started", seen, item_type)
        await self.request("turn/interrupt", threadId=thread_id, turnId=answer["turn"]["id"])
        await self.until("turn/completed", seen)

    async def compact(self, thread_id: str) -> None:
        """Compacts, as `/compact` does."""
        seen = len(self.notifications)
        await self.request("thread/compact/start", threadId=thread_id)
        await self.until("turn/completed", seen)


def _item_type(notification: dict[str, Any]) -> str | None:
    match notification:
        case {"params": {"item": {"type": str(kind)}}}:
            return kind
        case _:
            return None


class Stage:
    """What a scene has: an app-server, the model and its script, a folder to work in."""

    def __init__(
        self,
        server: AppServer,
        script: Script,
        cwd: Path,
        home: Path,
        codex: list[str],
        again: Callable[[], AbstractAsyncContextManager[AppServer]],
    ) -> None:
        self.server, self.script, self.cwd, self.home = server, script, cwd, home
        self.codex, self.again = codex, again

    async def begin(self, **params: Any) -> str:
        """Starts a thread and returns its id."""
        answer = await self.server.request("thread/start", cwd=str(self.cwd), **params)
        return str(answer["thread"]["id"])

    async def fork(self, thread: str, **params: Any) -> str:
        """Forks a thread and returns the id of the fork."""
        answer = await self.server.request("thread/fork", threadId=thread, **params)
        return str(answer["thread"]["id"])

    def rollouts(self) -> list[Path]:
        """Returns the rollouts in `sessions`, oldest first."""
        return sorted((self.home / "sessions").rglob("rollout-*"))

    def tear(self, count: int) -> None:
        """Cuts so many bytes off the newest rollout, as a crash does."""
        newest = max((self.home / "sessions").rglob("rollout-*.jsonl"))
        os.truncate(newest, newest.stat().st_size - count)


Scene = Callable[[Stage], Awaitable[None]]
# What is played, whether compactions are sealed, and what Codex is configured with beside.
SceneRow = tuple[Scene, bool, list[str]]
LIMIT = ["model_auto_compact_token_limit=9000", "model_context_window=20000"]


@asynccontextmanager
async def staged(
    codex: list[str], cwd: Path, sealed: bool, more: list[str]
) -> AsyncGenerator[tuple[Stage, ScriptedModel]]:
    script = Script(summary="SUMMARY")
    async with throwaway_codex_home() as home, ScriptedModel(script) as model:
        overrides = [
            *(remote_overrides if sealed else codex_overrides)(model),
            *more,
            'approval_policy="never"',
        ]
        command = [*codex, "app-server", *config_flags(overrides)]
        again = partial(app_server, command, codex_environment(home), cwd)
        async with again() as server:
            yield Stage(server, script, cwd, home, codex, again), model


@asynccontextmanager
async def app_server(
    command: list[str], environment: dict[str, str], cwd: Path
) -> AsyncGenerator[AppServer]:
    """Runs an app-server while the block lasts."""
    async with (
        await anyio.open_process(command, env=environment, cwd=cwd, stderr=None) as process,
        anyio.create_task_group() as tasks,
    ):
        server = AppServer(process)
        tasks.start_soon(server.listen)
        await server.request(
            "initialize",
            clientInfo={"name": "make", "version": "1"},
            capabilities={"experimentalApi": True},
        )
        await server.notify("initialized")
        yield server
        await server.stop()
        tasks.cancel_scope.cancel()
