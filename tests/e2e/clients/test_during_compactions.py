"""What clients ask for while the model is asked for a summary: Codex answers at once during its own
compaction, and so does the daemon, unless the request needs the context to be complete.
"""

import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from trimpoint.cli.connection.client import Client
from trimpoint.testkit import ModelRequest, encrypted_compaction, hang, say

from tests.deadlines import STEP_S
from tests.e2e.clients.compacting import ACTIVE, Setup, scene_in
from tests.e2e.conftest import Harness
from tests.e2e.conversation import Conversation, seen_turns
from tests.e2e.wire import JsonRpcClient, connect_socket

pytestmark = pytest.mark.codex

KINDS = pytest.mark.parametrize("kind", ["typed", "native"])
MESSAGE = {
    "type": "message",
    "role": "user",
    "content": [{"type": "input_text", "text": "injected"}],
}
INPUT = [{"type": "text", "text": "hello"}]
AT_ONCE: list[tuple[str, dict[str, Any]]] = [
    ("thread/resume", {}),
    ("thread/resume", {"excludeTurns": True, "initialTurnsPage": {}}),
    ("thread/resume", {"model": "another"}),
    ("thread/read", {"includeTurns": True}),
    ("thread/turns/list", {}),
    ("thread/items/list", {}),
    ("thread/timeline/list", {}),
    ("thread/searchOccurrences", {"searchTerm": "prompt"}),
    ("thread/name/set", {"name": "A name"}),
    ("thread/metadata/update", {"gitInfo": {"branch": "side"}}),
    ("thread/memoryMode/set", {"mode": "disabled"}),
    ("thread/settings/update", {"effort": "low"}),
    ("turn/settings/update", {"turnId": "none", "effort": "low"}),
    ("thread/goal/get", {}),
    ("thread/goal/set", {"objective": "Ship it.", "status": "paused"}),
    ("thread/goal/clear", {}),
    ("thread/sample", {"expectedTurnId": "none", "prompt": "Well?"}),
    ("thread/queue/list", {}),
    ("thread/queue/update", {"queuedSubmissionId": "none", "input": INPUT}),
    ("thread/queue/delete", {"queuedSubmissionId": "none"}),
    ("thread/queue/reorder", {"queuedSubmissionIds": []}),
    ("thread/queue/start", {}),
    ("thread/attachment/list", {}),
    ("thread/section/move", {"sectionId": None}),
    ("thread/backgroundTerminals/list", {}),
    ("thread/fork", {}),
    ("thread/fork", {"ephemeral": True, "excludeTurns": True}),
    ("mcpServerStatus/list", {}),
    ("thread/compact/start", {}),
    ("turn/interrupt", {"turnId": "none"}),
    ("turn/steer", {"expectedTurnId": "none", "input": INPUT}),
    ("thread/archive", {}),
    ("thread/delete", {}),
    ("thread/unsubscribe", {}),
]
WAIT: list[tuple[str, dict[str, Any]]] = [
    ("turn/start", {"input": INPUT}),
    ("thread/inject_items", {"items": [MESSAGE]}),
    ("thread/goal/set", {"objective": "Ship it."}),
    ("thread/shellCommand", {"command": "echo hi"}),
    ("review/start", {"target": {"type": "uncommittedChanges"}}),
    ("thread/revert", {"beforeTurnId": "none"}),
]


@asynccontextmanager
async def late_client(setup: Setup) -> AsyncIterator[JsonRpcClient]:
    """Yields a client that connects now, and takes part in no thread yet."""
    async with connect_socket(setup.harness.socket) as late:
        await late.initialize("late")
        yield late


async def is_summarizing(setup: Setup) -> bool:
    await setup.wire.settled()
    return (await setup.operation())["phase"] == "compacting"


