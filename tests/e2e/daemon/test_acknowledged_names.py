"""A name that was acknowledged is the thread's, whatever Codex reports of earlier ones."""

from typing import Any

import pytest

from tests.e2e.conftest import Harness
from tests.e2e.conversation import Conversation
from tests.e2e.daemon_process import daemon_process, kill
from tests.e2e.wire import connect_socket

pytestmark = pytest.mark.codex


EVENT = "orchestration/event"


def rename(thread_id: str, name: str) -> dict[str, Any]:
    return {"type": "thread.rename", "commandId": name, "threadId": thread_id, "name": name}


async def test_a_name_that_replaces_another_is_there_after_a_kill_right_behind_the_answer(
    harness: Harness,
) -> None:
    thread_id = ""
    for attempt in range(5):
        async with daemon_process(harness) as daemon, harness.client() as client:
            if not thread_id:
                talk = await Conversation.begin(
                    client, harness.worktree, harness.model, harness.script
                )
                await talk.turn()
                thread_id = talk.thread_id
            await client.request("thread/resume", threadId=thread_id)
            await client.request("thread/name/set", threadId=thread_id, name=f"old {attempt}")
            command = rename(thread_id, f"new {attempt}")
            await client.request("orchestration/dispatch", command=command)
            await kill(daemon)
        async with daemon_process(harness), harness.client() as client:
            answer = await client.request("thread/resume", threadId=thread_id)
            assert answer["thread"]["name"] == f"new {attempt}"
            rows = (await client.request("thread/list"))["data"]
            assert next(row for row in rows if row["id"] == thread_id)["name"] == f"new {attempt}"


@pytest.mark.parametrize("method", ["thread/name/set", "orchestration/dispatch"])
async def test_two_hundred_names_sent_without_waiting_are_two_hundred_events(
    harness: Harness, method: str
) -> None:
    names = [f"name {number}" for number in range(200)]
    async with harness.conversation() as talk, connect_socket(harness.socket) as wire:
        await talk.turn()
        await wire.initialize()
        named = {"threadId": talk.thread_id}
        await wire.result("orchestration/subscribeThread", **named)
        for name in names:
            by_command = {"command": rename(talk.thread_id, name)}
            params = {**named, "name": name} if method == "thread/name/set" else by_command
            await wire.send({"id": name, "method": method, "params": params})
        for name in names:
            assert "result" in await wire.answer_to(name)
        # A turn begins behind all that Codex had to say about names.
        await talk.turn()
        snapshot = await talk.snapshot()
        answer = await wire.result("thread/read", **named)
        told = [one["params"] for one in wire.received if one.get("method") == EVENT]
    renamed = [event["payload"]["name"] for event in told if event["type"] == "thread.renamed"]
    assert renamed == names
    assert snapshot["name"] == answer["thread"]["name"] == names[-1]
