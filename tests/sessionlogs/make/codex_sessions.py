"""Drives a real Codex against the scripted model and keeps the rollouts that it writes.

    python -m tests.sessionlogs.make.codex_sessions CODEX OUT

Each scene is a conversation of its own. Its folder gets the rollouts, and in `inputs.json` what the
model was sent each time. Nothing of the machine stays in them.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
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
    run,
    say,
)
from trimpoint.testkit.codex_home import config_flags, throwaway_codex_home
from trimpoint.testkit.replies import Usage

from tests.sessionlogs.make.cleaning import clean_lines, write


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

    async def until(self, method: str, seen: int) -> dict[str, Any]:
        """Returns the first notification of `method` behind the first `seen` ones."""
        while True:
            for one in self.notifications[seen:]:
                if one.get("method") == method:
                    return one
            await self._changed.wait()

    async def stop(self) -> None:
        """Ends it, if it has not ended."""
        if self._process.returncode is None:
            self._process.terminate()
            await self._process.wait()

    async def turn(self, thread_id: str, text: str) -> str:
        """Runs a turn to its end and returns its id."""
        seen = len(self.notifications)
        await self.request("turn/start", threadId=thread_id, input=[{"type": "text", "text": text}])
        ended = await self.until("turn/completed", seen)
        return str(ended["params"]["turn"]["id"])

    async def compact(self, thread_id: str) -> None:
        """Compacts, as `/compact` does."""
        seen = len(self.notifications)
        await self.request("thread/compact/start", threadId=thread_id)
        await self.until("turn/completed", seen)


class Stage:
    """What a scene has: an app-server, the model and its script, a folder to work in."""

    def __init__(
        self,
        server: AppServer,
        script: Script,
        cwd: Path,
        home: Path,
        again: Callable[[], AbstractAsyncContextManager[AppServer]],
    ) -> None:
        self.server, self.script, self.cwd, self.home = server, script, cwd, home
        self.again = again

    async def begin(self, **params: Any) -> str:
        """Starts a thread and returns its id."""
        answer = await self.server.request("thread/start", cwd=str(self.cwd), **params)
        return str(answer["thread"]["id"])


Scene = Callable[[Stage], Awaitable[None]]


async def compacted_by_hand(stage: Stage) -> None:
    thread = await stage.begin()
    for text in ("first", "second"):
        await stage.server.turn(thread, text)
    stage.script.then(run("echo tool-output"), say("the tool has answered"))
    await stage.server.turn(thread, "third")
    await stage.server.compact(thread)
    await stage.server.turn(thread, "fourth")
    await stage.server.compact(thread)
    await stage.server.turn(thread, "fifth")


async def compacted_before_a_turn(stage: Stage) -> None:
    """Codex compacts automatically because the last usage is above the limit."""
    thread = await stage.begin()
    await stage.server.turn(thread, "first")
    stage.script.then(say("a large answer", usage=Usage(input_tokens=9_500)))
    await stage.server.turn(thread, "second")
    await stage.server.turn(thread, "third")
    await stage.server.turn(thread, "fourth")


async def compacted_within_a_turn(stage: Stage) -> None:
    """Codex compacts in the middle of a turn, after a tool's result."""
    thread = await stage.begin()
    await stage.server.turn(thread, "first")
    stage.script.then(
        replace(run("echo much"), usage=Usage(input_tokens=9_500)), say("after the compaction")
    )
    await stage.server.turn(thread, "second")
    await stage.server.turn(thread, "third")


async def reverted(stage: Stage) -> None:
    thread = await stage.begin()
    await stage.server.turn(thread, "first")
    second = await stage.server.turn(thread, "second")
    await stage.server.turn(thread, "third")
    await stage.server.request("thread/revert", threadId=thread, beforeTurnId=second)
    await stage.server.turn(thread, "another second")


async def reverted_behind_a_compaction(stage: Stage) -> None:
    thread = await stage.begin()
    await stage.server.turn(thread, "first")
    second = await stage.server.turn(thread, "second")
    await stage.server.compact(thread)
    await stage.server.turn(thread, "third")
    await stage.server.request("thread/revert", threadId=thread, beforeTurnId=second)
    await stage.server.turn(thread, "another second")


