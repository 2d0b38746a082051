"""A turn that fits into no smaller context fails as it does in Codex."""

import anyio
import anyio.to_thread
import msgspec
import pytest
from trimpoint.cli.connection.client import RemoteError
from trimpoint.config.sections import ContextSection
from trimpoint.testkit import (
    Reply,
    hang,
    http_error,
    overflow,
    run,
    say,
)

from tests.e2e.conftest import Harness
from tests.e2e.context.overflowing import (
    CLEAR,
    LONG_SIXTH,
    OUT_OF_ROOM,
    SUMMARY,
    TURNS,
    Held,
    heard,
    is_as_it_was,
    long_talk,
    long_talk_with_long_end,
    methods,
    statuses,
)
from tests.e2e.conversation import TURN_DEADLINE_S, Conversation
from tests.e2e.expectation import Piece, pieces

pytestmark = pytest.mark.codex


async def test_a_turn_that_does_not_fit_into_the_smaller_context_either_has_failed_once(
    harness: Harness,
) -> None:
    async with harness.conversation() as talk:
        await long_talk(talk)
        talk.script.then(overflow(), overflow())
        after = len(talk.client.messages)
        turn = await talk.prompt("too much")
        said = heard(talk.client, talk.thread_id, after)
        await is_as_it_was(talk, turn, said)
        assert [
            m["params"]["message"]
            for m in said
            if m["method"] == "warning" and CLEAR in m["params"]["message"]
        ]
        # No model is needed to go on.
        assert (await talk.type("/clear 1"))["status"] == "completed"
        last = await talk.turn()
    assert len(harness.model.requests) == TURNS + 4
    assert pieces(last.input)[0] == Piece("user", "too much")


async def test_a_second_overflow_after_the_retry_began_ends_the_turn(
    harness: Harness,
) -> None:
    async with harness.conversation() as talk:
        await long_talk(talk)
        talk.script.then(overflow(), run("echo one"), overflow())
        after = len(talk.client.messages)
        turn = await talk.prompt("too much")
        said = heard(talk.client, talk.thread_id, after)
        snapshot = await talk.snapshot()
        assert (await talk.prompt("next"))["status"] == "completed"
    assert (turn["status"], turn["error"]["message"]) == ("failed", OUT_OF_ROOM)
    assert methods(said).count("turn/completed") == methods(said).count("error") == 1
    assert CLEAR in turn["error"]["additionalDetails"]
    assert snapshot["turns"][-1]["status"] == "failed"
    assert [point["trigger"] for point in snapshot["contextTrimPoints"]] == ["overflow"]


@pytest.mark.parametrize(
    "reply",
    [http_error(500, "boom"), say(""), say("word " * 500)],
    ids=["fails", "empty", "longer than what it stands for"],
)
async def test_without_a_summary_of_any_use_the_failure_stands(
    harness: Harness, reply: Reply
) -> None:
    async with harness.conversation() as talk:
        await long_talk(talk)
        talk.script.then(overflow()).at_compaction(reply)
        after = len(talk.client.messages)
        turn = await talk.prompt("too much")
        await is_as_it_was(talk, turn, heard(talk.client, talk.thread_id, after))
        talk.script.then(say("Next."))
        assert (await talk.prompt("next"))["status"] == "completed"


async def test_a_summary_that_never_comes_is_not_waited_for_for_ever(harness: Harness) -> None:
    harness.config = msgspec.structs.replace(
        harness.config,
        compaction=msgspec.structs.replace(harness.config.compaction, deadline_s=0.5),
    )
    async with harness.conversation() as talk:
        await long_talk(talk)
        talk.script.then(overflow()).at_compaction(hang("Well"))
        after = len(talk.client.messages)
        turn = await talk.prompt("too much")
        await is_as_it_was(talk, turn, heard(talk.client, talk.thread_id, after))


async def test_a_summarizer_that_overflows_once_is_codexs_affair(harness: Harness) -> None:
    async with harness.conversation() as talk:
        await long_talk(talk)
        talk.script.then(overflow(), say("It fits.")).at_compaction(overflow())
        turn = await talk.prompt("too much")
        last = await talk.turn()
    # It drops the oldest items until the rest fits.
    assert turn["status"] == "completed"
    assert pieces(last.input)[0] == SUMMARY


async def test_a_short_conversation_just_fails(harness: Harness) -> None:
    async with harness.conversation() as talk:
        await long_talk(talk, 4)
        talk.script.then(overflow())
        after = len(talk.client.messages)
        turn = await talk.prompt("too much")
        await is_as_it_was(talk, turn, heard(talk.client, talk.thread_id, after))
    assert len(harness.model.requests) == 5


async def test_overflow_recovery_can_be_switched_off(harness: Harness) -> None:
    harness.config = msgspec.structs.replace(
        harness.config, context=ContextSection(overflow_recovery=False)
    )
    async with harness.conversation() as talk:
        await long_talk(talk)
        talk.script.then(overflow())
        after = len(talk.client.messages)
        turn = await talk.prompt("too much")
        said = heard(talk.client, talk.thread_id, after)
        snapshot = await talk.snapshot()
    assert (turn["status"], snapshot["operation"]) == ("failed", None)
    assert CLEAR in turn["error"]["additionalDetails"]
    assert "commands/progress" not in methods(said)


