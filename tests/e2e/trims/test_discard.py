"""Discards in a real conversation; the model's next input proves them (docs/spec/context.md)."""

from typing import Any

import msgspec
import pytest
from trimpoint.cli.connection.client import RemoteError
from trimpoint.config.sections import Config, DiscardSection
from trimpoint.core.context.active_context import is_preamble
from trimpoint.testkit import ModelRequest, reasoning, run, say
from trimpoint.threads.ids import new_uuid7

from tests.e2e.conftest import Harness
from tests.e2e.conversation import Conversation

pytestmark = pytest.mark.codex

LINES = "for i in $(seq 200); do echo line-$i-of-{}; done"


@pytest.fixture
def small_harness(harness: Harness) -> Harness:
    """Returns the harness, configured so that a small conversation can be reduced."""
    harness.config = _with_floor(harness, 300, 1_500)
    return harness


def _with_floor(harness: Harness, floor_tokens: int, target_tokens: int) -> Config:
    return msgspec.structs.replace(
        harness.config,
        discard=DiscardSection(floor_tokens=floor_tokens, target_tokens=target_tokens),
    )


async def listed(talk: Conversation) -> dict[str, Any]:
    return dict(await talk.client.request("context/messages/list", threadId=talk.thread_id))


async def row(talk: Conversation, fragment: str) -> dict[str, Any]:
    [found] = [one for one in (await listed(talk))["messages"] if fragment in one["preview"]]
    return dict(found)


async def discard(talk: Conversation, *entry_ids: str) -> dict[str, Any]:
    """Dispatches a discard, waits for the new session, and returns the answer."""
    command = {
        "type": "thread.context.discard",
        "commandId": new_uuid7(),
        "threadId": talk.thread_id,
        "entryIds": entry_ids,
    }
    answer = await talk.client.request("orchestration/dispatch", command=command)
    await talk.client.request("orchestration/subscribeThread", threadId=talk.thread_id)
    return dict(answer)


def told(snapshot: dict[str, Any]) -> dict[str, Any]:
    """Returns a snapshot without its sequence numbers, which a restart changes too."""
    return {
        name: told for name, told in snapshot.items() if name not in ("sequence", "threadSequence")
    }


async def work(talk: Conversation, word: str) -> ModelRequest:
    """Runs a turn with reasoning, a long command output and an answer, and returns its last model
    request.
    """
    talk.turns += 1
    talk.script.then(
        reasoning(f"thought-{word}", encrypted_content=f"SEALED-{word}") + run(LINES.format(word)),
        say(f"answer-{word}."),
    )
    await talk.prompt(f"prompt-{word}.")
    return talk.model.turn_requests()[-1]


async def asked_next(talk: Conversation, prompt: str = "next.") -> ModelRequest:
    talk.script.then(say(f"answer to {prompt}"))
    await talk.prompt(prompt)
    return talk.model.turn_requests()[-1]


def said(request: ModelRequest) -> list[dict[str, Any]]:
    """Returns the conversation in a model request, without Codex's preamble."""
    return [item for item in request.input if not is_preamble(item)]


async def test_the_next_input_lacks_discarded_items_and_is_otherwise_identical(
    small_harness: Harness,
) -> None:
    async with small_harness.conversation() as talk:
        for word in ("one", "two", "three"):
            await work(talk, word)
        before = said(await asked_next(talk, "prompt-four."))
        call = await row(talk, "line-$i-of-two")
        prompt = await row(talk, "prompt-one.")
        assert (call["role"], call["kind"], call["protected"]) == ("tool", "command", None)
        await discard(talk, *call["entryIds"], *prompt["entryIds"])
        after = said(await asked_next(talk))
    gone = [
        item
        for item in before
        if any(word in str(item) for word in ("of-two", "SEALED-two", "prompt-one."))
    ]
    assert len(gone) == 4  # a thought, its call, the result; and a prompt
    kept = [item for item in before if item not in gone]
    assert after[: len(kept)] == kept
    assert len(after) == len(kept) + 2  # an answer and a prompt


