"""`/handoff` with the real Codex: the model writes a brief on a hidden fork, the person decides about
it, and a new thread begins with it (docs/spec/context.md).
"""

import anyio
import pytest
from trimpoint.testkit import Reply, hang, http_error, say

from tests.deadlines import STEP_S
from tests.e2e.conftest import Harness
from tests.e2e.conversation import Conversation
from tests.e2e.expectation import pieces
from tests.e2e.trims.stretches import next_input, of_turns

pytestmark = pytest.mark.codex
BRIEF = "The parser is done; the tests are open."


async def turns(talk: Conversation, count: int) -> None:
    for _ in range(count):
        await talk.turn(tool=True)


async def threads(talk: Conversation) -> set[str]:
    """Returns the ids of the threads that there are, archived ones included."""
    found = [
        await talk.client.request("thread/list", archived=archived) for archived in (False, True)
    ]
    return {one["id"] for page in found for one in page["data"]}


async def begun(harness: Harness, brief: str) -> list[str]:
    """Waits until the model is sent the brief as a prompt, and returns the texts it was sent."""
    with anyio.fail_after(STEP_S):
        await harness.model.wait_for_request(
            lambda one: one.kind == "turn" and pieces(one.input)[-1].text == brief
        )
    [asked] = [one for one in harness.model.turn_requests() if pieces(one.input)[-1].text == brief]
    return [one.text for one in pieces(asked.input)]


@pytest.mark.also_restarted
async def test_a_new_thread_begins_with_the_brief_and_both_know_of_each_other(
    harness: Harness,
) -> None:
    async with harness.conversation() as talk:
        await turns(talk, 2)
        before = await talk.snapshot()
        talk.script.then(say(BRIEF))
        drafted = await talk.type("/handoff write the tests")
        assert drafted["status"] == "completed", drafted
        assert drafted["draft"]["text"] == BRIEF
        asked = harness.model.turn_requests()[-1]
        assert asked.mentions("Its goal is this: write the tests")
        assert asked.mentions("prompt-1.")
        assert await threads(talk) == {talk.thread_id}
        talk.script.then(say("I begin."))
        outcome = await talk.type(f"{drafted['draft']['accept']} Read a.py first.")
        assert (outcome["status"], outcome["undo"]) == ("completed", None), outcome
        new_id = outcome["newThreadId"]
        assert await begun(harness, "Read a.py first.") == ["Read a.py first."]
        after = await talk.snapshot()
        assert (after["archived"], after["session"]) == (False, before["session"])
        [handed] = after["handoffs"]
        assert (handed["threadId"], handed["goal"]) == (new_id, "write the tests")
        new = (await talk.client.request("orchestration/snapshot", threadId=new_id))["thread"]
        assert (new["parentThreadId"], new["cwd"]) == (talk.thread_id, after["cwd"])
        said = (await talk.type("/timeline"))["said"]
        assert f"handed off to the thread {new_id[-8:]}: write the tests" in said
        assert await next_input(talk) == of_turns(1, 2, called=2)


async def test_the_brief_is_sent_unread_where_the_person_wants_that(harness: Harness) -> None:
    async with harness.conversation() as talk:
        await turns(talk, 2)
        await talk.complete("/clear 1")
        talk.script.then(say(BRIEF), say("I begin."))
        outcome = await talk.type("/handoff --yes")
        assert (outcome["status"], outcome["command"]) == ("completed", "handoff"), outcome
        assert await begun(harness, BRIEF) == [BRIEF]
        assert await next_input(talk) == of_turns(2, called=2)


@pytest.mark.parametrize(
    ("reply", "words"),
    [(http_error(400, "boom"), "boom"), (say(""), "empty brief")],
    ids=["failed", "empty"],
)
async def test_a_brief_that_fails_or_is_empty_leaves_nothing(
    harness: Harness, reply: Reply, words: str
) -> None:
    async with harness.conversation() as talk:
        await turns(talk, 2)
        talk.script.then(reply)
        outcome = await talk.type("/handoff --yes")
        assert (outcome["status"], outcome["reason"]) == ("failed", "compaction_failed"), outcome
        assert words in outcome["message"]
        assert await threads(talk) == {talk.thread_id}
        assert "no draft" in (await talk.type("/accept"))["message"]
        assert await next_input(talk) == of_turns(1, 2, called=2)


async def test_a_brief_is_cancelled_and_leaves_nothing(harness: Harness) -> None:
    async with harness.conversation() as talk:
        await turns(talk, 2)
        talk.script.then(hang())
        outcome = await talk.cancel("/handoff")
        assert outcome["message"].startswith("The brief was cancelled")
        assert (outcome["status"], outcome["reason"]) == ("cancelled", "cancelled")
        assert await threads(talk) == {talk.thread_id}
        assert (await talk.turn()).mentions("prompt-1.")


async def test_nothing_is_handed_off_of_an_empty_thread_and_no_command_as_a_brief(
    harness: Harness,
) -> None:
    async with harness.conversation() as talk:
        empty = await talk.type("/handoff")
        assert (empty["status"], empty["reason"]) == ("skipped", "not_enough_messages")
        await turns(talk, 1)
        talk.script.then(say(BRIEF))
        await talk.complete("/handoff")
        refused = await talk.type("/accept /clear")
        assert (refused["status"], refused["reason"]) == ("failed", "usage")
        assert await threads(talk) == {talk.thread_id}
