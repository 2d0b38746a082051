"""Cases in which a thread once waited for ever for a notification that Codex never sends."""

import os

import anyio
import pytest
from trimpoint.testkit import call, say

from tests.deadlines import STEP_S
from tests.e2e.conftest import Harness
from tests.e2e.conversation import Conversation

pytestmark = pytest.mark.codex

TOOL = {
    "type": "function",
    "name": "lookup",
    "description": "Looks up.",
    "inputSchema": {"type": "object", "properties": {}},
}


async def test_an_interrupted_tool_call_leaves_the_thread_free(harness: Harness) -> None:
    async with harness.daemon(), harness.client() as client:
        answer = await client.request(
            "thread/start", cwd=str(harness.worktree), dynamicTools=[TOOL]
        )
        talk = Conversation(client, answer["thread"]["id"], harness.model, harness.script)
        talk.script.then(call("lookup", {}))
        with anyio.fail_after(STEP_S):
            params = {"threadId": talk.thread_id, "input": [{"type": "text", "text": "prompt-1."}]}
            turn = (await client.request("turn/start", **params))["turn"]
            question = await client.received("item/tool/call")
            await client.request("turn/interrupt", threadId=talk.thread_id, turnId=turn["id"])
            await client.received("turn/completed")
            resolved = await client.received("serverRequest/resolved")
            outcome = await talk.type("/clear")
    assert resolved["params"]["requestId"] == question["id"]
    assert outcome["status"] == "completed", outcome


async def test_a_thread_with_a_running_terminal_comes_back_from_the_archive(
    harness: Harness,
) -> None:
    async with harness.conversation() as talk:
        marker = harness.worktree / "pid"
        os.mkfifo(marker)
        talk.script.then(
            call(
                "exec_command",
                {"cmd": f"echo $$ > {marker}; exec tail -f /dev/null", "yield_time_ms": 250},
            ),
            say("up"),
        )
        await talk.prompt("prompt-0.")
        pid = int(await anyio.to_thread.run_sync(marker.read_text))
        with anyio.fail_after(STEP_S):
            await talk.client.request("thread/archive", threadId=talk.thread_id)
            await talk.client.request("thread/unarchive", threadId=talk.thread_id)
            await talk.turn()
            outcome = await talk.type("/clear")
        os.kill(pid, 0)
    assert outcome["status"] == "completed", outcome
