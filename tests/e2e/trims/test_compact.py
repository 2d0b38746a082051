"""`/compact` with both kinds of compaction, and its failures (docs/spec/sessions.md,
docs/spec/traps.md).
"""

import anyio
import pytest
from trimpoint.testkit import hang, http_error, say

from tests.e2e.conftest import Harness
from tests.e2e.conversation import seen_turns
from tests.e2e.expectation import Piece, numbered, pieces

pytestmark = pytest.mark.codex


async def test_compact_leaves_the_summary_and_nothing_else(harness: Harness) -> None:
    async with harness.conversation() as talk:
        for _ in range(4):
            await talk.turn(tool=True)
        outcome = await talk.type("/compact focus on the files")
        assert outcome["status"] == "completed", outcome
        assert outcome["summary"] == "The gist of it all."
        after = await talk.turn()
        snapshot = await talk.snapshot()
    compaction = next(
        request for request in harness.model.requests if request.kind == "inline_compaction"
    )
    assert compaction.mentions("Additional summarization guidance: focus on the files")
    assert seen_turns(after, 4) == []
    assert after.mentions(
        "<conversation-summary messages=8>The gist of it all.</conversation-summary>"
    )
    assert not after.mentions("Additional summarization guidance")
    [point] = snapshot["contextTrimPoints"]
    assert (point["prunedMessageCount"], point["summary"], point["trigger"]) == (
        8,
        "The gist of it all.",
        "compact",
    )


@pytest.mark.also_restarted
async def test_compact_keep_has_the_summary_then_the_kept_turns(harness: Harness) -> None:
    async with harness.conversation() as talk:
        for _ in range(5):
            await talk.turn(tool=True)
        assert (await talk.type("/compact --keep 2"))["status"] == "completed"
        after = await talk.turn()
    assert seen_turns(after, 5) == [4, 5]
    texts = " ".join(after.texts())
    assert texts.index("conversation-summary") < texts.index("prompt-4.")


async def test_a_sealed_summary_is_read_by_a_sample_of_the_compacted_thread(
    sealed_harness: Harness,
) -> None:
    async with sealed_harness.conversation() as talk:
        for _ in range(3):
            await talk.turn()
        talk.script.then(say("A readable gist."))
        outcome = await talk.type("/compact")
        assert outcome["status"] == "completed", outcome
        after = await talk.turn()
    assert outcome["summary"] == "A readable gist."
    assert seen_turns(after, 3) == []
    assert after.mentions("A readable gist.")
    assert not after.mentions("SEALED")


@pytest.mark.also_restarted
async def test_a_sealed_summary_that_cannot_be_read_stays_in_the_provider(
    sealed_harness: Harness,
) -> None:
    async with sealed_harness.conversation() as talk:
        for _ in range(3):
            await talk.turn()
        talk.script.then(say(""))
        outcome = await talk.type("/compact --keep 1")
        assert outcome["status"] == "completed", outcome
        assert outcome["summaryUnavailable"]
        assert "SEALED" not in str(outcome)
        after = await talk.turn()
        assert after.mentions("SEALED")
        assert after.mentions("prompt-3.")
        assert after.mentions("answer-3.")
        cleared = await talk.type("/clear")
        assert cleared["status"] == "completed", cleared
        last = await talk.turn()
    assert not last.mentions("SEALED")


@pytest.mark.also_restarted
async def test_behind_a_sealed_summary_kept_turns_stand_once(
    sealed_harness: Harness,
) -> None:
    async with sealed_harness.conversation() as talk:
        for _ in range(3):
            await talk.turn(tool=True)
        await talk.begin_act()
        await talk.client.request("thread/name/set", threadId=talk.thread_id, name="The plan")
        await talk.client.request(
            "thread/goal/set", threadId=talk.thread_id, objective="Be done", status="paused"
        )
        talk.script.then(say(""))
        outcome = await talk.type("/compact --keep 2")
        assert (outcome["status"], outcome["summaryUnavailable"]) == ("completed", True), outcome
        after = await talk.turn(tool=True)
        goal = await talk.client.request("thread/goal/get", threadId=talk.thread_id)
        assert (await talk.type("/clear 2"))["status"] == "completed"
        cleared = await talk.turn()
    assert pieces(after.input) == [
        *(Piece("user", "prompt-1."), Piece("sealed", "SEALED"), *numbered(2, 3)),
        *numbered(4)[:-1],
    ]
    assert goal["goal"]["objective"] == "Be done"
    assert pieces(cleared.input) == [*numbered(3, 4), Piece("user", "prompt-5.")]


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (http_error(500, "boom"), "high demand"),
        (say(""), "empty summary"),
        (say("  \n"), "empty summary"),
    ],
    ids=["failed", "empty", "blank"],
)
async def test_a_compaction_that_fails_changes_nothing(
    harness: Harness, reply: object, words: str
) -> None:
    async with harness.conversation() as talk:
        for _ in range(3):
            await talk.turn()
        before = await talk.snapshot()
        talk.script.at_compaction(reply)
        outcome = await talk.type("/compact")
        assert outcome["status"] == "failed"
        assert outcome["reason"] == "compaction_failed"
        assert words in outcome["message"]
        after = await talk.snapshot()
        assert after["contextTrimPoints"] == []
        assert after["session"] == before["session"]
        request = await talk.turn()
    assert seen_turns(request, 3) == [1, 2, 3]


async def test_a_hung_compaction_times_out_and_changes_nothing(harness: Harness) -> None:
    harness.config = harness.config.__class__(
        codex=harness.config.codex,
        compaction=harness.config.compaction.__class__(min_messages=2, deadline_s=0.5),
    )
    async with harness.conversation() as talk:
        for _ in range(2):
            await talk.turn()
        talk.script.at_compaction(hang())
        outcome = await talk.type("/compact")
        assert (outcome["status"], outcome["reason"]) == ("failed", "compaction_failed")
        request = await talk.turn()
    assert seen_turns(request, 2) == [1, 2]


async def test_a_short_conversation_is_not_compacted_unless_forced(harness: Harness) -> None:
    harness.config = harness.config.__class__(codex=harness.config.codex)
    async with harness.conversation() as talk:
        await talk.turn()
        skipped = await talk.type("/compact")
        assert (skipped["status"], skipped["reason"]) == ("skipped", "not_enough_messages")
        forced = await talk.type("/compact --force")
        assert forced["status"] == "completed", forced


async def test_a_turn_sent_during_a_compaction_waits_and_is_not_lost(harness: Harness) -> None:
    async with harness.conversation() as talk:
        for _ in range(3):
            await talk.turn()
        release = anyio.Event()
        from trimpoint.testkit import held

        talk.script.at_compaction(held(say("Held gist."), release))
        outcomes = []
        async with anyio.create_task_group() as tasks:

            async def compact() -> None:
                outcomes.append(await talk.type("/compact"))

            tasks.start_soon(compact)
            await harness.model.wait_for_request(
                lambda request: request.kind == "inline_compaction"
            )
            second = await talk.type("/compact")
            assert (second["status"], second["reason"]) == ("skipped", "already_in_progress")
            assert second["blocker"]["kind"] == "operation"

            async def turn() -> None:
                await talk.turn()

            tasks.start_soon(turn)
            await talk.client.request("sidecar/status")
            release.set()
        after = harness.model.turn_requests()[-1]
    assert outcomes[0]["status"] == "completed"
    assert after.mentions("prompt-4.")
    assert after.mentions("Held gist.")
    assert seen_turns(after, 3) == []
