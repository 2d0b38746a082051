"""Trimpoint's own methods over the wire: commands, their receipts, and the events that follow
(docs/spec/model.md, docs/spec/clients.md).
"""

from typing import Any

import pytest
from trimpoint.testkit import say

from tests.e2e.conftest import Harness
from tests.e2e.wire import JsonRpcClient, Message, connect_socket

pytestmark = [pytest.mark.codex, pytest.mark.usefixtures("running_harness")]

INPUT = [{"type": "text", "text": "hello"}]


async def begun(wire: JsonRpcClient, harness: Harness, turns: int = 0) -> str:
    await wire.initialize()
    settings = {
        "cwd": str(harness.worktree),
        "approvalPolicy": "never",
        "sandbox": "danger-full-access",
    }
    thread_id = str((await wire.result("thread/start", **settings))["thread"]["id"])
    for _ in range(turns):
        await turn(wire, thread_id)
    return thread_id


async def turn(wire: JsonRpcClient, thread_id: str) -> None:
    after = len(wire.received)
    await wire.result("turn/start", threadId=thread_id, input=INPUT)
    await wire.received_after("turn/completed", after, threadId=thread_id)


async def dispatch(
    wire: JsonRpcClient, kind: str, thread_id: str, command_id: str, **fields: Any
) -> Message:
    command = {"type": kind, "commandId": command_id, "threadId": thread_id, **fields}
    return await wire.ask("orchestration/dispatch", command=command)


def events(wire: JsonRpcClient, after: int = 0) -> list[Message]:
    return [
        message["params"]
        for message in wire.received[after:]
        if message.get("method") == "orchestration/event"
    ]


async def test_a_follower_gets_a_snapshot_a_marker_and_then_each_event_once_without_gaps(
    harness: Harness,
) -> None:
    async with (
        harness.daemon(),
        connect_socket(harness.socket) as one,
        connect_socket(harness.socket) as two,
    ):
        thread_id = await begun(one, harness, turns=1)
        await two.initialize()
        subscribed = await two.result("orchestration/subscribeThread", threadId=thread_id)
        marker = await two.received_after("orchestration/synchronized", threadId=thread_id)
        assert subscribed["mode"] == "snapshot"
        assert subscribed["thread"]["turnCount"] == 1
        assert marker["params"]["sequence"] == subscribed["sequence"]
        assert events(two) == []
        await turn(one, thread_id)
        assert (await dispatch(one, "thread.rename", thread_id, "rename", name="new name"))[
            "result"
        ]
        await two.until(lambda message: message.get("params", {}).get("type") == "thread.renamed")
        sequences = [event["threadSequence"] for event in events(two)]
        assert sequences == list(range(sequences[0], sequences[0] + len(sequences)))
        assert [event["eventId"] for event in events(two)] == [
            f"{thread_id}/{sequence}" for sequence in sequences
        ]
        assert events(one) == []
        await two.result("orchestration/unsubscribeThread", threadId=thread_id)
        after = len(two.received)
        await turn(one, thread_id)
        await two.settled()
        assert events(two, after) == []


async def test_a_follower_can_have_the_newest_entries_with_the_snapshot(harness: Harness) -> None:
    async with harness.daemon(), connect_socket(harness.socket) as one:
        thread_id = await begun(one, harness, turns=3)
        follow = "orchestration/subscribeThread"
        subscribed = await one.result(follow, threadId=thread_id, turns=1, entries=2)
        asked = {"threadId": thread_id, "expand": "all"}
        newest = await one.result("timeline/read", **asked, limit=2)
        assert subscribed["timeline"] == newest
        cursor = subscribed["timeline"]["nextCursor"]
        older = await one.result("timeline/read", **asked, limit=2, cursor=cursor)
        whole = await one.result("timeline/read", **asked)
        assert older["entries"] + newest["entries"] == whole["entries"][-4:]
        plain = await one.result(follow, threadId=thread_id)
        replayed = await one.result(
            follow, threadId=thread_id, afterSequence=plain["sequence"], entries=2
        )
        assert (plain["timeline"], replayed["timeline"]) == (None, None)


