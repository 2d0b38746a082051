"""The properties that a new generation inherits besides its context (docs/spec/sessions.md,
"Carried over").
"""

import os

import anyio
import pytest
from trimpoint.testkit import call, say

from tests.deadlines import STEP_S
from tests.e2e.conftest import Harness
from tests.e2e.conversation import Conversation

pytestmark = [pytest.mark.codex, pytest.mark.also_restarted]


async def test_overrides_of_a_turn_are_carried_over(harness: Harness) -> None:
    async with harness.conversation() as talk:
        await talk.turn()
        await talk.begin_act()
        with talk.no_restart(), anyio.fail_after(STEP_S):
            prompt = [{"type": "text", "text": "prompt-2."}]
            started = await talk.client.request(
                "turn/start", threadId=talk.thread_id, input=prompt, effort="high"
            )
            await talk.client.expect(
                lambda m: (
                    m.get("method") == "turn/completed"
                    and m["params"]["turn"]["id"] == started["turn"]["id"]
                )
            )
            # The name gives the next session a file in which Codex keeps no settings before a turn.
            await talk.client.request("thread/name/set", threadId=talk.thread_id, name="My name")
        assert (await talk.type("/clear"))["status"] == "completed"
        request = await talk.turn()
    assert request.body["reasoning"]["effort"] == "high"


async def test_settings_as_they_stand_now_are_carried_over(harness: Harness) -> None:
    async with harness.conversation() as talk:
        await talk.turn()
        started = await talk.client.request(
            "turn/start",
            threadId=talk.thread_id,
            input=[{"type": "text", "text": "prompt-2."}],
            effort="high",
            approvalPolicy="on-request",
            sandboxPolicy={"type": "workspaceWrite", "networkAccess": True},
        )
        with anyio.fail_after(STEP_S):
            await talk.client.expect(
                lambda m: (
                    m.get("method") == "turn/completed"
                    and m["params"]["turn"]["id"] == started["turn"]["id"]
                )
            )
        before = talk.model.turn_requests()[-1]
        await talk.client.request("thread/name/set", threadId=talk.thread_id, name="My name")
        assert (await talk.type("/clear"))["status"] == "completed"
        request = await talk.turn()
        resumed = await talk.client.request("thread/resume", threadId=talk.thread_id)
        snapshot = await talk.snapshot()
    assert request.body["reasoning"] == before.body["reasoning"]
    assert resumed["approvalPolicy"] == "on-request"
    assert resumed["sandbox"]["type"] == "workspaceWrite"
    assert resumed["sandbox"]["networkAccess"] is True
    assert resumed["thread"]["name"] == snapshot["name"] == "My name"
    assert request.mentions("workspace-write")


async def test_developer_instructions_and_dynamic_tools_are_carried_over(harness: Harness) -> None:
    tool = {
        "type": "function",
        "name": "lookup",
        "description": "Looks up.",
        "inputSchema": {"type": "object", "properties": {}},
    }
    async with harness.daemon(), harness.client() as client:
        answer = await client.request(
            "thread/start",
            cwd=str(harness.worktree),
            developerInstructions="Speak like a sailor.",
            dynamicTools=[tool],
        )
        talk = Conversation(client, answer["thread"]["id"], harness.model, harness.script)
        before = await talk.turn()
        assert (await talk.type("/clear"))["status"] == "completed"
        after = await talk.turn()
    for request in (before, after):
        assert request.mentions("Speak like a sailor.")
        assert "lookup" in str(request.body["tools"])


@pytest.mark.never_restarted(reason="a terminal ends with its daemon")
async def test_a_background_terminal_survives_a_clear_and_is_still_listed(harness: Harness) -> None:
    async with harness.conversation() as talk:
        marker = harness.worktree / "pid"
        os.mkfifo(marker)  # reading it waits for the shell to have started
        command = f"echo $$ > {marker}; exec tail -f /dev/null"
        talk.script.then(
            call("exec_command", {"cmd": command, "yield_time_ms": 250}), say("answer-1.")
        )
        await talk.prompt("prompt-1.")
        pid = int(await anyio.to_thread.run_sync(marker.read_text))
        listed = await talk.client.request(
            "thread/backgroundTerminals/list", threadId=talk.thread_id
        )
        assert len(listed["data"]) == 1
        assert (await talk.type("/clear"))["status"] == "completed"
        assert await talk.turn()
        os.kill(pid, 0)  # it is alive
        listed = await talk.client.request(
            "thread/backgroundTerminals/list", threadId=talk.thread_id
        )
        assert len(listed["data"]) == 1
        await talk.client.request(
            "thread/backgroundTerminals/terminate",
            threadId=talk.thread_id,
            processId=listed["data"][0]["processId"],
        )
        await _ended(pid)


async def _ended(pid: int) -> None:
    try:
        pidfd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        with anyio.fail_after(STEP_S):
            await anyio.wait_readable(pidfd)
    finally:
        os.close(pidfd)


async def test_a_goal_is_carried_over(harness: Harness) -> None:
    async with harness.conversation() as talk:
        await talk.turn()
        await talk.client.request(
            "thread/goal/set", threadId=talk.thread_id, objective="Ship it.", status="paused"
        )
        assert (await talk.type("/clear"))["status"] == "completed"
        goal = await talk.client.request("thread/goal/get", threadId=talk.thread_id)
    assert goal["goal"]["objective"] == "Ship it."
    assert goal["goal"]["threadId"] == talk.thread_id