async def forked(stage: Stage) -> None:
    thread = await stage.begin()
    first = await stage.server.turn(thread, "first")
    await stage.server.turn(thread, "second")
    answer = await stage.server.request("thread/fork", threadId=thread, lastTurnId=first)
    fork = str(answer["thread"]["id"])
    await stage.server.turn(fork, "on the fork")
    await stage.server.compact(fork)
    await stage.server.turn(fork, "after the compaction")


async def cleared(stage: Stage) -> None:
    thread = await stage.begin()
    await stage.server.turn(thread, "before")
    after = await stage.begin(sessionStartSource="clear")
    await stage.server.turn(after, "after")


async def torn(stage: Stage) -> None:
    """The last line is torn as by a crash; the thread is resumed then."""
    thread = await stage.begin()
    await stage.server.turn(thread, "first")
    await stage.server.turn(thread, "second")
    await stage.server.stop()
    [path] = (stage.home / "sessions").rglob("rollout-*.jsonl")
    os.truncate(path, path.stat().st_size - 40)
    async with stage.again() as server:
        await server.request("thread/resume", threadId=thread)
        await server.turn(thread, "third")


async def archived(stage: Stage) -> None:
    thread = await stage.begin()
    await stage.server.turn(thread, "first")
    await stage.server.request("thread/archive", threadId=thread)


async def injected(stage: Stage) -> None:
    thread = await stage.begin()
    item = {
        "type": "message",
        "role": "user",
        "content": [
            {
                "type": "input_text",
                "text": "<conversation-summary messages=2>S</conversation-summary>",
            }
        ],
    }
    await stage.server.request("thread/inject_items", threadId=thread, items=[item])
    await stage.server.turn(thread, "first")


LIMIT = ["model_auto_compact_token_limit=9000", "model_context_window=20000"]
SCENES: dict[str, tuple[Scene, bool, list[str]]] = {
    "compacted-by-hand": (compacted_by_hand, False, []),
    "compacted-by-hand-sealed": (compacted_by_hand, True, []),
    "compacted-before-a-turn": (compacted_before_a_turn, False, LIMIT),
    "compacted-within-a-turn": (compacted_within_a_turn, False, LIMIT),
    "reverted": (reverted, False, []),
    "reverted-behind-a-compaction": (reverted_behind_a_compaction, False, []),
    "forked": (forked, False, []),
    "cleared": (cleared, False, []),
    "injected": (injected, False, []),
    "torn": (torn, False, []),
    "archived": (archived, False, []),
}


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
            yield Stage(server, script, cwd, home, again), model


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


async def make(codex: list[str], out: Path, names: list[str]) -> None:
    """Plays the scenes and writes what came of them below `out`."""
    for name in names or SCENES:
        scene, sealed, more = SCENES[name]
        folder = out / name
        shutil.rmtree(folder, ignore_errors=True)
        with tempfile.TemporaryDirectory() as work, anyio.fail_after(120):
            async with staged(codex, Path(work), sealed, more) as (stage, model):
                await scene(stage)
                _keep(stage, folder)
                inputs = [
                    {"kind": request.kind, "input": request.body["input"]}
                    for request in model.requests
                ]
                replaced = {work: "/home/you/project", str(stage.home): "/home/you/.codex"}
                write(folder, "inputs.json", clean_lines(msgspec.json.encode(inputs), replaced))
        print(name, flush=True)


def _keep(stage: Stage, folder: Path) -> None:
    replaced = {str(stage.cwd): "/home/you/project", str(stage.home): "/home/you/.codex"}
    for kind in ("sessions", "archived_sessions"):
        for path in sorted((stage.home / kind).rglob("rollout-*")):
            cleaned = clean_lines(path.read_bytes(), replaced)
            write(folder, str(path.relative_to(stage.home)), cleaned)


if __name__ == "__main__":
    anyio.run(make, sys.argv[1].split(), Path(sys.argv[2]), sys.argv[3:])