async def test_an_overview_can_be_of_some_threads(harness: Harness) -> None:
    async with harness.daemon(), connect_socket(harness.socket) as one:
        first = await begun(one, harness, turns=1)
        started = await one.result("thread/start", cwd=str(harness.worktree))
        second = started["thread"]["id"]
        overview = "orchestration/snapshot"
        some = (await one.result(overview, threadIds=[first, "none"]))["threads"]
        assert [thread["id"] for thread in some] == [first]
        assert (await one.result(overview, threadIds=[]))["threads"] == []
        every = (await one.result(overview))["threads"]
        assert {first, second} <= {thread["id"] for thread in every}


async def test_a_returning_client_is_sent_exactly_the_missed_events(harness: Harness) -> None:
    async with harness.daemon(), connect_socket(harness.socket) as one:
        thread_id = await begun(one, harness, turns=1)
        async with connect_socket(harness.socket) as leaving:
            await leaving.initialize()
            seen = (await leaving.result("orchestration/subscribeThread", threadId=thread_id))[
                "sequence"
            ]
        await turn(one, thread_id)
        async with connect_socket(harness.socket) as fresh, connect_socket(harness.socket) as back:
            for wire in (fresh, back):
                await wire.initialize()
            again = await back.result(
                "orchestration/subscribeThread", threadId=thread_id, afterSequence=seen
            )
            await back.received_after("orchestration/synchronized")
            assert (again["mode"], again["thread"]) == ("replay", None)
            missed = [event["sequence"] for event in events(back)]
            assert missed[0] > seen
            assert missed == sorted(set(missed))
            assert missed[-1] == again["sequence"]
            up_to_date = await fresh.result(
                "orchestration/subscribeThread", threadId=thread_id, afterSequence=again["sequence"]
            )
            assert up_to_date["mode"] == "replay"
            await fresh.received_after("orchestration/synchronized")
            assert events(fresh) == []


async def test_a_cursor_ahead_of_the_head_gets_a_snapshot(harness: Harness) -> None:
    async with harness.daemon(), connect_socket(harness.socket) as wire:
        thread_id = await begun(wire, harness)
        answer = await wire.result(
            "orchestration/subscribeThread", threadId=thread_id, afterSequence=10**9
        )
        assert answer["mode"] == "snapshot"
        for wrong in (-1, "x", 1.5):
            error = (
                await wire.ask(
                    "orchestration/subscribeThread", threadId=thread_id, afterSequence=wrong
                )
            )["error"]
            assert error["data"]["reason"] == "invalid_params"


@pytest.mark.own_daemon
async def test_a_command_that_is_sent_again_has_the_same_answer_and_happens_once(
    harness: Harness,
) -> None:
    async with harness.daemon(), connect_socket(harness.socket) as wire:
        thread_id = await begun(wire, harness, turns=3)
        first = await dispatch(wire, "thread.context.trim", thread_id, "trim-1", keepLastNTurns=1)
        again = await dispatch(
            wire,
            "thread.context.trim",
            thread_id,
            "trim-1",
            keepLastNTurns=1,
            createdAt="2026-01-01T00:00:00Z",
        )
        other = await dispatch(wire, "thread.context.trim", thread_id, "trim-1", keepLastNTurns=2)
        assert again["result"] == first["result"]
        assert other["error"]["data"]["reason"] == "command_id_conflict"
        await turn(wire, thread_id)
        snapshot = await wire.result("orchestration/snapshot", threadId=thread_id)
        assert len(snapshot["thread"]["contextTrimPoints"]) == 1
    async with harness.daemon(), connect_socket(harness.socket) as wire:
        await wire.initialize()
        later = await dispatch(wire, "thread.context.trim", thread_id, "trim-1", keepLastNTurns=1)
        assert later["result"] == first["result"]


async def test_a_rule_that_said_no_says_it_again_and_another_id_may_try(harness: Harness) -> None:
    async with harness.daemon(), connect_socket(harness.socket) as wire:
        thread_id = await begun(wire, harness)
        refused = await dispatch(wire, "thread.context.trim", thread_id, "early")
        assert refused["error"]["data"]["reason"] == "nothing_to_trim"
        await turn(wire, thread_id)
        assert (await dispatch(wire, "thread.context.trim", thread_id, "early"))["error"]["data"][
            "reason"
        ] == "nothing_to_trim"
        assert "result" in await dispatch(wire, "thread.context.trim", thread_id, "late")


