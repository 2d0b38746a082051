"""Requests, interrupts and prompts while an overflow recovery is running."""

import anyio
import anyio.to_thread
import pytest
from trimpoint.testkit import (
    hang,
    held,
    overflow,
    run,
    say,
)

from tests.e2e.conftest import Harness
from tests.e2e.context.overflowing import (
    Held,
    Message,
    begin,
    ended,
    is_as_it_was,
    is_of_turn,
    long_talk,
)
from tests.e2e.conversation import TURN_DEADLINE_S, Conversation
from tests.e2e.expectation import Piece, pieces

pytestmark = pytest.mark.codex


async def test_the_thread_is_busy_and_says_with_what(harness: Harness) -> None:
    async with harness.conversation() as talk:
        await long_talk(talk)
        recovery = Held(talk)
        await recovery.in_compaction(say("It fits."))
        outcome = await talk.type("/clear")
        overview = await talk.client.request("orchestration/snapshot")
        read = await talk.client.request("thread/read", threadId=talk.thread_id, includeTurns=True)
        listed = await talk.client.request("thread/turns/list", threadId=talk.thread_id)
        recovery.event.set()
        turn = await recovery.end()
    assert turn["status"] == "completed"
    assert (outcome["status"], outcome["reason"]) == ("skipped", "already_in_progress")
    assert (outcome["blocker"]["kind"], outcome["blocker"]["detail"]) == ("operation", "overflow")
    assert overview["threads"][0]["busy"] == "operation: overflow"
    assert read["thread"]["status"]["type"] == "active"
    for shown in (read["thread"]["turns"][-1], listed["data"][0]):
        assert (shown["id"], shown["status"], shown["error"]) == (turn["id"], "inProgress", None)


async def test_a_prompt_that_comes_meanwhile_is_not_lost(harness: Harness) -> None:
    async with (
        harness.conversation() as talk,
        harness.client("second") as second,
        anyio.create_task_group() as tasks,
    ):
        await long_talk(talk)
        await second.request("thread/resume", threadId=talk.thread_id)
        recovery = Held(talk)
        await recovery.in_compaction(run("echo one"), say("Both."))
        answers: list[Message] = []

        async def ask() -> None:
            sent = {"threadId": talk.thread_id, "input": [{"type": "text", "text": "and this"}]}
            answers.append(await second.request("turn/start", **sent))

        tasks.start_soon(ask)
        recovery.event.set()
        await recovery.end()
        with anyio.fail_after(TURN_DEADLINE_S):
            while not answers:
                await anyio.lowlevel.checkpoint()
        await ended(second, answers[0]["turn"]["id"])
        last = await talk.turn()
        snapshot = await talk.snapshot()
    assert [piece for piece in pieces(last.input) if piece.text in ("too much", "and this")] == [
        Piece("user", "too much"),
        Piece("user", "and this"),
    ]
    assert all(turn["status"] == "completed" for turn in snapshot["turns"])


@pytest.mark.parametrize("phase", ["compacting", "retrying"])
async def test_an_interruption_ends_it_as_it_had_ended(harness: Harness, phase: str) -> None:
    async with harness.conversation() as talk:
        await long_talk(talk)
        recovery = Held(talk)
        await (
            recovery.in_compaction()
            if phase == "compacting"
            else recovery.in_retry(say("It fits."))
        )
        assert (
            await talk.client.request(
                "turn/interrupt", threadId=talk.thread_id, turnId=recovery.turn_id
            )
            == {}
        )
        turn = await recovery.end()
        await is_as_it_was(talk, turn, recovery.said)
        recovery.event.set()
        talk.script.then(say("Next."))
        assert (await talk.prompt("next"))["status"] == "completed"


async def test_a_continued_turn_can_be_steered_asked_about_and_interrupted(
    harness: Harness,
) -> None:
    async with harness.conversation() as talk:
        await long_talk(talk)
        stop = anyio.Event()
        recovery = Held(talk)
        # Codex may break off an answer for a steering prompt, and asks the model again.
        await recovery.in_retry(run("echo one"), *[hang("I am", until=stop)] * 3)
        recovery.event.set()
        with anyio.fail_after(TURN_DEADLINE_S):
            await talk.client.received(
                "item/agentMessage/delta", recovery.after, turnId=recovery.turn_id
            )
        steer = {
            "threadId": talk.thread_id,
            "expectedTurnId": recovery.turn_id,
            "input": [{"type": "text", "text": "faster"}],
        }
        assert (await talk.client.request("turn/steer", **steer))["turnId"] == recovery.turn_id
        answer = await begin(talk, "and steered")
        assert answer == recovery.turn_id
        await talk.client.request(
            "turn/interrupt", threadId=talk.thread_id, turnId=recovery.turn_id
        )
        turn = await recovery.end()
        snapshot = await talk.snapshot()
        stop.set()
    assert turn["status"] == "interrupted"
    assert [t["status"] for t in snapshot["turns"]] == ["completed"] * 6 + ["interrupted"]


async def test_a_question_of_a_continued_turn_comes_after_the_item_that_it_is_about(
    harness: Harness,
) -> None:
    async with harness.daemon(), harness.client() as client:
        answer = await client.request(
            "thread/start",
            cwd=str(harness.worktree),
            approvalPolicy="untrusted",
            sandbox="danger-full-access",
        )
        talk = Conversation(client, answer["thread"]["id"], harness.model, harness.script)
        await long_talk(talk)
        talk.script.then(overflow(), run("touch made.txt && echo made-it"), say("Made."))
        turn_id = await begin(talk, "make it")
        with anyio.fail_after(TURN_DEADLINE_S):
            question = await client.received("item/commandExecution/requestApproval")
        assert question["params"]["turnId"] == turn_id
        about = [
            m
            for m in client.messages
            if m.get("method") == "item/started" and is_of_turn(m, turn_id)
        ][-1]
        assert about["params"]["item"]["id"] == question["params"]["itemId"]
        assert client.messages.index(about) < client.messages.index(question)
        client.answer(question, {"decision": "accept"})
        turn = await ended(client, turn_id)
    assert turn["status"] == "completed"
    assert (harness.worktree / "made.txt").exists()


async def test_a_queued_prompt_goes_behind_the_repeated_turn(harness: Harness) -> None:
    async with harness.conversation() as talk:
        await long_talk(talk)
        gate = anyio.Event()
        talk.script.then(held(overflow(), gate), say("It fits."), say("The queued one."))
        after = len(talk.client.messages)
        turn_id = await begin(talk, "too much")
        with anyio.fail_after(TURN_DEADLINE_S):
            await talk.model.wait_for_request(lambda request: request.mentions("too much"))
        queued = {
            "threadId": talk.thread_id,
            "clientUserMessageId": "q-1",
            "input": [{"type": "text", "text": "queued"}],
        }
        await talk.client.request("thread/queue/add", **queued)
        gate.set()
        turn = await ended(talk.client, turn_id)
        with anyio.fail_after(TURN_DEADLINE_S):
            done = await talk.client.expect(
                lambda m: (
                    m.get("method") == "turn/completed" and m["params"]["turn"]["id"] != turn_id
                ),
                after,
            )
        snapshot = await talk.snapshot()
    assert (turn["status"], done["params"]["turn"]["status"]) == ("completed", "completed")
    assert [t["status"] for t in snapshot["turns"]] == ["completed"] * 8
    assert len(snapshot["contextTrimPoints"]) == 1
    assert harness.model.turn_requests()[-1].mentions("queued")
    assert (snapshot["queue"], snapshot["queueHold"]) == ([], None)
