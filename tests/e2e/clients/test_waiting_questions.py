"""Codex's requests to clients while they wait for an answer: for a client that joins, and until the turn, Codex
or the daemon ends."""

import os
import signal
from contextlib import AsyncExitStack

import pytest

from tests.e2e.clients.asking import ACCEPT, COMMAND, DECLINE, reply, resolved, scene_in, touch
from tests.e2e.conftest import Harness
from tests.e2e.wire import JsonRpcClient

pytestmark = [pytest.mark.codex, pytest.mark.usefixtures("running_harness")]


async def test_a_question_waits_for_a_client_and_is_sent_after_the_answer_to_its_resume(
    harness: Harness,
) -> None:
    async with AsyncExitStack() as stack:
        setup = await scene_in(harness, stack)
        first = await setup.client()
        await setup.begin(first)
        turn_id = await setup.prompt(first, touch())
        await first.received_after(COMMAND)
        await first.abort()
        late = await setup.joined("late")
        question = await late.received_after(COMMAND)
        resume = next(
            position for position, message in enumerate(late.received) if message.get("id") == "w2"
        )
        assert late.received.index(question) > resume
        await reply(late, question, ACCEPT)
        assert await setup.ended(late, turn_id) == "completed"
    assert setup.made.exists()


async def test_the_agent_waits_when_it_asks_without_a_client(harness: Harness) -> None:
    async with AsyncExitStack() as stack:
        setup = await scene_in(harness, stack)
        first = await setup.client()
        await setup.begin(first)
        watcher = await setup.client("watcher")
        await setup.prompt(first, touch())
        await first.abort()
        await watcher.until(
            lambda one: "waitingOnApproval" in str(one.get("params", {}).get("status"))
        )
        assert not setup.made.exists()
        late = await setup.joined("late")
        await reply(late, await late.received_after(COMMAND), ACCEPT)
        await late.received_after("turn/completed")
    assert setup.made.exists()


async def test_a_second_resume_repeats_the_question_under_the_same_id(harness: Harness) -> None:
    async with AsyncExitStack() as stack:
        setup = await scene_in(harness, stack)
        wire = await setup.client()
        await setup.begin(wire)
        turn_id = await setup.prompt(wire, touch())
        question = await wire.received_after(COMMAND)
        after = len(wire.received)
        await wire.result("thread/resume", threadId=setup.thread_id)
        assert await wire.received_after(COMMAND, after) == question
        await reply(wire, question, ACCEPT)
        await setup.ended(wire, turn_id)
        assert len(resolved(wire, question)) == 1
    assert setup.made.exists()


@pytest.mark.parametrize("text", ["/clear", "/clear 1", "/compact", "/new"])
async def test_commands_wait_for_the_answer_and_say_so(harness: Harness, text: str) -> None:
    async with AsyncExitStack() as stack:
        setup = await scene_in(harness, stack)
        wire = await setup.client()
        await setup.begin(wire)
        await setup.ended(wire, await setup.prompt(wire))
        turn_id = await setup.prompt(wire, touch())
        question = await wire.received_after(COMMAND)
        outcome = await wire.result("commands/execute", threadId=setup.thread_id, text=text)
        assert outcome["status"] == "skipped"
        assert outcome["reason"] in ("request_pending", "turn_in_progress")
        assert outcome["blocker"]["since"]
        [pending] = (await wire.result("orchestration/snapshot", threadId=setup.thread_id))[
            "thread"
        ]["pendingRequests"]
        assert (pending["id"], pending["method"]) == (question["id"], COMMAND)
        await reply(wire, question, ACCEPT)
        assert await setup.ended(wire, turn_id) == "completed"
        outcome = await wire.result("commands/execute", threadId=setup.thread_id, text=text)
        assert outcome["status"] == "completed", outcome
    assert setup.made.exists()


async def test_an_interrupted_turn_takes_its_question_back(harness: Harness) -> None:
    async with AsyncExitStack() as stack:
        setup = await scene_in(harness, stack)
        one = await setup.client("one")
        await setup.begin(one)
        two = await setup.joined("two")
        turn_id = await setup.prompt(one, touch())
        question = await two.received_after(COMMAND)
        await one.result("turn/interrupt", threadId=setup.thread_id, turnId=turn_id)
        assert await setup.ended(two, turn_id) == "interrupted"
        assert len(resolved(one, question)) == len(resolved(two, question)) == 1
        await reply(two, question, ACCEPT)
        await two.received_after("sidecar/answerIgnored")
        snapshot = await one.result("orchestration/snapshot", threadId=setup.thread_id)
        assert snapshot["thread"]["pendingRequests"] == []
    assert not setup.made.exists()


async def test_a_question_dies_with_its_codex_and_a_late_answer_approves_nothing_new(
    harness: Harness,
) -> None:
    async with AsyncExitStack() as stack:
        setup = await scene_in(harness, stack)
        wire = await setup.client()
        await setup.begin(wire)
        await wire.result("orchestration/subscribeThread", threadId=setup.thread_id)
        turn_id = await setup.prompt(wire, touch())
        old = await wire.received_after(COMMAND)
        os.kill(harness.child_pid(), signal.SIGKILL)
        assert await setup.ended(wire, turn_id) == "interrupted"
        assert len(resolved(wire, old)) == 1
        closed = await wire.until(
            lambda one: one.get("params", {}).get("type") == "thread.request-closed"
        )
        assert closed["params"]["payload"] == {"requestId": old["id"], "outcome": "expired"}
        after = len(wire.received)
        await until_codex_is_back(wire)
        turn_id = await setup.prompt(wire, touch())
        new = await wire.received_after(COMMAND, after)
        assert new["id"] != old["id"]
        await reply(wire, old, ACCEPT)
        await wire.received_after("sidecar/answerIgnored", requestId=old["id"])
        assert not setup.made.exists()
        await reply(wire, new, DECLINE)
        assert await setup.ended(wire, turn_id) == "completed"
    assert not setup.made.exists()


async def until_codex_is_back(wire: JsonRpcClient) -> None:
    """Waits until Codex answers again after it was killed."""
    while "error" in (answer := await wire.ask("thread/loaded/list")):
        assert answer["error"]["data"]["retryable"], answer


@pytest.mark.own_daemon
async def test_a_question_dies_with_the_daemon_and_its_id_is_not_used_again(
    harness: Harness,
) -> None:
    async with AsyncExitStack() as stack:
        setup = await scene_in(harness, stack)
        wire = await setup.client()
        await setup.begin(wire)
        await setup.prompt(wire, touch())
        old = await wire.received_after(COMMAND)
    thread_id = setup.thread_id
    async with AsyncExitStack() as stack:
        setup = await scene_in(harness, stack)
        setup.thread_id = thread_id
        wire = await setup.joined("back")
        snapshot = await wire.result("orchestration/snapshot", threadId=thread_id)
        assert snapshot["thread"]["pendingRequests"] == []
        turn_id = await setup.prompt(wire, touch())
        new = await wire.received_after(COMMAND)
        await reply(wire, old, ACCEPT)
        await wire.received_after("sidecar/answerIgnored", requestId=old["id"])
        assert not setup.made.exists()
        await reply(wire, new, ACCEPT)
        await setup.ended(wire, turn_id)
    assert setup.made.exists()