async def test_another_failure_is_reported_unchanged(harness: Harness) -> None:
    async with harness.conversation() as talk:
        await long_talk(talk)
        talk.script.then(http_error(500, "boom"))
        after = len(talk.client.messages)
        turn = await talk.prompt("too much")
        said = heard(talk.client, talk.thread_id, after)
    assert turn["status"] == "failed"
    assert (
        turn["error"]["additionalDetails"] is None
        or CLEAR not in turn["error"]["additionalDetails"]
    )
    assert statuses(said)[-1] == "systemError"
    assert methods(said)[-1] == "turn/completed"


async def test_a_restart_knows_the_turn_by_its_one_id(harness: Harness) -> None:
    async with harness.conversation() as talk:
        await long_talk(talk)
        talk.script.then(run("echo one"), overflow(), say("It fits."))
        turn = await talk.prompt("too much")
        thread_id = talk.thread_id
    async with harness.daemon(), harness.client() as client:
        talk = Conversation(client, thread_id, harness.model, harness.script)
        read = await client.request("thread/read", threadId=thread_id, includeTurns=True)
        last = await talk.turn()
        fork = await client.request("thread/fork", threadId=thread_id, lastTurnId=turn["id"])
        forked = Conversation(client, fork["thread"]["id"], harness.model, harness.script)
        in_fork = await forked.turn()
        timeline = await forked.timeline()
        reverted = await client.request(
            "thread/revert", threadId=thread_id, beforeTurnId=turn["id"]
        )
        after = await talk.turn()
    assert [t["id"] for t in read["thread"]["turns"]][-1] == turn["id"]
    assert pieces(last.input)[-2:] == [Piece("assistant", "It fits."), Piece("user", "prompt-1.")]
    assert pieces(in_fork.input)[:-1] == pieces(last.input)[:-1]
    assert turn["id"] in {t["id"] for t in fork["thread"]["turns"]}
    assert [e["turnId"] for e in timeline if e.get("text") in ("too much", "It fits.")] == [
        turn["id"]
    ] * 2
    assert turn["id"] not in {t["id"] for t in reverted["thread"]["turns"]}
    assert not after.mentions("too much")
    assert not after.mentions("echo one")


async def test_a_clear_keeps_the_work_of_a_retried_turn(harness: Harness) -> None:
    async with harness.conversation() as talk:
        await long_talk_with_long_end(talk)
        talk.script.then(run("echo one"), overflow(), say("It fits."))
        await talk.prompt("too much")
        assert (await talk.type("/clear 1"))["status"] == "completed"
        last = await talk.turn()
    work = [Piece("call", "echo one"), Piece("output", "one")]
    assert pieces(last.input) == [
        *work,
        Piece("user", "too much"),
        Piece("assistant", "It fits."),
        Piece("user", "prompt-6."),
    ]


@pytest.mark.parametrize("scope", ["context", "files+context"])
async def test_the_thread_can_be_taken_back_to_it_and_before_it(
    harness: Harness, scope: str
) -> None:
    await anyio.run_process(["git", "init", "-q", str(harness.worktree)])
    async with harness.conversation() as talk:
        await long_talk_with_long_end(talk)
        before = [turn["id"] for turn in (await talk.snapshot())["turns"]][-1]
        talk.script.then(
            run("echo one > file"), overflow(), run("echo two > file"), say("It fits.")
        )
        turn = await talk.prompt("too much")
        talk.script.then(run("echo three > file"), say("Three."))
        await talk.prompt("next")
        then = talk.model.turn_requests()[-2]
        await revert(talk, turn["id"], scope)
        written = (harness.worktree / "file").read_text()
        assert written == ("two\n" if scope != "context" else "three\n")
        last = await talk.turn()
        assert pieces(last.input)[:-1] == pieces(then.input)[:-1]
        await revert(talk, before, scope)
        assert (harness.worktree / "file").exists() is (scope == "context")
        talk.script.then(say("First again."))
        await talk.prompt("again")
        shown = talk.model.turn_requests()[-1]
    assert pieces(shown.input)[:2] == [Piece("user", "prompt-1."), Piece("assistant", "answer-1.")]
    assert pieces(shown.input)[-2:] == [LONG_SIXTH[1], Piece("user", "again")]
    assert not shown.mentions("too much")


async def revert(talk: Conversation, turn_id: str, scope: str) -> None:
    command = {
        "type": "thread.checkpoint.revert",
        "threadId": talk.thread_id,
        "turnId": turn_id,
        "scope": scope,
    }
    answer = await talk.client.request(
        "orchestration/dispatch", command={**command, "commandId": f"revert-{turn_id}"}
    )
    with anyio.fail_after(TURN_DEADLINE_S):
        while True:
            operation = (await talk.snapshot())["operation"]
            if operation["id"] == answer["operationId"] and operation["phase"] in (
                "ready",
                "failed",
            ):
                break
    assert operation["phase"] == "ready", operation


async def test_an_overflowed_turn_is_not_cleared_by_an_early_command(harness: Harness) -> None:
    async with harness.conversation() as talk:
        await long_talk(talk)
        recovery = Held(talk)
        await recovery.in_retry(say("It fits."))
        command = {"type": "thread.context.trim", "commandId": "c-1", "threadId": talk.thread_id}
        with pytest.raises(RemoteError) as refused:
            await talk.client.request("orchestration/dispatch", command=command)
        recovery.event.set()
        assert (await recovery.end())["status"] == "completed"
    assert refused.value.data["reason"] == "already_in_progress"
