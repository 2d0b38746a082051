"""An editor for tests: `trimpoint acp` as a process, and all that was said in both directions."""

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
    """The agent answered with an error."""

    def __init__(self, error: Json) -> None:
        super().__init__(error)
        self.code: int = error["code"]
        self.message: str = error["message"]
        self.data: Json = error.get("data") or {}


class Editor:
    """`sent` and `received` are the transcript. A question of the agent is answered by `answer`."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.sent: list[Json] = []
        self.received: list[Json] = []
        self.answer: dict[str, Answerer] = {}
        self.has_ended = False
        self._changed = anyio.Event()
        self._last_id = 0

    async def request(self, method: str, **params: Any) -> Any:
        """Ask and await the answer."""
        return await self.result_of(await self.begin(method, **params))

    async def begin(self, method: str, **params: Any) -> int:
        """Send a request and return its id."""
        self._last_id += 1
        await self.send({"id": self._last_id, "method": method, "params": params})
        return self._last_id

    async def result_of(self, request_id: int) -> Any:
        """Await the answer to a request."""
        answer = await self.until(
            lambda message: message.get("id") == request_id and "method" not in message
        )
        if "error" in answer:
            raise Refused(answer["error"])
        return answer["result"]

    async def notify(self, method: str, **params: Any) -> None:
        """Send a notification."""
        await self.send({"method": method, "params": params})

    async def send(self, message: Json) -> None:
        """Send any message."""
        message = {"jsonrpc": "2.0", **message}
        self.sent.append(message)
        await self.write(msgspec.json.encode(message) + b"\n")

    async def write(self, data: bytes) -> None:
        """Send any bytes."""
        assert self.process.stdin is not None
        await self.process.stdin.send(data)

    async def until(self, wanted: Callable[[Json], bool], after: int = 0) -> Json:
        """Returns the first message from a place on that is wanted, once it has come."""
        with anyio.fail_after(STEP_S):
            while True:
                for message in self.received[after:]:
                    if wanted(message):
                        return message
                assert not self.has_ended, f"the agent has ended; {self.received[-3:]}"
                await self._changed.wait()

    async def update(self, kind: str, after: int = 0, **members: Any) -> Json:
        """Returns the first update of a kind with these members, once it has come."""

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
        """Answer a question of the agent."""
        await self.send({"id": question["id"], "result": result})

    async def read_forever(self) -> None:
        """Take what the agent sends until it ends."""
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
        """Shake hands as an editor with these capabilities."""
        info = {"name": "test-editor", "version": "1"}
        return dict(
            await self.request(
                "initialize", protocolVersion=1, clientCapabilities=capabilities, clientInfo=info
            )
        )

    async def new_session(self, harness: Harness, **params: Any) -> str:
        """Begin a session in the harness's worktree."""
        wanted = {"cwd": str(harness.worktree), "mcpServers": [], **params}
        answer = await self.request("session/new", **wanted)
        await self.update("available_commands_update")
        return str(answer["sessionId"])

    async def prompt(self, session_id: str, text: str, *blocks: Json) -> Json:
        """Send a prompt and await its answer."""
        return dict(await self.result_of(await self.begin_prompt(session_id, text, *blocks)))

    async def begin_prompt(self, session_id: str, text: str, *blocks: Json) -> int:
        """Send a prompt and return its id."""
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
    """An editor that is not introduced yet; its agent is ended when the block is.

    All that the agent has sent is judged by the official schema.
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