async def test_a_discard_shows_in_the_timeline_the_counts_and_the_trim_points(
    small_harness: Harness,
) -> None:
    async with small_harness.conversation() as talk:
        await work(talk, "one")
        await work(talk, "two")
        total = (await listed(talk))["totalEstTokens"]
        call, prompt = await row(talk, "line-$i-of-one"), await row(talk, "prompt-one.")
        await discard(talk, *call["entryIds"], *prompt["entryIds"])
        await asked_next(talk)
        timeline, snapshot, left = await talk.timeline(), await talk.snapshot(), await listed(talk)
    [point] = snapshot["contextTrimPoints"]
    assert (point["trimKind"], point["trigger"], point["status"]) == (
        "discard",
        "discard",
        "applied",
    )
    assert sorted(point["discardedEntryIds"]) == sorted([*call["entryIds"], *prompt["entryIds"]])
    flagged = [entry["id"] for entry in timeline if entry.get("trimmed")]
    assert flagged == [*prompt["entryIds"], *call["entryIds"]]
    assert {entry["trimPointId"] for entry in timeline if entry.get("trimmed")} == {point["id"]}
    [at] = [at for at, entry in enumerate(timeline) if entry["kind"] == "contextTrimPointDivider"]
    assert (timeline[at]["trimKind"], timeline[at]["hiddenMessageCount"]) == (
        "discard",
        len(flagged),
    )
    assert [entry["text"] for entry in timeline[at + 1 :]] == ["next.", "answer to next."]
    assert (snapshot["messageCount"], snapshot["activeMessageCount"]) == (6, 5)
    assert snapshot["session"]["generationReason"] == "discard"
    names = {name for one in left["messages"] for name in one["entryIds"]}
    assert names.isdisjoint(flagged)
    assert left["totalEstTokens"] < total


async def test_discarded_items_stay_out_after_a_restart_and_through_clear_and_compact(
    small_harness: Harness,
) -> None:
    async with small_harness.daemon(), small_harness.client() as client:
        talk = await Conversation.begin(
            client, small_harness.worktree, small_harness.model, small_harness.script
        )
        for word in ("one", "two", "three"):
            await work(talk, word)
        await discard(talk, *(await row(talk, "line-$i-of-three"))["entryIds"])
    async with small_harness.daemon(), small_harness.client() as client:
        talk.client = client
        await client.request("thread/resume", threadId=talk.thread_id)
        request = await asked_next(talk)
        assert not request.mentions("line-7-of-three")
        assert request.mentions("line-7-of-two")
        outcome = await talk.type("/clear 2")
        assert outcome["status"] == "completed", outcome
        request = await asked_next(talk, "after clear.")
        assert [word for word in ("two", "three") if request.mentions(f"answer-{word}.")] == [
            "three"
        ]
        assert not request.mentions("line-7-of-three")
        assert (await talk.snapshot())["activeMessageCount"] == 6
        assert (await talk.type("/compact --keep 3"))["status"] in ("completed", "skipped")
        assert (await talk.type("/compact"))["status"] == "completed"
        request = await asked_next(talk, "after compact.")
        assert not request.mentions("of-three")
        assert request.mentions("The gist of it all.")


async def test_a_revert_brings_back_what_was_discarded_after_the_turn(
    small_harness: Harness,
) -> None:
    async with small_harness.conversation() as talk:
        for word in ("one", "two", "three"):
            await work(talk, word)
        before = said(talk.model.turn_requests()[-1])
        await discard(talk, *(await row(talk, "line-$i-of-one"))["entryIds"])
        await asked_next(talk)
        turns = (await talk.snapshot())["turns"]
        await talk.client.request(
            "thread/revert", threadId=talk.thread_id, beforeTurnId=turns[2]["id"]
        )
        request = await asked_next(talk, "again.")
        snapshot, timeline = await talk.snapshot(), await talk.timeline()
    end = next(at for at, item in enumerate(before) if "answer-two." in str(item)) + 1
    assert said(request)[:end] == before[:end]
    assert request.mentions("line-7-of-one")
    assert snapshot["contextTrimPoints"] == []
    assert not any(entry.get("trimmed") for entry in timeline)


