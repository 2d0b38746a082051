"""A name that was acknowledged is the thread's, whatever Codex reports of earlier ones."""

from typing import Any

import pytest

from tests.e2e.conftest import Harness
from tests.e2e.wire import connect_socket

pytestmark = pytest.mark.codex


EVENT = "orchestration/event"


def rename(thread_id: str, name: str) -> dict[str, Any]:
    return {"type": "thread.rename", "commandId": name, "threadId": thread_id, "name": name}


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
