"""A turn that does not fit is repeated in a smaller context, and stays a single turn for clients
(docs/spec/context.md).
"""

import os

import anyio
import anyio.to_thread
import pytest
from trimpoint.testkit import (
    call,
    http_error,
    overflow,
    reasoning,
    run,
    say,
)

from tests.e2e.conftest import Harness
from tests.e2e.context.overflowing import (
    LONG_SIXTH,
    SUMMARY,
    TURNS,
    Message,
    begin,
    ended,
    heard,
    is_of_turn,
    long_talk,
    long_talk_with_long_end,
    methods,
    statuses,
)
from tests.e2e.conversation import Conversation, seen_turns
from tests.e2e.expectation import Piece, pieces

pytestmark = pytest.mark.codex


SIXTH = [Piece("user", "prompt-6."), Piece("assistant", "answer-6.")]


def items(messages: list[Message], method: str) -> list[str]:
    return [m["params"]["item"]["type"] for m in messages if m["method"] == method]


async def test_a_turn_that_does_not_fit_continues_in_a_smaller_context(harness: Harness) -> None:
    async with harness.conversation() as talk:
        await long_talk(talk)
        talk.script.then(overflow(), say("It fits."))
        after = len(talk.client.messages)
        turn = await talk.prompt("too much")
        said = heard(talk.client, talk.thread_id, after)
        snapshot, timeline = await talk.snapshot(), await talk.timeline()
        answer = await talk.client.request(
            "thread/read", threadId=talk.thread_id, includeTurns=True
        )
        listed = await talk.client.request("thread/list")
        last = await talk.turn()
    assert turn["status"] == "completed"
    retried = harness.model.turn_requests()[-2]
    assert pieces(retried.input) == [SUMMARY, *SIXTH, Piece("user", "too much")]
    assert methods(said).count("turn/started") == methods(said).count("turn/completed") == 1
    assert (
        items(said, "item/started")
        == items(said, "item/completed")
        == ["userMessage", "contextCompaction", "agentMessage"]
    )
    assert "error" not in methods(said)
    assert set(statuses(said)) == {"active", "idle"}
    assert {m["params"]["turnId"] for m in said if "turnId" in m["params"]} == {turn["id"]}
    assert [t["status"] for t in snapshot["turns"]] == ["completed"] * 7
    assert snapshot["turns"][-1]["id"] == turn["id"]
    [point] = snapshot["contextTrimPoints"]
    assert (point["trigger"], point["summary"], point["prunedMessageCount"]) == (
        "overflow",
        "The gist of it all.",
        10,
    )
    assert [(e["kind"], e.get("text") or e.get("title") or e.get("label")) for e in timeline] == [
        ("contextSummaryBanner", None),
        ("contextTrimPointDivider", "Earlier messages"),
        ("message", "prompt-6."),
        ("message", "answer-6."),
        ("message", "too much"),
        ("activity", "The oldest part of the context was summarized to make room"),
        ("message", "It fits."),
    ]
    [shown] = [t for t in answer["thread"]["turns"] if t["id"] == turn["id"]]
    assert [item["type"] for item in shown["items"]] == [
        "userMessage",
        "contextCompaction",
        "agentMessage",
    ]
    assert [row["id"] for row in listed["data"]] == [talk.thread_id]
    assert seen_turns(last, 6) == [6]
    assert last.mentions("It fits.")


async def test_a_person_is_told_what_happens_meanwhile(harness: Harness) -> None:
    async with harness.conversation() as talk:
        await long_talk(talk)
        talk.script.then(overflow(), say("It fits."))
        after = len(talk.client.messages)
        await talk.prompt("too much")
        said = heard(talk.client, talk.thread_id, after)
    progress = [m["params"] for m in said if m["method"] == "commands/progress"]
    assert [(step["command"], step["phase"]) for step in progress] == [
        ("overflow", "compacting"),
        ("overflow", "retrying"),
        ("overflow", "ready"),
    ]
    assert (
        progress[-1]["message"]
        == "The turn continues: 10 messages before it summarized to make room."
    )
    assert any(
        "The context window is full." in m["params"]["message"]
        for m in said
        if m["method"] == "warning"
    )