async def test_a_revert_to_a_turn_after_it_leaves_it_out(small_harness: Harness) -> None:
    async with small_harness.conversation() as talk:
        await work(talk, "one")
        await work(talk, "two")
        await discard(talk, *(await row(talk, "line-$i-of-one"))["entryIds"])
        await work(talk, "three")
        await work(talk, "four")
        turns = (await talk.snapshot())["turns"]
        await talk.client.request(
            "thread/revert", threadId=talk.thread_id, beforeTurnId=turns[3]["id"]
        )
        request = await asked_next(talk)
        assert len((await talk.snapshot())["contextTrimPoints"]) == 1
    assert not request.mentions("line-7-of-one")
    assert request.mentions("line-7-of-three")
    assert not request.mentions("prompt-four.")


async def refusal(talk: Conversation, *entry_ids: str) -> dict[str, Any]:
    with pytest.raises(RemoteError) as refused:
        await discard(talk, *entry_ids)
    return {"reason": refused.value.data["reason"], "message": str(refused.value)}


def unnumbered(snapshot: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value
        for name, value in snapshot.items()
        if name not in ("sequence", "threadSequence")
    }


async def test_a_refusal_names_what_it_is_about_and_nothing_changes(small_harness: Harness) -> None:
    async with small_harness.conversation() as talk:
        await work(talk, "one")
        await work(talk, "two")
        before = await talk.snapshot()
        final, newest = await row(talk, "answer-one."), await row(talk, "prompt-two.")
        calls = [await row(talk, "line-$i-of-one"), await row(talk, "line-$i-of-two")]
        assert (final["protected"], newest["protected"]) == ("finalAnswer", "newest")
        for refused, reason in (
            (await refusal(talk, *final["entryIds"]), "entry_protected"),
            (await refusal(talk, *newest["entryIds"]), "entry_protected"),
            (await refusal(talk, "no-such-entry"), "entry_not_found"),
            (await refusal(talk, *calls[0]["entryIds"], *calls[1]["entryIds"]), "below_floor"),
        ):
            assert refused["reason"] == reason
        assert "no-such-entry" in (await refusal(talk, "no-such-entry"))["message"]
        assert unnumbered(await talk.snapshot()) == unnumbered(before)  # refusals are numbered too
        await discard(talk, *calls[0]["entryIds"])
        assert (await refusal(talk, *calls[0]["entryIds"]))["reason"] in (
            "already_discarded",
            "already_in_progress",
        )


async def test_compress_previews_and_takes_by_priority_until_the_target(
    small_harness: Harness,
) -> None:
    small_harness.config = _with_floor(small_harness, 1_000, 2_500)
    async with small_harness.conversation() as talk:
        for word in ("one", "two", "three", "four"):
            await work(talk, word)
        before = await talk.snapshot()
        preview = await talk.type("/compress 4k --dry-run")
        assert preview["status"] == "completed", preview
        assert [one["kind"] for one in preview["compression"]["classes"]] == ["command"]
        assert (
            preview["compression"]["leftEstTokens"]
            <= 4_000
            < preview["compression"]["totalEstTokens"]
        )
        assert told(await talk.snapshot()) == told(before)
        outcome = await talk.type("/compress 4k")
        assert outcome["status"] == "completed", outcome
        [point] = (await talk.snapshot())["contextTrimPoints"]
        assert point["discardedEntryIds"] == preview["compression"]["entryIds"]
        assert (outcome["trimPointId"], point["trigger"]) == (point["id"], "compress")
        request = await asked_next(talk)
        assert not request.mentions("line-7-of-one")
        assert request.mentions("line-7-of-four")
        again = await talk.type("/compress 4k")
        assert (again["status"], again["reason"]) == ("skipped", "nothing_to_trim"), again
        low = await talk.type("/compress 1000")
        assert (low["status"], "more than the target" in low["message"]) == ("completed", True), low
        assert (await talk.type("/compress 10"))["reason"] == "usage"
        assert (await talk.type("/compress lots"))["reason"] == "usage"


