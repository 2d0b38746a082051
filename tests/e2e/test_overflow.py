"""A turn that does not fit is tried again in a smaller context, and stays one turn for everyone
(docs/spec/context.md).
"""

import os
from typing import Any

import anyio
import anyio.to_thread
import msgspec
import pytest
from trimpoint.cli.connection.client import Client, RemoteError
from trimpoint.config import ContextSection
from trimpoint.testkit import (
    ModelRequest,
    Reply,
    call,
    hang,
    held,
    http_error,
    overflow,
    reasoning,
    run,
    say,
)

from tests.e2e.conftest import Harness
from tests.e2e.conversation import TURN_DEADLINE_S, Conversation, seen_turns
from tests.e2e.expectation import Piece, pieces

pytestmark = pytest.mark.codex

# The walker takes five turns of them; what is left is the sixth.
TURNS = 6
SUMMARY = Piece(
    "summary", "<conversation-summary messages=10>The gist of it all.</conversation-summary>"
)
SIXTH = [Piece("user", "prompt-6."), Piece("assistant", "answer-6.")]
LONG_SIXTH = [Piece("user", "prompt-6."), Piece("assistant", "word " * 300)]
OUT_OF_ROOM = "Codex ran out of room in the model's context window. Start a new thread or clear earlier history before retrying."
CLEAR = "/clear N keeps the last N turns"
Message = dict[str, Any]


async def long_talk(talk: Conversation, turns: int = TURNS) -> None:
    for _ in range(turns):
        await talk.turn()


async def long_talk_with_long_end(talk: Conversation) -> None:
    """Its sixth turn is more than a quarter of it, so that it is kept."""
    await long_talk(talk, TURNS - 1)
    talk.script.then(say(LONG_SIXTH[1].text))
    await talk.prompt(LONG_SIXTH[0].text)


def heard(client: Client, thread_id: str, after: int = 0) -> list[Message]:
    """What was said of a thread."""
    return [m for m in client.messages[after:] if m.get("params", {}).get("threadId") == thread_id]


def methods(messages: list[Message]) -> list[str]:
    return [m["method"] for m in messages]


def items(messages: list[Message], method: str) -> list[str]:
    return [m["params"]["item"]["type"] for m in messages if m["method"] == method]


def statuses(messages: list[Message]) -> list[str]:
    return [
        m["params"]["status"]["type"] for m in messages if m["method"] == "thread/status/changed"
    ]


def is_of_turn(message: Message, turn_id: str) -> bool:
    params = message.get("params", {})
    return params.get("turnId", params.get("turn", {}).get("id")) == turn_id


async def begin(talk: Conversation, text: str, **options: Any) -> str:
    """Send a prompt; the turn's id."""
    answer = await talk.client.request(
        "turn/start", threadId=talk.thread_id, input=[{"type": "text", "text": text}], **options
    )
    return str(answer["turn"]["id"])


async def ended(client: Client, turn_id: str) -> Message:
    with anyio.fail_after(TURN_DEADLINE_S):
        message = await client.expect(
            lambda m: m.get("method") == "turn/completed" and is_of_turn(m, turn_id)
        )
    return dict(message["params"]["turn"])


async def is_as_it_was(talk: Conversation, turn: Message, said: list[Message]) -> None:
    """The turn has failed as if nobody had tried to rescue it, but for what a person is told."""
    assert (turn["status"], turn["error"]["message"], turn["error"]["codexErrorInfo"]) == (
        "failed",
        OUT_OF_ROOM,
        "contextWindowExceeded",
    )
    assert CLEAR in turn["error"]["additionalDetails"]
    assert [m["params"]["error"]["message"] for m in said if m["method"] == "error"] == [
        OUT_OF_ROOM
    ]
    assert methods(said).count("turn/completed") == 1
    assert methods(said).index("error") < methods(said).index("turn/completed")
    assert statuses(said)[-1] == "systemError"
    snapshot = await talk.snapshot()
    assert (snapshot["contextTrimPoints"], snapshot["session"]["generation"]) == ([], 1)
    assert snapshot["turns"][-1]["status"] == "failed"
    assert snapshot["operation"]["phase"] in ("failed", "ready")
    listed = await talk.client.request("thread/list")
    assert [row["id"] for row in listed["data"]] == [talk.thread_id]


# --- it goes on
# -----------------------------------------------------------------------------------------------------


async def test_a_turn_that_does_not_fit_goes_on_in_a_smaller_context(harness: Harness) -> None:
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
        == "The turn goes on: 10 messages before it summarized to make room."
    )
    assert any(
        "The context window is full." in m["params"]["message"]
        for m in said
        if m["method"] == "warning"
    )


