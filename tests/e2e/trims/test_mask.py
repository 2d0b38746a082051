"""Masks in a real conversation; the model's next input proves them (docs/spec/context.md)."""

import msgspec
import pytest
from trimpoint.config.sections import Config, DiscardSection
from trimpoint.testkit import reasoning, run, say
from trimpoint.threads.ids import new_uuid7

from tests.e2e.conftest import Harness
from tests.e2e.conversation import Conversation
from tests.e2e.trims.masking import counted, masked, sent

pytestmark = pytest.mark.codex

LINES = "for i in $(seq 200); do echo line-$i-of-{}; done"


@pytest.fixture
def small_harness(harness: Harness) -> Harness:
    """Returns the harness, configured so that a small conversation can be reduced."""
    section = DiscardSection(floor_tokens=300, target_tokens=1_500)
    config: Config = msgspec.structs.replace(harness.config, discard=section)
    harness.config = config
    return harness


async def work(talk: Conversation, word: str) -> None:
    """Runs a turn with reasoning, a long command output and an answer."""
    talk.turns += 1
    talk.script.then(
        reasoning(f"thought-{word}", encrypted_content=f"SEALED-{word}") + run(LINES.format(word)),
        say(f"answer-{word}."),
    )
    await talk.prompt(f"prompt-{word}.")


async def mask(talk: Conversation, word: str) -> None:
    listed = await talk.client.request("context/messages/list", threadId=talk.thread_id)
    [names] = [
        one["entryIds"] for one in listed["messages"] if f"line-$i-of-{word}" in one["preview"]
    ]
    command = {
        "type": "thread.context.mask",
        "commandId": new_uuid7(),
        "threadId": talk.thread_id,
        "entryIds": names,
    }
    await talk.client.request("orchestration/dispatch", command=command)


async def test_a_masked_output_is_the_only_difference_in_the_next_input_and_undo_brings_it_back(
    small_harness: Harness,
) -> None:
    async with small_harness.conversation() as talk:
        for word in ("one", "two"):
            await work(talk, word)
        before = await sent(talk, "third.")
        await mask(talk, "one")
        after = await sent(talk, "fourth.")
        assert counted(after)[: len(before)] == masked(before, "one")
        assert counted(after) != after
        await talk.type("/undo")
        back = await sent(talk, "fifth.")
    assert back[: len(before)] == before


async def test_a_mask_lasts_through_a_restart_a_fork_and_a_clear(small_harness: Harness) -> None:
    async with small_harness.daemon(), small_harness.client() as client:
        talk = await Conversation.begin(
            client, small_harness.worktree, small_harness.model, small_harness.script
        )
        for word in ("one", "two", "three"):
            await work(talk, word)
        before = await sent(talk, "fourth.")
        await mask(talk, "two")
    async with small_harness.daemon(), small_harness.client() as client:
        talk.client = client
        await client.request("thread/resume", threadId=talk.thread_id)
        after = await sent(talk, "fifth.")
        assert counted(after)[: len(before)] == masked(before, "two")
        other = await talk.fork()
        inherited = await sent(other, "in the fork.")
        assert counted(inherited)[: len(before)] == masked(before, "two")
        await talk.type("/clear 4")
        kept = await sent(talk, "sixth.")
    start = next(at for at, item in enumerate(before) if "prompt-two." in str(item))
    assert counted(kept)[: len(before) - start] == masked(before, "two")[start:]


async def test_compress_masks_before_it_discards(small_harness: Harness) -> None:
    async with small_harness.conversation() as talk:
        for word in ("one", "two", "three", "four", "five"):
            await work(talk, word)
        before = await sent(talk, "sixth.")
        preview = await talk.type("/compress 6500 --dry-run")
        ended = await talk.type("/compress 6500")
        after = await sent(talk, "seventh.")
    assert "old output, one line in its place: " in preview["said"]
    assert ended["status"] == "completed"
    assert "Masked: the output of " in ended["said"]
    changed = [old for old, new in zip(before, after, strict=False) if old != new]
    assert changed
    assert counted(after)[: len(before)] == [
        {**item, "output": "MASKED"} if item in changed else item for item in before
    ]


async def test_the_output_of_a_stretch_of_turns_is_masked_but_not_what_is_pinned(
    small_harness: Harness,
) -> None:
    async with small_harness.conversation() as talk:
        for word in ("one", "two", "three", "four"):
            await work(talk, word)
        before = await sent(talk, "fifth.")
        await talk.complete("/pin 3")
        planned = await talk.type("/mask 2.. --dry-run")
        ended = await talk.type("/mask 2..")
        after = await sent(talk, "sixth.")
        assert planned["said"].startswith("Would mask the output of 4 entries of turns 2 to 5, ")
        assert "Left as it is: “" in planned["said"]
        assert "Masked: the output of 4 entries of about " in ended["said"]
        assert ended["said"].endswith("line-$i-of-three; done” is pinned."), ended["said"]
        assert counted(after)[: len(before)] == masked(before, "two", "four")
        await talk.complete("/undo")
        assert (await sent(talk, "seventh."))[: len(before)] == before
        await talk.complete("/mask 1")
        assert counted(await sent(talk, "eighth."))[: len(before)] == masked(before, "one")