async def test_discarded_items_stay_out_where_raw_items_come_from_the_rollout_files(
    small_harness: Harness,
) -> None:
    async with small_harness.conversation() as talk:
        for word in ("one", "two"):
            await work(talk, word)
        before = said(talk.model.turn_requests()[-1])
        await discard(talk, *(await row(talk, "line-$i-of-one"))["entryIds"])
        await work(talk, "three")
        assert (await talk.type("/clear"))[
            "status"
        ] == "completed"  # from here on nobody has the items of these turns in memory
        await work(talk, "four")
        turns = (await talk.snapshot())["turns"]
        await talk.client.request(
            "thread/revert", threadId=talk.thread_id, beforeTurnId=turns[2]["id"]
        )
        request = await asked_next(talk)
    kept = [
        item for item in before if not any(word in str(item) for word in ("of-one", "SEALED-one"))
    ]
    assert len(before) - len(kept) == 3
    assert said(request)[: len(kept)] == kept


async def test_a_fork_leaves_out_what_its_parent_discarded_and_so_does_a_clear_of_it(
    small_harness: Harness,
) -> None:
    async with small_harness.conversation() as talk:
        for word in ("zero", "one", "two"):
            await work(talk, word)
        await discard(talk, *(await row(talk, "line-$i-of-one"))["entryIds"])
        forked = await talk.client.request("thread/fork", threadId=talk.thread_id)
        fork = Conversation(talk.client, forked["thread"]["id"], talk.model, talk.script)
        request = await asked_next(fork, "in the fork.")
        assert not request.mentions("line-7-of-one")
        flagged = [
            entry["title"]
            for entry in await fork.timeline()
            if entry.get("trimmed") and entry["kind"] == "activity"
        ]
        assert any("of-one" in title for title in flagged)
        assert (await fork.type("/clear 3"))["status"] == "completed"
        request = await asked_next(fork, "and now.")
        assert not request.mentions("line-7-of-one")
        assert request.mentions("prompt-one.")
        assert request.mentions("line-7-of-two")
        assert not request.mentions("prompt-zero.")


async def forked_after_a_discard(talk: Conversation) -> Conversation:
    """Discards outputs of the second and third turn, forks the thread, and runs a turn in the fork,
    which it returns.
    """
    for word in ("one", "two", "three"):
        await work(talk, word)
    outputs = [await row(talk, f"line-$i-of-{word}") for word in ("two", "three")]
    await discard(talk, *(entry_id for output in outputs for entry_id in output["entryIds"]))
    forked = await talk.client.request("thread/fork", threadId=talk.thread_id)
    fork = Conversation(talk.client, forked["thread"]["id"], talk.model, talk.script)
    await work(fork, "four")
    return fork


async def outputs_in_context(talk: Conversation) -> tuple[set[str], set[str], set[str]]:
    """Returns of which turns the outputs are in the context: as the timeline and the list of
    segments say, and as the model is shown next.
    """
    words, listing = ("one", "two", "three", "four"), await listed(talk)
    timeline = [entry for entry in await talk.timeline() if entry["kind"] == "activity"]
    flagged = str([entry["title"] for entry in timeline if not entry["trimmed"]])
    previews = str([one["preview"] for one in listing["messages"]])
    request = await asked_next(talk, f"next to {len(listing['messages'])}.")
    return (
        {word for word in words if f"-of-{word}" in flagged},
        {word for word in words if f"-of-{word}" in previews},
        {word for word in words if request.mentions(f"line-7-of-{word}")},
    )


async def test_what_a_fork_has_discarded_stays_out_of_its_reverts_and_of_its_forks(
    small_harness: Harness,
) -> None:
    async with small_harness.daemon(), small_harness.client() as client:
        talk = await Conversation.begin(
            client, small_harness.worktree, small_harness.model, small_harness.script
        )
        fork = await forked_after_a_discard(talk)
        turns = (await fork.snapshot())["turns"]
        second = await client.request(
            "thread/fork", threadId=fork.thread_id, lastTurnId=turns[1]["id"]
        )
        of_fork = Conversation(client, second["thread"]["id"], talk.model, talk.script)
        assert await outputs_in_context(of_fork) == ({"one"},) * 3
        await fork.complete("/revert 2 --context")
        assert await outputs_in_context(fork) == ({"one"},) * 3
        await fork.complete("/revert --undo")
        assert await outputs_in_context(fork) == ({"one", "four"},) * 3
        await fork.complete("/revert 2 --context")
    async with small_harness.daemon(), small_harness.client() as client:
        for one in (fork, of_fork):
            one.client = client
            await client.request("thread/resume", threadId=one.thread_id)
            assert await outputs_in_context(one) == ({"one"},) * 3