async def test_what_the_turn_had_done_stays_in_its_view_and_the_prompt_comes_last(
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


async def test_what_codex_had_compacted_by_itself_is_summarized_as_it_stands(
    harness: Harness,
) -> None:
    async with harness.conversation() as talk:
        await long_talk(talk, 3)
        talk.script.then(overflow())  # too short to be rescued
        assert (await talk.prompt("failed"))["status"] == "failed"
        talk.script.at_compaction(say("Codex's own gist."))
        await long_talk(talk, 4)
        talk.script.then(run("echo one"), overflow(), say("It fits."))
        turn = await talk.prompt("too much")
        last = await talk.turn()
    assert turn["status"] == "completed"
    compaction = [
        request for request in harness.model.requests if request.kind == "inline_compaction"
    ][-1]
    summarized = pieces(compaction.input[:-1])
    assert [piece.text for piece in summarized[:4]] == [
        "prompt-1.",
        "prompt-2.",
        "prompt-3.",
        "failed",
    ]
    assert summarized[4].text.endswith("Codex's own gist.")
    assert "answer-1." not in [piece.text for piece in summarized]
    shown = pieces(last.input)
    assert (
        shown[0].kind,
        shown.count(Piece("user", "too much")),
        shown.count(Piece("output", "one")),
    ) == ("summary", 1, 1)
    assert not last.mentions("prompt-1.")


async def test_what_codex_had_sealed_by_itself_is_summarized_too(sealed_harness: Harness) -> None:
    async with sealed_harness.conversation() as talk:
        await long_talk(talk, 3)
        talk.script.then(overflow())
        assert (await talk.prompt("failed"))["status"] == "failed"
        await long_talk(talk, 6)
        talk.script.then(overflow(), say("The readable gist."), say("It fits."))
        turn = await talk.prompt("too much")
        last = await talk.turn()
    assert turn["status"] == "completed"
    compaction = [
        request for request in sealed_harness.model.requests if request.kind == "remote_compaction"
    ][-1]
    assert compaction.mentions("SEALED")
    assert last.mentions("The readable gist.")
    assert not last.mentions("SEALED")


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


async def test_a_turn_that_codex_began_with_a_compaction_is_rescued_too(harness: Harness) -> None:
    async with harness.conversation() as talk:
        await long_talk(talk, 3)
        talk.script.then(overflow())
        assert (await talk.prompt("failed"))["status"] == "failed"
        talk.script.at_compaction(say("Codex's own gist."))
        steps = [say("Looking.") + run("echo one") for _ in range(6)]
        talk.script.then(*steps, overflow(), say("It fits."))
        turn = await talk.prompt("too much")
        last = await talk.turn()
    assert turn["status"] == "completed"
    shown = pieces(last.input)
    assert (shown[0].kind, shown.count(Piece("user", "too much"))) == ("summary", 1)
    assert shown.index(Piece("user", "too much")) == shown.index(Piece("assistant", "It fits.")) - 1


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


# --- while it is under way
# ------------------------------------------------------------------------------------------


class Held:
    """A recovery that waits for the model: to summarize, or to answer the turn that is tried
    again.
    """

    def __init__(self, talk: Conversation) -> None:
        self.talk = talk
        self.event = anyio.Event()
        self.turn_id = ""
        self.after = 0

    async def in_compaction(self, *then: Reply) -> None:
        script = self.talk.script
        script.at_compaction(held(say(script.summary), self.event)).then(overflow(), *then)
        await self._begin(lambda request: request.kind == "inline_compaction")

    async def in_retry(self, reply: Reply, *then: Reply) -> None:
        self.talk.script.then(overflow(), held(reply, self.event), *then)
        seen: list[ModelRequest] = []

        def is_second(request: ModelRequest) -> bool:
            if request.kind == "turn" and request.mentions("too much"):
                seen.append(request)
            return request.mentions("conversation-summary") and request.mentions("too much")

        await self._begin(is_second)

    async def _begin(self, until: Any) -> None:
        self.after = len(self.talk.client.messages)
        self.turn_id = await begin(self.talk, "too much")
        with anyio.fail_after(TURN_DEADLINE_S):
            await self.talk.model.wait_for_request(until)

    async def end(self) -> Message:
        return await ended(self.talk.client, self.turn_id)

    @property
    def said(self) -> list[Message]:
        return heard(self.talk.client, self.talk.thread_id, self.after)


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


async def test_a_turn_that_goes_on_can_be_steered_asked_about_and_interrupted(
    harness: Harness,
) -> None:
    async with harness.conversation() as talk:
        await long_talk(talk)
        stop = anyio.Event()
        recovery = Held(talk)
        await recovery.in_retry(run("echo one"), hang("I am", until=stop))
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


async def test_a_question_of_the_turn_that_goes_on_comes_after_what_it_is_about(
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


async def test_a_prompt_that_codex_had_queued_goes_first(harness: Harness) -> None:
    async with harness.conversation() as talk:
        await long_talk(talk)
        gate = anyio.Event()
        talk.script.then(held(overflow(), gate), say("The queued one."))
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
        said = heard(talk.client, talk.thread_id, after)
        snapshot = await talk.snapshot()
    assert (turn["status"], done["params"]["turn"]["status"]) == ("failed", "completed")
    ends = [m["method"] for m in said if m["method"] in ("turn/started", "turn/completed", "error")]
    assert ends == ["turn/started", "error", "turn/completed", "turn/started", "turn/completed"]
    assert [t["status"] for t in snapshot["turns"]] == ["completed"] * 6 + ["failed", "completed"]
    assert snapshot["contextTrimPoints"] == []


# --- it cannot go on
# ------------------------------------------------------------------------------------------------


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


async def test_what_does_not_fit_after_the_model_had_begun_to_answer_again_is_over(
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


async def test_another_failure_is_told_as_ever(harness: Harness) -> None:
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


# --- afterwards
# -----------------------------------------------------------------------------------------------------


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


async def test_what_was_kept_of_it_is_kept_by_a_clear(harness: Harness) -> None:
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
