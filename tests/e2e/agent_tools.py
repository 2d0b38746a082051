"""A thread whose agent has the tools for its own context, and what they answered."""

from typing import Any

from trimpoint.cli.connection.client import Client
from trimpoint.testkit import ModelRequest

from tests.e2e.conftest import Harness
from tests.e2e.conversation import Conversation


async def begin(client: Client, harness: Harness, **params: Any) -> Conversation:
    settings = {
        "cwd": str(harness.worktree),
        "approvalPolicy": "never",
        "sandbox": "danger-full-access",
    }
    answer = await client.request(
        "thread/start", **{**settings, "trimpoint": {"agentTools": True}, **params}
    )
    return Conversation(client, answer["thread"]["id"], harness.model, harness.script)


def tool_names(request: ModelRequest) -> set[str]:
    return {str(tool.get("name")) for tool in request.body["tools"]}


def result_of(request: ModelRequest, tool: str) -> Any:
    """Returns the result of the tool's last call, as the model's input has it."""
    calls = [
        item["call_id"]
        for item in request.input
        if item["type"] == "function_call" and item["name"] == tool
    ]
    [output] = [
        item["output"]
        for item in request.input
        if item["type"] == "function_call_output" and item["call_id"] == calls[-1]
    ]
    return output if isinstance(output, str) else output[0]["text"]
