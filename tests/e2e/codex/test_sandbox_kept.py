"""The sandbox that a thread was started with holds after Codex or the daemon has died."""

import os
import signal
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from trimpoint.cli.connection.client import Client
from trimpoint.testkit import say

from tests.deadlines import STEP_S
from tests.e2e.conftest import DaemonLives, Harness

pytestmark = pytest.mark.codex


async def turn(client: Client, harness: Harness, thread_id: str) -> str:
    """Runs a turn, and returns what the model was told last about its permissions."""
    after = len(client.messages)
    harness.script.then(say("done"))
    prompt = [{"type": "text", "text": "go"}]
    await client.request("turn/start", threadId=thread_id, input=prompt)
    await client.received("turn/completed", after)
    texts = harness.model.turn_requests()[-1].texts()
    return [text for text in texts if "sandbox_mode" in text][-1]


async def codex_dies(harness: Harness, lives: DaemonLives) -> Client:
    os.kill(harness.child_pid(), signal.SIGKILL)
    while (await lives.client.request("sidecar/status"))["codex"]["epoch"] == 1:
        await anyio.lowlevel.checkpoint()
    return lives.client


async def daemon_restarts(harness: Harness, lives: DaemonLives) -> Client:
    return await lives.begin_anew()


@pytest.mark.parametrize("dies", [codex_dies, daemon_restarts])
@pytest.mark.parametrize("is_resumed", [False, True])
async def test_a_thread_may_still_write_to_its_workspace(
    harness: Harness, dies: Any, is_resumed: bool
) -> None:
    async with anyio.create_task_group() as tasks:
        lives = DaemonLives(harness, tasks)
        await lives.begin()
        with anyio.fail_after(2 * STEP_S):
            started = await lives.client.request(
                "thread/start",
                cwd=str(harness.worktree),
                approvalPolicy="never",
                sandbox="workspace-write",
            )
            thread_id = started["thread"]["id"]
            before = await turn(lives.client, harness, thread_id)
            client = await dies(harness, lives)
            if is_resumed:
                await client.request("thread/resume", threadId=thread_id)
            after = await turn(client, harness, thread_id)
            resumed = await client.request("thread/resume", threadId=thread_id)
        await lives.end()
    assert "workspace-write" in before
    assert "workspace-write" in after
    assert resumed["sandbox"]["type"] == "workspaceWrite"
    assert resumed["approvalPolicy"] == "never"
