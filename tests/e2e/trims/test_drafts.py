"""`/compact --edit`, `/accept` and `/summary edit` with the real Codex: the model is sent what a person
has accepted or written (docs/spec/context.md).
"""

import msgspec
import pytest
from trimpoint.testkit import ModelRequest, Reply, hang, http_error, say

from tests.e2e.conftest import Harness
from tests.e2e.conversation import Conversation
from tests.e2e.expectation import Piece
from tests.e2e.trims.stretches import next_input, of_turns

pytestmark = pytest.mark.codex


def gist(messages: int, text: str) -> Piece:
    shown = f"<conversation-summary messages={messages}>{text}</conversation-summary>"
    return Piece("summary", shown)


async def turns(talk: Conversation, count: int) -> None:
    for _ in range(count):
        await talk.turn(tool=True)


def drafts(harness: Harness) -> list[ModelRequest]:
    return [one for one in harness.model.requests if one.kind != "turn"]


async def codex_threads(harness: Harness, talk: Conversation) -> set[str]:
    """Returns the ids of the threads that Codex lists, archived ones included."""
    found = [
        await talk.client.request("thread/list", archived=archived) for archived in (False, True)
    ]
    return {one["id"] for page in found for one in page["data"]}


@pytest.mark.also_restarted
async def test_a_draft_changes_nothing_before_it_is_accepted_and_undo_takes_it_back(
    harness: Harness,
) -> None:
    async with harness.conversation() as talk:
        await turns(talk, 3)
        before = await talk.snapshot()
        outcome = await talk.type("/compact --edit --keep 1 mind the names")
        assert outcome["status"] == "completed", outcome
        assert outcome["draft"]["text"] == "The gist of it all."
        assert "The gist of it all." in outcome["message"]
        assert outcome.get("trimPointId") is None
        [asked] = drafts(harness)
        assert asked.mentions("Additional summarization guidance: mind the names")
        after = await talk.snapshot()
        assert (after["contextTrimPoints"], after["session"]) == ([], before["session"])
        assert await next_input(talk) == of_turns(1, 2, 3, called=3)
        accepted = await talk.type(f"{outcome['draft']['accept']} --- my own words\n\nof it")
        assert (accepted["status"], accepted["undo"]) == ("completed", "/undo"), accepted
        assert accepted["summary"] == "--- my own words\n\nof it"
        kept = of_turns(3, 4, called=3)
        assert await next_input(talk) == [gist(4, "--- my own words\n\nof it"), *kept]
        await talk.complete("/undo")
        assert await next_input(talk) == of_turns(1, 2, 3, 4, 5, called=3)
        refused = await talk.type("/accept")
        assert (refused["status"], refused["reason"]) == ("failed", "usage")


async def test_a_draft_is_made_anew_and_taken_as_it_is(harness: Harness) -> None:
    async with harness.conversation() as talk:
        await turns(talk, 2)
        first = await talk.type("/compact --edit --force")
        harness.script.summary = "Another gist."
        second = await talk.type("/compact --edit --force other things")
        assert second["draft"]["accept"] != first["draft"]["accept"]
        assert second["draft"]["anew"] == "/compact --force --edit"
        late = await talk.type(f"{first['draft']['accept']} words")
        assert "Another draft was made since then" in late["message"]
        await talk.complete("/accept")
        assert await next_input(talk) == [gist(4, "Another gist.")]


async def test_a_stretch_is_drafted_and_its_summary_stands_in_its_place(harness: Harness) -> None:
    async with harness.conversation() as talk:
        await turns(talk, 4)
        outcome = await talk.type("/compact 2..3 --edit")
        assert outcome["draft"]["text"] == "The gist of it all."
        assert await next_input(talk) == of_turns(1, 2, 3, 4, called=4)
        await talk.complete("/accept in my words")
        around = [*of_turns(1, called=4), gist(4, "in my words"), *of_turns(4, 5, called=4)]
        assert await next_input(talk) == around


