"""Played turns with the real Codex: a client can interrupt, steer and list them like any turn."""

import os
import signal
from typing import Any

import anyio
import pytest

from tests.deadlines import STEP_S
from tests.e2e.clients.compacting import ACTIVE, never, scene_in
from tests.e2e.conftest import Harness
from tests.e2e.conversation import seen_turns

pytestmark = pytest.mark.codex

NOT_STEERABLE = {"activeTurnNotSteerable": {"turnKind": "compact"}}


async def test_interrupting_a_typed_compact_cancels_it_and_trims_nothing(harness: Harness) -> None:
    async with scene_in(harness) as setup:
        turn_id = await setup.compacting()
        assert (
            await setup.wire.result("turn/interrupt", threadId=setup.thread_id, turnId=turn_id)
            == {}
        )
        turn = await setup.ended(turn_id)
        assert turn["status"] == "interrupted"
        assert turn["items"][0]["text"] == "The compaction was cancelled and nothing has changed."
        step = await setup.operation()
        assert (step["phase"], step["reason"]) == ("cancelled", "cancelled")
        snapshot = await setup.talk.snapshot()
        assert snapshot["contextTrimPoints"] == []
        listed = await setup.wire.result("thread/list")
        assert [row["id"] for row in listed["data"]] == [setup.thread_id]
        request = await setup.talk.turn()
    assert seen_turns(request, 3) == [1, 2, 3]


async def test_a_compaction_that_codex_was_asked_for_is_cancelled_by_its_turn(
    harness: Harness,
) -> None:
    async with scene_in(harness) as setup:
        harness.script.at_compaction(lambda _: never(setup))
        await setup.wire.result("thread/compact/start", threadId=setup.thread_id)
        started = await setup.wire.received_after("turn/started", threadId=setup.thread_id)
        turn_id = started["params"]["turn"]["id"]
        with anyio.fail_after(STEP_S):
            await harness.model.wait_for_request(
                lambda request: request.kind == "inline_compaction"
            )
        assert (
            await setup.wire.result("turn/interrupt", threadId=setup.thread_id, turnId=turn_id)
            == {}
        )
        assert (await setup.ended(turn_id))["status"] == "interrupted"
        assert (await setup.operation())["phase"] == "cancelled"
        assert (await setup.talk.snapshot())["contextTrimPoints"] == []


async def test_a_command_that_waits_for_its_outcome_is_told_that_it_was_cancelled(
    harness: Harness,
) -> None:
    async with scene_in(harness) as setup, anyio.create_task_group() as tasks:
        harness.script.at_compaction(lambda _: never(setup))
        outcomes: list[dict[str, Any]] = []

        async def execute() -> None:
            outcomes.append(await setup.talk.type("/compact"))

        tasks.start_soon(execute)
        started = await setup.wire.received_after("turn/started", threadId=setup.thread_id)
        await setup.wire.result(
            "turn/interrupt", threadId=setup.thread_id, turnId=started["params"]["turn"]["id"]
        )
        with anyio.fail_after(STEP_S):
            while not outcomes:
                await setup.wire.settled()
        progress = [
            one for one in setup.talk.client.messages if one.get("method") == "commands/progress"
        ]
    assert (outcomes[0]["status"], outcomes[0]["reason"]) == ("cancelled", "cancelled")
    assert {one["params"]["operationId"] for one in progress} == {outcomes[0]["operationId"]}


async def test_a_typed_compact_is_one_turn_to_its_client(harness: Harness) -> None:
    async with scene_in(harness) as setup:
        after = len(setup.wire.received)
        setup.release.set()
        turn_id = await setup.compacting()
        await setup.ended(turn_id)
        lines = [one for one in setup.wire.received[after:] if "method" in one]
    turns = [
        one["params"]["turn"]["id"]
        for one in lines
        if one["method"] in ("turn/started", "turn/completed")
    ]
    assert turns == [turn_id, turn_id]
    items = [
        (one["params"]["turnId"], one["params"]["item"])
        for one in lines
        if one["method"] == "item/completed"
    ]
    assert {named for named, _ in items} == {turn_id}
    assert [item["type"] for _, item in items] == [
        "userMessage",
        "contextCompaction",
        "agentMessage",
    ]
    assert items[0][1]["clientId"] == "mine"


async def test_a_command_that_runs_is_listed_and_gone_when_it_has_ended(harness: Harness) -> None:
    async with scene_in(harness) as setup:
        turn_id = await setup.compacting()
        read = (
            await setup.wire.result("thread/read", threadId=setup.thread_id, includeTurns=True)
        )["thread"]
        assert [turn["status"] for turn in read["turns"]] == [
            "completed",
            "completed",
            "inProgress",
        ]
        assert read["turns"][-1]["id"] == turn_id
        assert read["turns"][-1]["items"][0]["content"][0]["text"] == "/compact"
        assert read["status"]["type"] == "active"
        listed = (await setup.wire.result("thread/turns/list", threadId=setup.thread_id))["data"]
        assert listed[0]["id"] == turn_id
        assert (await setup.wire.result("thread/read", threadId=setup.thread_id))["thread"][
            "turns"
        ] == []
        setup.release.set()
        await setup.ended(turn_id)
        listed = (await setup.wire.result("thread/turns/list", threadId=setup.thread_id))["data"]
    assert len(listed) == 2
    assert turn_id not in str(listed)


