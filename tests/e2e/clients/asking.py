"""A thread whose agent asks its clients, and the answers that they give."""

from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from trimpoint.testkit import Reply, run

from tests.e2e.conftest import Harness
from tests.e2e.wire import JsonRpcClient, Message, connect_socket

COMMAND = "item/commandExecution/requestApproval"
FILE_CHANGE = "item/fileChange/requestApproval"
TOOL = "item/tool/call"
USER_INPUT = "item/tool/requestUserInput"
ELICITATION = "mcpServer/elicitation/request"
ASK_A_PERSON = {
    "type": "function_call",
    "namespace": "mcp__asking",
    "name": "ask",
    "arguments": "{}",
}
LOOKUP = {
    "name": "lookup",
    "description": "Look something up.",
    "inputSchema": {"type": "object", "properties": {"q": {"type": "string"}}},
}
PATCH = (
    "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: patched.txt\n+hello\n*** End Patch\nEOF\n"
)
ACCEPT, DECLINE = {"decision": "accept"}, {"decision": "decline"}


class Setup:
    """A daemon, clients, and a thread whose agent asks for approval before each action."""

    def __init__(self, harness: Harness, stack: AsyncExitStack) -> None:
        self.harness = harness
        self._stack = stack
        self.thread_id = ""

    async def client(self, name: str = "client") -> JsonRpcClient:
        wire = await self._stack.enter_async_context(connect_socket(self.harness.socket))
        await wire.initialize(name)
        return wire

    async def joined(self, name: str = "joined") -> JsonRpcClient:
        wire = await self.client(name)
        await wire.result("thread/resume", threadId=self.thread_id)
        return wire

    async def begin(self, wire: JsonRpcClient, **params: Any) -> None:
        """Starts a thread for `wire`, whose agent asks before each command unless `params` say
        otherwise.
        """
        settings = {
            "cwd": str(self.harness.worktree),
            "approvalPolicy": "untrusted",
            "sandbox": "danger-full-access",
            **params,
        }
        self.thread_id = (await wire.result("thread/start", **settings))["thread"]["id"]

    async def prompt(self, wire: JsonRpcClient, *replies: Reply) -> str:
        """Starts a turn in which the model sends `replies` and then a message, and returns the
        turn's id.
        """
        self.harness.script.then(*replies)
        answer = await wire.result(
            "turn/start", threadId=self.thread_id, input=[{"type": "text", "text": "go on"}]
        )
        return str(answer["turn"]["id"])

    async def ended(self, wire: JsonRpcClient, turn_id: str) -> str:
        message = await wire.until(
            lambda one: (
                one.get("method") == "turn/completed" and one["params"]["turn"]["id"] == turn_id
            )
        )
        return str(message["params"]["turn"]["status"])

    @property
    def made(self) -> Path:
        return self.harness.worktree / "made.txt"


def touch() -> Reply:
    return run("touch made.txt && echo made-it")


def told(harness: Harness) -> str:
    """Returns the last output of a tool call in the model's newest input."""
    outputs = [
        item for item in harness.model.turn_requests()[-1].input if item["type"].endswith("_output")
    ]
    return str(outputs[-1]["output"])


async def reply(wire: JsonRpcClient, question: Message, result: Any) -> None:
    await wire.send({"id": question["id"], "result": result})


async def decline_to_answer(wire: JsonRpcClient, question: Message) -> None:
    await wire.send(
        {"id": question["id"], "error": {"code": -32601, "message": "Method not found"}}
    )


def resolved(wire: JsonRpcClient, question: Message) -> list[Message]:
    return [
        message
        for message in wire.received
        if message.get("method") == "serverRequest/resolved"
        and message["params"]["requestId"] == question["id"]
    ]


async def scene_in(harness: Harness, stack: AsyncExitStack) -> Setup:
    await stack.enter_async_context(harness.daemon())
    return Setup(harness, stack)