@pytest.mark.parametrize(
    ("reply", "words"),
    [(http_error(500, "boom"), "high demand"), (say(""), "empty summary")],
    ids=["failed", "empty"],
)
@pytest.mark.parametrize("typed", ["/compact --edit", "/compact 1..2 --edit"])
async def test_a_draft_that_fails_or_is_empty_leaves_nothing(
    harness: Harness, typed: str, reply: Reply, words: str
) -> None:
    async with harness.conversation() as talk:
        await turns(talk, 3)
        listed = await codex_threads(harness, talk)
        talk.script.at_compaction(reply)
        outcome = await talk.type(typed)
        assert (outcome["status"], outcome["reason"]) == ("failed", "compaction_failed")
        assert words in outcome["message"]
        assert await codex_threads(harness, talk) == listed
        assert "no draft" in (await talk.type("/accept"))["message"]
        assert await next_input(talk) == of_turns(1, 2, 3, called=3)


async def test_a_draft_is_cancelled_and_leaves_nothing(harness: Harness) -> None:
    async with harness.conversation() as talk:
        await turns(talk, 3)
        listed = await codex_threads(harness, talk)
        talk.script.at_compaction(hang())
        outcome = await talk.cancel("/compact --edit")
        assert outcome["message"].startswith("The draft was cancelled")
        assert (outcome["status"], outcome["reason"]) == ("cancelled", "cancelled")
        assert await codex_threads(harness, talk) == listed
        assert await next_input(talk) == of_turns(1, 2, 3, called=3)


async def test_a_draft_that_only_codex_can_read_is_refused(sealed_harness: Harness) -> None:
    section = sealed_harness.config.compaction.__class__(min_messages=2)
    sealed_harness.config = msgspec.structs.replace(sealed_harness.config, compaction=section)
    async with sealed_harness.conversation() as talk:
        await turns(talk, 3)
        talk.script.then(say(""))
        refused = await talk.type("/compact --edit")
        assert refused["status"] == "failed", refused
        assert "only Codex can read the summary" in refused["message"]
        assert await next_input(talk) == of_turns(1, 2, 3, called=3)


async def test_clients_see_no_turn_while_a_summary_is_drafted(harness: Harness) -> None:
    async with harness.conversation() as talk:
        await turns(talk, 2)
        seen = len(talk.notifications)
        await talk.type("/compact --edit --force")
        methods = {one["method"] for one in talk.notifications[seen:]}
        assert not methods & {"turn/started", "turn/completed", "item/completed"}, methods


@pytest.mark.also_restarted
async def test_a_summary_is_edited_and_undo_brings_the_former_one_back(harness: Harness) -> None:
    async with harness.conversation() as talk:
        await turns(talk, 3)
        nothing = await talk.type("/summary edit mine")
        assert (nothing["status"], nothing["reason"]) == ("skipped", "nothing_to_trim")
        await talk.complete("/compact --keep 1")
        shown = await talk.type("/summary")
        assert shown["said"] == "It stands for 4 messages:\n\nThe gist of it all."
        given = await talk.type("/summary edit")
        assert given["draft"] == {
            "text": "The gist of it all.", "accept": "/summary edit", "anew": None,
        }  # fmt: skip
        refused = await talk.type("/summary mine")
        assert refused["reason"] == "usage"
        edited = await talk.type("/summary edit edit nothing,\n--- keep all")
        assert (edited["status"], edited["undo"]) == ("completed", "/undo"), edited
        assert edited["summary"] == "edit nothing,\n--- keep all"
        mine = gist(4, "edit nothing,\n--- keep all")
        assert await next_input(talk) == [mine, *of_turns(3, called=3)]
        fork = await talk.fork()
        assert (await next_input(fork))[0] == mine
        await talk.complete("/undo")
        await talk.complete("/undo --redo")
        assert (await next_input(talk))[0] == mine
        await talk.complete("/undo")
        theirs = gist(4, "The gist of it all.")
        assert await next_input(talk) == [theirs, *of_turns(3, 4, 5, called=3)]


async def test_a_summary_that_only_codex_can_read_is_not_edited(sealed_harness: Harness) -> None:
    async with sealed_harness.conversation() as talk:
        await turns(talk, 3)
        talk.script.then(say(""))
        await talk.complete("/compact --force")
        refused = await talk.type("/summary edit mine")
        assert (refused["status"], refused["reason"]) == ("failed", "not_supported")