@KINDS
async def test_what_leaves_the_context_as_it_is_is_answered_at_once(
    harness: Harness, kind: str
) -> None:
    async with scene_in(harness) as setup:
        turn_id = await setup.begin(kind)
        async with late_client(setup) as late:
            for method, params in AT_ONCE:
                await late.ask(method, threadId=setup.thread_id, **params)
                assert await is_summarizing(setup), method
        setup.release.set()
        assert (await setup.ended(turn_id))["status"] == "completed"
        request = await setup.talk.turn()
    assert seen_turns(request, 3) == [3]


@pytest.mark.parametrize(("method", "params"), WAIT)
async def test_what_needs_the_whole_context_waits_for_the_summary(
    harness: Harness, method: str, params: dict[str, Any]
) -> None:
    async with scene_in(harness) as setup:
        turn_id = await setup.compacting_natively()
        named = {"threadId": setup.thread_id, **params}
        await setup.wire.send({"id": "waits", "method": method, "params": named})
        assert await is_summarizing(setup)
        assert not any(one.get("id") == "waits" for one in setup.wire.received)
        setup.release.set()
        assert (await setup.ended(turn_id))["status"] == "completed"
        await setup.wire.answer_to("waits")


@KINDS
async def test_a_client_that_comes_during_a_compaction_misses_nothing_of_what_follows(
    harness: Harness, kind: str
) -> None:
    async with scene_in(harness) as setup, late_client(setup) as late:
        turn_id = await setup.begin(kind)
        named = {"threadId": setup.thread_id}
        answer = await late.result("thread/resume", **named, initialTurnsPage={})
        setup.release.set()
        await setup.ended(turn_id)
        ended = await late.received_after("turn/completed")
        after = len(late.received)
        request = await setup.talk.turn()
        await late.received_after("turn/completed", after, **named)
        heard = late.methods(after)
        again = await late.result("thread/resume", **named)
    thread = answer["thread"]
    assert (thread["id"], thread["status"]) == (setup.thread_id, ACTIVE)
    shown = [(turn["id"], turn["status"]) for turn in thread["turns"]]
    assert [status for _, status in shown] == ["completed", "completed", "inProgress"]
    assert shown[-1][0] == turn_id
    assert [turn["id"] for turn in answer["initialTurnsPage"]["data"]] == [
        shown_id for shown_id, _ in shown[::-1]
    ]
    assert ended["params"]["threadId"] == setup.thread_id
    assert ended["params"]["turn"]["id"] == turn_id
    assert {"turn/started", "item/agentMessage/delta", "item/completed"} <= set(heard)
    assert seen_turns(request, 3) == [3]
    assert again["thread"]["id"] == setup.thread_id
    assert [turn["status"] for turn in again["thread"]["turns"]] == ["completed"] * 3
    assert [turn["id"] for turn in again["thread"]["turns"][:2]] == [one for one, _ in shown[:2]]


async def test_a_client_attaches_while_a_thread_is_compacted_that_has_just_been_cleared(
    harness: Harness,
) -> None:
    async with scene_in(harness) as setup, late_client(setup) as late:
        # Codex has not stored the new provider thread, in which no turn has run.
        assert (await setup.talk.type("/clear 1"))["status"] == "completed"
        turn_id = await setup.compacting_natively()
        answer = await late.result("thread/resume", threadId=setup.thread_id)
        assert await is_summarizing(setup)
        setup.release.set()
        await setup.ended(turn_id)
        await late.received_after("turn/completed")
        request = await setup.talk.turn()
        await late.received_after("turn/started", threadId=setup.thread_id)
    assert answer["thread"]["id"] == setup.thread_id
    assert len(answer["thread"]["turns"]) == 3
    assert seen_turns(request, 3) == [3]
    assert request.mentions("conversation-summary")


async def test_a_client_attaches_while_a_cleared_thread_is_compacted(harness: Harness) -> None:
    async with scene_in(harness) as setup, late_client(setup) as late:
        assert (await setup.talk.type("/clear 1"))["status"] == "completed"
        await setup.talk.turn()
        turn_id = await setup.compacting_natively()
        answer = await late.result("thread/resume", threadId=setup.thread_id)
        assert await is_summarizing(setup)
        setup.release.set()
        await setup.ended(turn_id)
        again = await late.result("thread/resume", threadId=setup.thread_id)
    for thread, running in ((answer["thread"], 1), (again["thread"], 0)):
        assert thread["id"] == setup.thread_id
        statuses = [turn["status"] for turn in thread["turns"]]
        assert statuses == ["completed"] * 3 + ["inProgress"] * running