async def test_a_command_takes_no_more_input(harness: Harness) -> None:
    async with scene_in(harness) as setup:
        turn_id = await setup.compacting()
        more = {
            "threadId": setup.thread_id,
            "expectedTurnId": turn_id,
            "input": [{"type": "text", "text": "pile-on"}],
        }
        answer = await setup.wire.ask("turn/steer", **more)
        setup.release.set()
        await setup.ended(turn_id)
    assert answer["error"]["data"]["reason"] == "already_in_progress"
    assert answer["error"]["data"]["codexErrorInfo"] == NOT_STEERABLE
    assert not any(request.mentions("pile-on") for request in harness.model.turn_requests())


async def test_a_prompt_during_a_cancelled_compaction_is_answered_in_the_whole_context(
    harness: Harness,
) -> None:
    async with scene_in(harness) as setup, anyio.create_task_group() as tasks:
        turn_id = await setup.compacting()
        tasks.start_soon(setup.talk.turn)
        await setup.wire.settled()
        await setup.wire.result("turn/interrupt", threadId=setup.thread_id, turnId=turn_id)
        assert (await setup.ended(turn_id))["status"] == "interrupted"
    assert seen_turns(harness.model.turn_requests()[-1], 3) == [1, 2, 3]


async def test_the_id_of_its_turn_means_nothing_in_another_thread(harness: Harness) -> None:
    async with scene_in(harness) as setup:
        turn_id = await setup.compacting()
        answer = await setup.wire.result("thread/start", cwd=str(harness.worktree))
        other = {"threadId": answer["thread"]["id"]}
        interrupted = await setup.wire.ask("turn/interrupt", **other, turnId=turn_id)
        more = {"expectedTurnId": turn_id, "input": [{"type": "text", "text": "pile-on"}]}
        steered = await setup.wire.ask("turn/steer", **other, **more)
        setup.release.set()
        assert (await setup.ended(turn_id))["status"] == "completed"
    assert interrupted["error"]["message"] == "no active turn to interrupt"
    assert steered["error"]["message"] == "no active turn to steer"


@pytest.mark.parametrize("kind", ["typed", "native"])
async def test_an_empty_turn_id_interrupts_a_compaction_as_it_does_any_turn(
    harness: Harness, kind: str
) -> None:
    async with scene_in(harness) as setup:
        turn_id = await setup.begin(kind)
        named = {"threadId": setup.thread_id, "turnId": ""}
        assert await setup.wire.result("turn/interrupt", **named) == {}
        assert (await setup.ended(turn_id))["status"] == "interrupted"
        assert (await setup.operation())["phase"] == "cancelled"


@pytest.mark.parametrize("kind", ["typed", "native"])
async def test_a_compaction_is_listed_as_the_newest_turn_wherever_turns_are(
    harness: Harness, kind: str
) -> None:
    async with scene_in(harness) as setup:
        turn_id = await setup.begin(kind)
        named = {"threadId": setup.thread_id}
        ask = setup.wire.result
        newest = [
            (await ask("thread/turns/list", **named))["data"][0],
            (await ask("thread/turns/list", **named, sortDirection="asc"))["data"][-1],
            (await ask("thread/read", **named, includeTurns=True))["thread"]["turns"][-1],
        ]
        page = (await ask("thread/turns/list", **named, sortDirection="asc", limit=1))["data"]
        [row] = (await ask("thread/list"))["data"]
        read = (await ask("thread/read", **named))["thread"]
        setup.release.set()
        await setup.ended(turn_id)
        [rested] = (await ask("thread/list"))["data"]
        listed = (await ask("thread/turns/list", **named))["data"]
    assert {(turn["id"], turn["status"]) for turn in newest} == {(turn_id, "inProgress")}
    assert len(page) == 1
    assert page[0]["id"] != turn_id
    assert row["status"] == read["status"] == ACTIVE
    assert rested["status"] == {"type": "idle"}
    assert len(listed) == 2


@pytest.mark.parametrize("turn_id", ["", "another"])
async def test_input_for_a_compaction_is_refused_at_once(harness: Harness, turn_id: str) -> None:
    async with scene_in(harness) as setup:
        running = await setup.compacting_natively()
        more = {
            "threadId": setup.thread_id,
            "expectedTurnId": turn_id or running,
            "input": [{"type": "text", "text": "pile-on"}],
        }
        answer = await setup.wire.ask("turn/steer", **more)
        assert (await setup.operation())["phase"] == "compacting"
        setup.release.set()
        await setup.ended(running)
    assert answer["error"]["data"]["codexErrorInfo"] == NOT_STEERABLE
    assert not any(request.mentions("pile-on") for request in harness.model.turn_requests())


@pytest.mark.parametrize("kind", ["typed", "native"])
async def test_the_turn_of_a_compaction_ends_with_its_codex(harness: Harness, kind: str) -> None:
    async with scene_in(harness) as setup:
        turn_id = await setup.begin(kind)
        os.kill(harness.child_pid(), signal.SIGKILL)
        await setup.ended(turn_id)
        await setup.talk.until_codex_answers()
        await setup.wire.settled()
        lines = [one for one in setup.wire.received if one.get("method") == "turn/completed"]
        [*_, status] = [
            one["params"]["status"]
            for one in setup.wire.received
            if one.get("method") == "thread/status/changed"
        ]
        setup.release.set()
    assert [one["params"]["turn"]["id"] for one in lines] == [turn_id]
    assert status == {"type": "idle"}
