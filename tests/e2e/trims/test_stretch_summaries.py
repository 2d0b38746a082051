"""`/compact 4..12` with the real Codex: a summary stands in the place of exactly these turns, and
what is around it is sent word for word (docs/spec/context.md).
"""

import msgspec
import pytest
from trimpoint.testkit import ModelRequest, Reply, hang, http_error, say

from tests.e2e.conftest import Harness
from tests.e2e.conversation import Conversation
from tests.e2e.expectation import Piece
from tests.e2e.trims.stretches import next_input, of_turns

pytestmark = pytest.mark.codex


def gist(messages: int, text: str = "The gist of it all.") -> Piece:
    shown = f"<conversation-summary messages={messages}>{text}</conversation-summary>"
    return Piece("summary", shown)


async def turns(talk: Conversation, count: int) -> None:
    for _ in range(count):
        await talk.turn(tool=True)


def compactions(harness: Harness) -> list[ModelRequest]:
    return [one for one in harness.model.requests if one.kind != "turn"]


@pytest.mark.also_restarted
async def test_the_summary_stands_in_the_place_of_these_turns_and_undo_brings_them_back(
    harness: Harness,
) -> None:
    async with harness.conversation() as talk:
        await turns(talk, 5)
        planned = await talk.type("/compact 2..3 --dry-run")
        assert planned["said"].startswith("Would summarize turns 2 to 3, ")
        outcome = await talk.type("/compact 2..3 mind the names")
        assert (outcome["status"], outcome["undo"]) == ("completed", "/undo"), outcome
        assert outcome["summary"] == "The gist of it all."
        [asked] = compactions(harness)
        assert asked.mentions("Additional summarization guidance: mind the names")
        assert [asked.mentions(f"prompt-{one}.") for one in range(1, 6)] == [
            False, True, True, False, False,
        ]  # fmt: skip
        around = [*of_turns(1, called=5), gist(4), *of_turns(4, 5, called=5)]
        assert await next_input(talk) == around
        await talk.complete("/undo")
        assert await next_input(talk) == of_turns(1, 2, 3, 4, 5, 6, called=5)
        await talk.complete("/compact ..2")
        assert await next_input(talk) == [gist(4), *of_turns(3, 4, 5, 6, 7, called=5)]
        await talk.complete("/compact 6..")
        both = [gist(4), *of_turns(3, 4, 5, called=5), gist(6)]
        assert await next_input(talk) == both
        await talk.complete("/revert 7 --context")
        assert await next_input(talk) == [*of_turns(1, 2, 3, 4, 5, 6, 7, called=5)]


async def test_a_clear_that_cuts_through_the_stretch_keeps_the_summary(harness: Harness) -> None:
    async with harness.conversation() as talk:
        await turns(talk, 6)
        await talk.complete("/pin 4")
        await talk.complete("/compact 3..5")
        pinned = of_turns(4, called=6)
        assert await next_input(talk) == [
            *of_turns(1, 2, called=6), gist(4), *pinned, *of_turns(6, called=6),
        ]  # fmt: skip
        await talk.complete("/clear 3")
        assert await next_input(talk) == [
            *pinned, gist(4), *of_turns(6, 7, called=6),
        ]  # fmt: skip
        await talk.complete("/undo")
        other = await talk.fork()
        shown = [*of_turns(1, 2, called=6), gist(4), *pinned, *of_turns(6, 7, 8, called=6)]
        assert (await next_input(other))[: len(shown)] == shown
        await talk.complete("/compact --keep 1")
        last = of_turns(8, called=6)
        assert await next_input(talk) == [gist(11), *pinned, *last]


@pytest.mark.parametrize(
    ("reply", "words"),
    [(http_error(500, "boom"), "high demand"), (say(""), "empty summary")],
    ids=["failed", "empty"],
)
async def test_a_summary_that_fails_or_is_empty_changes_nothing(
    harness: Harness, reply: Reply, words: str
) -> None:
    async with harness.conversation() as talk:
        await turns(talk, 4)
        before = await talk.snapshot()
        talk.script.at_compaction(reply)
        outcome = await talk.type("/compact 2..3")
        assert (outcome["status"], outcome["reason"]) == ("failed", "compaction_failed")
        assert words in outcome["message"]
        after = await talk.snapshot()
        assert (after["contextTrimPoints"], after["session"]) == ([], before["session"])
        assert await next_input(talk) == of_turns(1, 2, 3, 4, called=4)


