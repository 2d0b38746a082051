"""`/new`, refusals while the thread is busy, restarts of daemon and Codex, and several clients."""

import os
import signal

import anyio
import pytest
from trimpoint.testkit import held, say

from tests.e2e.conftest import Harness
from tests.e2e.conversation import Conversation, seen_turns
from tests.e2e.wire import without_paths

pytestmark = pytest.mark.codex


async def test_new_archives_and_carries_over_nothing_of_the_old_thread(harness: Harness) -> None:
    async with harness.conversation() as talk:
        await talk.turn()
        await talk.turn()
        outcome = await talk.type("/new")
        assert outcome["status"] == "completed", outcome
        new = Conversation(talk.client, outcome["newThreadId"], talk.model, talk.script)
        new.turns = 2
        request = await new.turn()
        old, fresh = await talk.snapshot(), await new.snapshot()
        refused = await talk.type("/clear")
        listed = await talk.client.request("thread/list")
        archived = await talk.client.request("thread/list", archived=True)
    assert seen_turns(request, 2) == []
    assert (old["archived"], fresh["archived"]) == (True, False)
    assert fresh["cwd"] == old["cwd"]
    assert (refused["status"], refused["reason"]) == ("failed", "thread_archived")
    assert [row["id"] for row in listed["data"]] == [new.thread_id]
    assert [row["id"] for row in archived["data"]] == [talk.thread_id]


async def test_commands_are_blocked_while_a_turn_runs_and_name_it(harness: Harness) -> None:
    async with harness.conversation() as talk:
        await talk.turn()
        release = anyio.Event()
        talk.script.then(held(say("answer-2."), release))
        talk.turns = 2
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(talk.prompt, "prompt-2.")
            await harness.model.wait_for_request(lambda request: request.mentions("prompt-2."))
            for text in ("/clear", "/clear 1", "/compact", "/new"):
                outcome = await talk.type(text)
                assert (outcome["status"], outcome["reason"]) == ("skipped", "turn_in_progress"), (
                    text
                )
                assert outcome["blocker"]["kind"] == "turn"
            release.set()
        snapshot = await talk.snapshot()
    assert [turn["status"] for turn in snapshot["turns"]] == ["completed", "completed"]


async def test_a_second_client_sees_the_same_thread_and_no_provider_id(harness: Harness) -> None:
    async with harness.conversation() as talk, harness.client("second") as second:
        await second.request("thread/resume", threadId=talk.thread_id)
        await second.request("orchestration/subscribeThread", threadId=talk.thread_id)
        await talk.turn(tool=True)
        await talk.turn()
        await talk.type("/clear 1")
        await talk.turn()
        await talk.type("/compact")
        await talk.turn()
        read = await second.request("thread/read", threadId=talk.thread_id, includeTurns=True)
        listed = await second.request("thread/list")
        texts = [turn["items"][0]["content"][0]["text"] for turn in read["thread"]["turns"]]
        everything = str(without_paths([second.messages, talk.client.messages, read, listed]))
        completed = [
            m["params"]["turn"]["id"]
            for m in second.notifications
            if m["method"] == "turn/completed"
        ]
        started = [
            m["params"]["thread"]["id"]
            for m in second.notifications
            if m["method"] == "thread/started"
        ]
    assert texts == ["prompt-1.", "prompt-2.", "prompt-3.", "prompt-4."]
    assert len(completed) == len(set(completed)) == 5  # four turns and the compaction's
    assert started == []
    assert [row["id"] for row in listed["data"]] == [talk.thread_id]
    providers = _provider_ids(harness)
    assert len(providers) >= 3
    assert [
        provider for provider in providers if provider != talk.thread_id and provider in everything
    ] == []


def _provider_ids(harness: Harness) -> set[str]:
    return {str(request.thread_id) for request in harness.model.requests if request.thread_id}


async def test_a_restarted_daemon_continues_and_clears_exactly(harness: Harness) -> None:
    async with harness.conversation() as talk:
        for _ in range(2):
            await talk.turn(tool=True)
    async with harness.daemon(), harness.client() as client:
        again = Conversation(client, talk.thread_id, talk.model, talk.script)
        again.turns = 2
        request = await again.turn(tool=True)
        assert seen_turns(request, 3) == [1, 2, 3]
        before = request.input
        await again.turn()
        assert (await again.type("/clear 2"))["status"] == "completed"
        after = await again.turn()
    assert seen_turns(after, 4) == [3, 4]
    start = next(index for index, item in enumerate(after.input) if "prompt-3." in str(item))
    first = next(index for index, item in enumerate(before) if "prompt-3." in str(item))
    assert after.input[start : start + len(before) - first] == before[first:]


@pytest.mark.linux("finds Codex by its record")
async def test_a_killed_child_ends_the_turn_once_and_the_next_turn_works(harness: Harness) -> None:
    async with harness.conversation() as talk:
        await talk.turn()
        never = anyio.Event()
        talk.script.then(held(say("never"), never))
        after = len(talk.client.messages)
        async with anyio.create_task_group() as tasks:

            async def prompt() -> None:
                turn = await talk.prompt("prompt-lost.")
                assert turn["status"] == "interrupted"

            tasks.start_soon(prompt)
            await harness.model.wait_for_request(lambda request: request.mentions("prompt-lost."))
            os.kill(_child_pid(harness), signal.SIGKILL)
        ends = [m for m in talk.client.messages[after:] if m.get("method") == "turn/completed"]
        assert len(ends) == 1
        never.set()
        request = await talk.turn()
        assert seen_turns(request, 2) == [1, 2]
        assert request.mentions("prompt-lost.")


def _child_pid(harness: Harness) -> int:
    import msgspec

    [record] = harness.state_dir.glob("child-*")
    return int(msgspec.json.decode(record.read_bytes())["pid"])