@pytest.mark.each_case(reason="each row is another rule")
@pytest.mark.parametrize(
    "command",
    [
        {},
        {"type": "thread.archive"},
        {"type": "thread.nonsense", "commandId": "c", "threadId": "t"},
        {"type": "thread.context.trim", "commandId": "c", "threadId": "t", "keepLastNTurns": -1},
        {"type": "thread.context.trim", "commandId": "c", "threadId": "t", "keepLastNTurns": "3"},
        {"type": "thread.context.trim", "commandId": "c", "threadId": "t", "keepLastNTurn": 3},
        {
            "type": "thread.context.summarize",
            "commandId": "c",
            "threadId": "t",
            "trimPointId": "p",
            "summary": "s",
            "compactDurationMs": 1,
        },
        {"type": "thread.rename", "commandId": "c", "threadId": "t", "name": ""},
        {"type": "thread.archive", "commandId": "c" * 1000, "threadId": "t"},
        "thread.archive",
        None,
    ],
    ids=lambda command: str(command)[:40],
)
async def test_a_command_that_is_none_is_refused(harness: Harness, command: Any) -> None:
    async with harness.daemon(), connect_socket(harness.socket) as wire:
        await wire.initialize()
        error = (await wire.ask("orchestration/dispatch", command=command))["error"]
        assert (error["code"], error["data"]["reason"]) == (-32602, "invalid_params")


async def test_no_event_and_no_snapshot_shows_what_is_the_providers(harness: Harness) -> None:
    async with harness.daemon(), connect_socket(harness.socket) as wire:
        thread_id = await begun(wire, harness, turns=2)
        await wire.result("orchestration/subscribeThread", threadId=thread_id)
        harness.script.then(say("kept."))
        for text in ("/clear 1", "/compact --force", "/clear"):
            assert (await wire.result("commands/execute", threadId=thread_id, text=text))[
                "status"
            ] == "completed"
            await turn(wire, thread_id)
        await wire.result("orchestration/snapshot", threadId=thread_id)
        await wire.result("orchestration/snapshot")
        await wire.result("timeline/read", threadId=thread_id, expand="all")
        providers = {str(request.thread_id) for request in harness.model.requests} - {thread_id}
        assert len(providers) >= 3
        assert [provider for provider in providers if provider in str(wire.received)] == []


async def test_progress_goes_to_who_typed_the_command_and_events_to_who_follows(
    harness: Harness,
) -> None:
    async with (
        harness.daemon(),
        connect_socket(harness.socket) as one,
        connect_socket(harness.socket) as two,
    ):
        thread_id = await begun(one, harness, turns=2)
        await two.initialize()
        await two.result("orchestration/subscribeThread", threadId=thread_id)
        assert (await one.result("commands/execute", threadId=thread_id, text="/clear 1"))[
            "status"
        ] == "completed"
        phases = [
            message["params"]["phase"]
            for message in one.received
            if message.get("method") == "commands/progress"
        ]
        assert phases[-1] == "ready"
        await two.settled()
        assert "commands/progress" not in two.methods()
        advanced = [
            event["payload"]["phase"]
            for event in events(two)
            if event["type"] == "thread.operation-advanced"
        ]
        assert advanced == phases


@pytest.mark.own_daemon
async def test_the_daemon_says_how_it_is_and_stops_when_asked(harness: Harness) -> None:
    async with harness.daemon(), connect_socket(harness.socket) as wire:
        await begun(wire, harness)
        status = await wire.result("sidecar/status")
        assert (
            status["clients"],
            status["threads"],
            status["codex"]["state"],
            status["codex"]["epoch"],
        ) == (
            1,
            1,
            "connected",
            1,
        )
        assert status["codex"]["problem"] is None
        assert await wire.result("sidecar/shutdown") == {"stopping": True}