async def test_a_summary_that_hangs_is_given_up_or_cancelled_and_changes_nothing(
    harness: Harness,
) -> None:
    section = harness.config.compaction.__class__(min_messages=2, deadline_s=0.5)
    harness.config = msgspec.structs.replace(harness.config, compaction=section)
    async with harness.conversation() as talk:
        await turns(talk, 3)
        talk.script.at_compaction(hang())
        outcome = await talk.type("/compact 2..2")
        assert (outcome["status"], outcome["reason"]) == ("failed", "compaction_failed")
        assert await next_input(talk) == of_turns(1, 2, 3, called=3)


async def test_a_client_cancels_it_and_nothing_changes(harness: Harness) -> None:
    async with harness.conversation() as talk:
        await turns(talk, 3)
        talk.script.at_compaction(hang())
        outcome = await talk.cancel("/compact 1..2")
        assert (outcome["status"], outcome["reason"]) == ("cancelled", "cancelled")
        assert await next_input(talk) == of_turns(1, 2, 3, called=3)


async def test_another_model_writes_it_and_the_thread_keeps_its_own(harness: Harness) -> None:
    async with harness.conversation() as talk:
        await turns(talk, 3)
        await talk.complete("/compact 2..2 --model gpt-5-small")
        after = await talk.turn()
    [compaction] = compactions(harness)
    assert (compaction.body["model"], after.body["model"]) == ("gpt-5-small", "gpt-5")


async def test_a_sealed_summary_is_read_or_nothing_changes(sealed_harness: Harness) -> None:
    async with sealed_harness.conversation() as talk:
        await turns(talk, 4)
        talk.script.then(say(""))
        refused = await talk.type("/compact 2..3")
        assert refused["status"] == "failed", refused
        assert "only Codex can read the summary" in refused["message"]
        assert await next_input(talk) == of_turns(1, 2, 3, 4, called=4)
        talk.script.then(say("A readable gist."))
        await talk.complete("/compact 2..3")
        assert await next_input(talk) == [
            *of_turns(1, called=4), gist(4, "A readable gist."), *of_turns(4, 5, called=4),
        ]  # fmt: skip


async def test_a_stretch_that_is_none_or_overlaps_a_summary_changes_nothing(
    harness: Harness,
) -> None:
    async with harness.conversation() as talk:
        await turns(talk, 5)
        await talk.complete("/compact 2..3")
        said = {
            typed: (await talk.type(typed))["message"]
            for typed in (
                "/compact 3..4", "/clear 1..2", "/compact 9..12", "/compact 4..3", "/compact 4..x",
                "/compact 4..5 --keep 2",
            )
        }  # fmt: skip
        assert len(compactions(harness)) == 1
        before = await next_input(talk)
    overlaps = "a summary stands in the place of turns 2 to 3"
    assert overlaps in said["/compact 3..4"]
    assert overlaps in said["/clear 1..2"]
    assert "There is no turn 12: the thread has 5 turns." in said["/compact 9..12"]
    assert "4..3 ends before it begins." in said["/compact 4..3"]
    assert "/compact takes turns such as 4..12, not “4..x”" in said["/compact 4..x"]
    assert "which turns to summarize, or how many to keep" in said["/compact 4..5 --keep 2"]
    assert before == [*of_turns(1, called=5), gist(4), *of_turns(4, 5, called=5)]


async def test_the_xray_knows_the_summary_and_a_restart_keeps_it(harness: Harness) -> None:
    async with harness.daemon(), harness.client() as client:
        talk = await Conversation.begin(client, harness.worktree, harness.model, harness.script)
        await turns(talk, 4)
        await talk.complete("/compact 2..3")
        shown = await client.request("context/inspect", threadId=talk.thread_id)
    async with harness.daemon(), harness.client() as client:
        talk.client = client
        await client.request("thread/resume", threadId=talk.thread_id)
        after = await next_input(talk)
        again = await client.request("context/inspect", threadId=talk.thread_id)
    assert [one["class"] for one in shown["items"]].count("summary") == 1
    assert [one["class"] for one in again["items"]].count("summary") == 1
    assert after == [*of_turns(1, called=4), gist(4), *of_turns(4, called=4)]