async def change(late: JsonRpcClient, setup: Setup) -> None:
    """Changes everything that a client may change meanwhile."""
    named = {"threadId": setup.thread_id}
    await late.result("thread/name/set", **named, name="Given meanwhile")
    await late.result("thread/settings/update", **named, effort="low")
    await late.result("thread/metadata/update", **named, gitInfo={"branch": "side"})
    assert await is_summarizing(setup)


async def check_changes(harness: Harness, thread_id: str, request: ModelRequest) -> None:
    """Checks the changes as clients see them, and as Codex has them after another start."""
    assert request.body["reasoning"]["effort"] == "low"
    for _ in range(2):
        async with harness.daemon(), connect_socket(harness.socket) as wire:
            await wire.initialize()
            listed = await wire.result("thread/list")
            resumed = await wire.result("thread/resume", threadId=thread_id)
            read = await wire.result("thread/read", threadId=thread_id)
        assert [row["id"] for row in listed["data"]] == [thread_id]
        for thread in (listed["data"][0], resumed["thread"], read["thread"]):
            assert thread["name"] == "Given meanwhile"
            assert thread["gitInfo"]["branch"] == "side"


@pytest.mark.parametrize("ending", ["ready", "interrupted", "failed", "killed"])
async def test_settings_changed_during_a_compaction_survive_its_outcome(
    harness: Harness, ending: str
) -> None:
    async with scene_in(harness) as setup, late_client(setup) as late:
        turn_id = await setup.compacting()
        await change(late, setup)
        match ending:
            case "interrupted":
                await late.result("turn/interrupt", threadId=setup.thread_id, turnId=turn_id)
            case "killed":
                os.kill(harness.child_pid(), signal.SIGKILL)
            case _:
                setup.reply = say("") if ending == "failed" else setup.reply
                setup.release.set()
        await setup.ended(turn_id)
        phase = (await setup.operation())["phase"]
        setup.release.set()
        await setup.talk.until_codex_answers()
        request = await setup.talk.turn()
    expected = {"ready": "ready", "interrupted": "cancelled"}.get(ending, "failed")
    assert phase == expected
    assert seen_turns(request, 3) == ([3] if ending == "ready" else [1, 2, 3])
    await check_changes(harness, setup.thread_id, request)


@pytest.mark.parametrize("readable", [True, False], ids=["readable", "unreadable"])
async def test_what_was_changed_meanwhile_holds_behind_a_sealed_summary(
    sealed_harness: Harness, *, readable: bool
) -> None:
    harness = sealed_harness
    async with scene_in(harness) as setup, late_client(setup) as late:
        harness.script.then(say("A readable gist." if readable else ""))
        setup.reply = encrypted_compaction("SEALED")
        turn_id = await setup.compacting()
        await change(late, setup)
        resumed = await late.result("thread/resume", threadId=setup.thread_id)
        setup.release.set()
        await setup.ended(turn_id)
        after = len(late.received)
        request = await setup.talk.turn()
        await late.received_after("turn/completed", after, threadId=setup.thread_id)
    assert resumed["thread"]["id"] == setup.thread_id
    assert request.mentions("A readable gist." if readable else "SEALED")
    await check_changes(harness, setup.thread_id, request)