async def test_a_retried_turn_sees_its_earlier_work_and_its_prompt_last(
    harness: Harness,
) -> None:
    async with harness.conversation() as talk:
        await long_talk_with_long_end(talk)
        thought = reasoning("hm", encrypted_content="SEALED-THOUGHT")
        talk.script.then(
            thought + run("echo one"), run("echo two"), overflow(), run("echo three"), say("Done.")
        )
        after = len(talk.client.messages)
        turn = await talk.prompt("work")
        said = heard(talk.client, talk.thread_id, after)
        last = await talk.turn()
        timeline = await talk.timeline()
    assert turn["status"] == "completed"
    first_run = [
        Piece("reasoning", "SEALED-THOUGHT"), Piece("call", "echo one"), Piece("output", "one"),
        Piece("call", "echo two"), Piece("output", "two"),
    ]  # fmt: skip
    retried = harness.model.turn_requests()[-3]
    expected = [SUMMARY, *LONG_SIXTH, *first_run, Piece("user", "work")]
    assert pieces(retried.input) == expected
    whole = [
        *expected,
        Piece("call", "echo three"),
        Piece("output", "three"),
        Piece("assistant", "Done."),
    ]
    assert pieces(last.input) == [*whole, Piece("user", "prompt-6.")]
    done = [
        "userMessage",
        "reasoning",
        *["commandExecution"] * 2,
        "contextCompaction",
        "commandExecution",
        "agentMessage",
    ]
    assert items(said, "item/completed") == done
    assert all(is_of_turn(m, turn["id"]) for m in said if m["method"].startswith("item/"))
    roles = [e.get("role") or e.get("activity") for e in timeline[4:-2]]
    assert roles == ["user", *done[1:-1], "assistant"]


async def test_the_oldest_work_of_a_long_turn_is_summarized_too(harness: Harness) -> None:
    async with harness.conversation() as talk:
        await long_talk(talk, 4)
        long = "word " * 300
        steps = [
            say("First.") + run("echo one"),
            say("Second.") + run(f"echo {long}"),
            overflow(),
            say("Done."),
        ]
        talk.script.then(*steps)
        turn = await talk.prompt("work")
        snapshot = await talk.snapshot()
        last = await talk.turn()
    assert turn["status"] == "completed"
    compaction = next(
        request for request in harness.model.requests if request.kind == "inline_compaction"
    )
    shown = pieces(compaction.input[:-1])
    assert shown[-4:] == [
        Piece("assistant", "First."),
        Piece("call", "echo one"),
        Piece("output", "one"),
        Piece("assistant", "Second."),
    ]
    retried = harness.model.turn_requests()[-2]
    summary = Piece(
        "summary", "<conversation-summary messages=10>The gist of it all.</conversation-summary>"
    )
    said = long.strip()
    kept = [
        summary,
        Piece("call", f"echo {long}".strip()),
        Piece("output", said),
        Piece("user", "work"),
    ]
    assert [p.kind for p in pieces(retried.input)] == [p.kind for p in kept]
    assert pieces(retried.input)[-1] == kept[-1]
    assert not last.mentions("First.")
    [point] = snapshot["contextTrimPoints"]
    assert (point["prunedMessageCount"], point["firstKeptTurnId"]) == (8, turn["id"])


async def test_a_sealed_summary_is_read_first(sealed_harness: Harness) -> None:
    async with sealed_harness.conversation() as talk:
        await long_talk(talk)
        talk.script.then(overflow(), say("The readable gist."), say("It fits."))
        turn = await talk.prompt("too much")
        last = await talk.turn()
    assert turn["status"] == "completed"
    assert last.mentions("The readable gist.")
    assert not last.mentions("SEALED")


async def test_all_clients_see_one_turn(harness: Harness) -> None:
    async with harness.conversation() as talk, harness.client("second") as second:
        await long_talk(talk)
        await second.request("thread/resume", threadId=talk.thread_id)
        talk.script.then(overflow(), run("echo one"), say("It fits."))
        after = len(second.messages), len(talk.client.messages)
        turn = await talk.prompt("too much")
        await ended(second, turn["id"])
        said = [
            heard(second, talk.thread_id, after[0]),
            heard(talk.client, talk.thread_id, after[1]),
        ]
    relevant = [
        [m["method"] for m in one if m["method"].startswith(("turn/", "item/", "error"))]
        for one in said
    ]
    assert relevant[0] == relevant[1]
    assert all(
        is_of_turn(m, turn["id"])
        for one in said
        for m in one
        if m["method"].startswith(("turn/", "item/"))
    )


async def test_the_prompt_is_sent_again_with_all_its_options(harness: Harness) -> None:
    async with harness.conversation() as talk:
        await long_talk(talk)
        talk.script.then(overflow(), say("{}"))
        schema = {"type": "object", "properties": {}, "additionalProperties": False}
        parts = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
        answer = await talk.client.request(
            "turn/start", threadId=talk.thread_id, input=parts, outputSchema=schema, effort="high"
        )
        await ended(talk.client, answer["turn"]["id"])
    first, again = harness.model.turn_requests()[-2:]
    assert again.body["text"] == first.body["text"]
    assert again.body["reasoning"] == first.body["reasoning"]
    assert again.input[-1]["content"] == first.input[-1]["content"]


