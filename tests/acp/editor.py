"""An editor for tests: `trimpoint acp` as a process, and all messages in both directions."""

import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import msgspec
from anyio.abc import Process

from tests.acp.schema import judge
from tests.deadlines import STEP_S
from tests.e2e.conftest import Harness

Json = dict[str, Any]
Answerer = Callable[[Json], Json]

EVERYTHING: Json = {
    "fs": {"readTextFile": True, "writeTextFile": True},
    "terminal": True,
    "session": {"compaction": {}, "notices": {}, "configOptions": {"boolean": {}}},
    "auth": {"terminal": True},
    "elicitation": {"form": {}, "url": {}},
    "_meta": {"terminal_output": True, "terminal-auth": True},
}


class Refused(Exception):
    """Raised when the agent answered with an error."""

    def __init__(self, error: Json) -> None:
        super().__init__(error)
        self.code: int = error["code"]
        self.message: str = error["message"]
        self.data: Json = error.get("data") or {}


class Editor:
    """An editor. `sent` and `received` are the transcript, and `answer` answers the agent's
    requests.
    """

    def __init__(self, process: Process) -> None:
        self.process = process
        self.sent: list[Json] = []
        self.received: list[Json] = []
        self.answer: dict[str, Answerer] = {}
        self.has_ended = False
        self._changed = anyio.Event()
        self._last_id = 0

    async def request(self, method: str, **params: Any) -> Any:
        """Sends a request, and returns its result."""
        return await self.result_of(await self.begin(method, **params))

    async def begin(self, method: str, **params: Any) -> int:
        """Sends a request, and returns its id."""
        self._last_id += 1
        await self.send({"id": self._last_id, "method": method, "params": params})
        return self._last_id

    async def result_of(self, request_id: int) -> Any:
        """Waits for the result of a request."""
        answer = await self.until(
            lambda message: message.get("id") == request_id and "method" not in message
        )
        if "error" in answer:
            raise Refused(answer["error"])
        return answer["result"]

    async def notify(self, method: str, **params: Any) -> None:
        """Sends a notification."""
        await self.send({"method": method, "params": params})

    async def send(self, message: Json) -> None:
        """Sends a message."""
        message = {"jsonrpc": "2.0", **message}
        self.sent.append(message)
        await self.write(msgspec.json.encode(message) + b"\n")

    async def write(self, data: bytes) -> None:
        """Sends bytes."""
        assert self.process.stdin is not None
        await self.process.stdin.send(data)

    async def until(self, wanted: Callable[[Json], bool], after: int = 0) -> Json:
        """Waits for the first message from position `after` on for which `wanted` is true, and
        returns it.
        """
        with anyio.fail_after(STEP_S):
            while True:
                for message in self.received[after:]:
                    if wanted(message):
                        return message
                assert not self.has_ended, f"the agent has ended; {self.received[-3:]}"
                await self._changed.wait()

    async def update(self, kind: str, after: int = 0, **members: Any) -> Json:
        """Waits for the first update of a kind with these members, and returns it."""

        def wanted(message: Json) -> bool:
            update = message.get("params", {}).get("update", {})
            return update.get("sessionUpdate") == kind and all(
                update.get(name) == value for name, value in members.items()
            )

        return dict((await self.until(wanted, after))["params"]["update"])

    def updates(self, *kinds: str, after: int = 0) -> list[Json]:
        """Returns the updates of these kinds, or all."""
        found = [
            message["params"]["update"]
            for message in self.received[after:]
            if message.get("method") == "session/update"
        ]
        return [one for one in found if not kinds or one["sessionUpdate"] in kinds]

    def said(self, kind: str = "agent_message_chunk", after: int = 0) -> str:
        """Returns the text of all chunks of a kind."""
        return "".join(one["content"].get("text", "") for one in self.updates(kind, after=after))

    def questions(self, method: str) -> list[Json]:
        """Returns the agent's requests of a method."""
        return [one for one in self.received if one.get("method") == method and "id" in one]

    async def reply(self, question: Json, result: Json) -> None:
        """Answers a request of the agent."""
        await self.send({"id": question["id"], "result": result})

    async def read_forever(self) -> None:
        """Reads the agent's messages until it ends."""
        rest = b""
        assert self.process.stdout is not None
        try:
            while True:
                *lines, rest = (rest + await self.process.stdout.receive(1024 * 1024)).split(b"\n")
                for line in lines:
                    await self._take(msgspec.json.decode(line))
        except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
            assert rest == b""
            self.has_ended = True
            self._announce()

    async def _take(self, message: Json) -> None:
        assert message["jsonrpc"] == "2.0"
        self.received.append(message)
        self._announce()
        if "method" in message and "id" in message and message["method"] in self.answer:
            await self.reply(message, self.answer[message["method"]](message["params"]))

    def _announce(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()

    async def introduce(self, **capabilities: Any) -> Json:
        """Sends `initialize` as an editor with these capabilities, and returns the answer."""
        info = {"name": "test-editor", "version": "1"}
        return dict(
            await self.request(
                "initialize", protocolVersion=1, clientCapabilities=capabilities, clientInfo=info
            )
        )

    async def new_session(self, harness: Harness, **params: Any) -> str:
        """Starts a session in the harness's worktree, and returns its id."""
        wanted = {"cwd": str(harness.worktree), "mcpServers": [], **params}
        answer = await self.request("session/new", **wanted)
        await self.update("available_commands_update")
        return str(answer["sessionId"])

    async def prompt(self, session_id: str, text: str, *blocks: Json) -> Json:
        """Sends a prompt, and returns its answer."""
        return dict(await self.result_of(await self.begin_prompt(session_id, text, *blocks)))

    async def begin_prompt(self, session_id: str, text: str, *blocks: Json) -> int:
        """Sends a prompt, and returns the request's id."""
        prompt = [{"type": "text", "text": text}, *blocks]
        return await self.begin("session/prompt", sessionId=session_id, prompt=prompt)


def acp_command(harness: Harness) -> list[str]:
    """Returns the command of `trimpoint acp` for a harness's daemon."""
    places = ["--socket", str(harness.socket), "--state-dir", str(harness.state_dir)]
    config = ["--config", str(harness.home / "config.toml")]
    return [sys.executable, "-m", "trimpoint", "acp", *places, *config]


def acp_environment(harness: Harness) -> dict[str, str]:
    """Returns the environment that `trimpoint acp` runs in."""
    from trimpoint.testkit import codex_environment

    own = codex_environment(harness.codex_home) | {"HOME": str(harness.home)}
    return own | {"PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}


@asynccontextmanager
async def opened_editor(harness: Harness, **environment: str) -> AsyncIterator[Editor]:
    """Yields an editor that has not sent `initialize`, and ends its agent at the end of the block.
    All messages of the agent are checked against the official schema.
    """
    log = harness.home / "acp.log"
    with log.open("ab") as stderr:
        process = await anyio.open_process(
            acp_command(harness), stderr=stderr, env=acp_environment(harness) | environment
        )
    editor = Editor(process)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(editor.read_forever)
            yield editor
            if process.stdin is not None:
                await process.stdin.aclose()
            with anyio.fail_after(STEP_S):
                await process.wait()
            tasks.cancel_scope.cancel()
        assert judge().problems(editor.sent, editor.received) == []
    finally:
        with anyio.CancelScope(shield=True):
            if process.returncode is None:
                process.send_signal(signal.SIGKILL)
            await process.wait()
            await process.aclose()