@pytest.mark.parametrize("ending", ["ready", "interrupted"])
async def test_settings_that_need_the_thread_loaded_anew_wait_and_are_not_lost(
    harness: Harness, ending: str
) -> None:
    async with scene_in(harness) as setup, late_client(setup) as late:
        turn_id = await setup.compacting_natively()
        # No client takes part in the thread any more: Codex takes the settings when it loads it.
        for client in (setup.wire, setup.talk.client):
            await unsubscribe(client, setup.thread_id)
        given = {"threadId": setup.thread_id, "model": "another", "sandbox": "read-only"}
        await late.send({"id": "waits", "method": "thread/resume", "params": given})
        assert await is_summarizing(setup)
        await late.settled()
        assert not any(one.get("id") == "waits" for one in late.received)
        if ending == "ready":
            setup.release.set()
        else:
            await late.result("turn/interrupt", threadId=setup.thread_id, turnId=turn_id)
        answer = (await late.answer_to("waits"))["result"]
        request = await setup.talk.turn()
    assert (answer["thread"]["id"], answer["model"]) == (setup.thread_id, "another")
    assert answer["sandbox"]["type"] == "readOnly"
    assert request.body["model"] == "another"
    assert seen_turns(request, 3) == ([3] if ending == "ready" else [1, 2, 3])


async def unsubscribe(client: JsonRpcClient | Client, thread_id: str) -> None:
    ask = client.result if isinstance(client, JsonRpcClient) else client.request
    assert (await ask("thread/unsubscribe", threadId=thread_id))["status"] == "unsubscribed"


async def test_a_fork_that_is_made_meanwhile_has_the_whole_context(harness: Harness) -> None:
    async with scene_in(harness) as setup, late_client(setup) as late:
        turn_id = await setup.begin("native")
        fork = (await late.result("thread/fork", threadId=setup.thread_id))["thread"]
        assert await is_summarizing(setup)
        setup.release.set()
        await setup.ended(turn_id)
        here = await setup.talk.turn()
        forked = Conversation(setup.talk.client, fork["id"], harness.model, harness.script)
        forked.turns = setup.talk.turns
        there = await forked.turn()
        snapshots = [await talk.snapshot() for talk in (setup.talk, forked)]
    assert fork["forkedFromId"] == setup.thread_id
    assert len(fork["turns"]) == 2
    assert (seen_turns(here, 4), seen_turns(there, 4)) == ([3], [1, 2, 4])
    assert [len(one["contextTrimPoints"]) for one in snapshots] == [1, 0]
    assert [len(one["turns"]) for one in snapshots] == [3, 3]


async def test_prompts_that_were_queued_can_be_changed_meanwhile(harness: Harness) -> None:
    async with scene_in(harness) as setup, late_client(setup) as late:
        named, stop = {"threadId": setup.thread_id}, anyio.Event()
        harness.script.then(hang("I am", until=stop))
        started = (await setup.prompt("prompt-3."))["result"]["turn"]
        await setup.wire.received_after("item/agentMessage/delta", turnId=started["id"])
        for number in range(2):
            words = [{"type": "text", "text": f"queued-{number}."}]
            key = {"clientUserMessageId": f"queued-{number}"}
            await setup.wire.result("thread/queue/add", **named, **key, input=words)
        # No queued prompt is sent behind a turn that was interrupted.
        await setup.wire.result("turn/interrupt", **named, turnId=started["id"])
        await setup.ended(started["id"])
        stop.set()
        turn_id = await setup.compacting_natively()
        queued = (await late.result("thread/queue/list", **named))["data"]
        first, second = (one["id"] for one in queued)
        changed = {"queuedSubmissionId": first, "input": [{"type": "text", "text": "changed."}]}
        await late.result("thread/queue/update", **named, **changed)
        await late.result("thread/queue/delete", **named, queuedSubmissionId=second)
        assert await is_summarizing(setup)
        before = len(harness.model.turn_requests())
        setup.release.set()
        await setup.ended(turn_id)
        assert len(harness.model.turn_requests()) == before
        with anyio.fail_after(STEP_S):
            await late.result("thread/queue/start", **named)
            request = await harness.model.wait_for_request(lambda one: one.mentions("changed."))
    assert harness.model.turn_requests().index(request) == before
    assert request.mentions("conversation-summary")
    assert not any(one.mentions("queued-") for one in harness.model.turn_requests())