async def test_overflow_recovery_works_for_turn_after_turn(harness: Harness) -> None:
    async with harness.conversation() as talk:
        await long_talk(talk)
        talk.script.then(overflow(), say("It fits."))
        first = await talk.prompt("too much")
        await long_talk(talk, 6)
        talk.script.summary = "The gist of the gist."
        talk.script.then(run("echo one"), overflow(), say("Again."))
        second = await talk.prompt("too much again")
        snapshot, last = await talk.snapshot(), await talk.turn()
    assert (first["status"], second["status"]) == ("completed", "completed")
    compaction = [
        request for request in harness.model.requests if request.kind == "inline_compaction"
    ][-1]
    assert pieces(compaction.input[:-1])[0] == SUMMARY
    assert [point["summary"] for point in snapshot["contextTrimPoints"]] == [
        "The gist of it all.",
        "The gist of the gist.",
    ]
    assert snapshot["compactionCount"] == 2
    assert last.mentions("The gist of the gist.")
    assert not last.mentions("The gist of it all.")


async def test_a_thread_that_was_resumed_is_cut_by_its_rollout(harness: Harness) -> None:
    async with harness.conversation() as talk:
        for _ in range(TURNS):
            await talk.turn(tool=True)
        thread_id = talk.thread_id
    async with harness.daemon(), harness.client() as client:
        talk = Conversation(client, thread_id, harness.model, harness.script)
        await client.request("thread/resume", threadId=thread_id)
        talk.script.then(run("echo one"), overflow(), say("It fits."))
        turn = await talk.prompt("too much")
        last = await talk.turn()
    assert turn["status"] == "completed"
    shown = pieces(last.input)
    assert (
        shown[0].kind,
        shown.count(Piece("user", "too much")),
        shown.count(Piece("output", "one")),
    ) == ("summary", 1, 1)
    assert shown.index(Piece("output", "one")) < shown.index(Piece("user", "too much"))


async def test_a_provider_that_refuses_the_request_for_its_length_is_understood(
    harness: Harness,
) -> None:
    async with harness.conversation() as talk:
        await long_talk(talk)
        error = {
            "type": "invalid_request_error",
            "code": "context_length_exceeded",
            "message": "Too long.",
        }
        talk.script.then(http_error(400, {"error": error}), say("It fits."))
        assert (await talk.prompt("too much"))["status"] == "completed"


async def test_a_background_terminal_survives_it(harness: Harness) -> None:
    async with harness.conversation() as talk:
        await long_talk(talk)
        marker = harness.worktree / "pid"
        os.mkfifo(marker)  # reading it waits for the shell to have started
        command = {"cmd": f"echo $$ > {marker}; exec tail -f /dev/null", "yield_time_ms": 250}
        talk.script.then(call("exec_command", command), overflow(), say("It fits."))
        turn_id = await begin(talk, "serve")
        pid = int(await anyio.to_thread.run_sync(marker.read_text))
        assert (await ended(talk.client, turn_id))["status"] == "completed"
        os.kill(pid, 0)  # it is alive
        listed = await talk.client.request(
            "thread/backgroundTerminals/list", threadId=talk.thread_id
        )
        assert len(listed["data"]) == 1
        process_id = listed["data"][0]["processId"]
        await talk.client.request(
            "thread/backgroundTerminals/terminate", threadId=talk.thread_id, processId=process_id
        )


async def test_raw_items_are_those_of_one_turn(harness: Harness) -> None:
    async with harness.daemon(), harness.client() as client:
        where = {
            "cwd": str(harness.worktree),
            "approvalPolicy": "never",
            "sandbox": "danger-full-access",
        }
        answer = await client.request("thread/start", **where, experimentalRawEvents=True)
        talk = Conversation(client, answer["thread"]["id"], harness.model, harness.script)
        await long_talk(talk)
        talk.script.then(run("echo one"), overflow(), say("It fits."))
        after = len(client.messages)
        turn = await talk.prompt("too much")
        said = heard(client, talk.thread_id, after)
    raw = [m["params"] for m in said if m["method"] == "rawResponseItem/completed"]
    assert {params["turnId"] for params in raw} == {turn["id"]}
    kinds = [params["item"].get("role") or params["item"]["type"] for params in raw]
    assert kinds == ["user", "function_call", "function_call_output", "assistant"]
