"""Automatic masks with the real Codex: old output leaves the next input, and comes back with
`/undo` (docs/spec/context.md).
"""

import msgspec
import pytest
from trimpoint.config.sections import ContextSection, DiscardSection
from trimpoint.testkit import run, say

from tests.e2e.conftest import Harness
from tests.e2e.conversation import Conversation
from tests.e2e.gauge import CRITICAL, spending, until_compacted
from tests.e2e.trims.masking import counted, masked, sent

pytestmark = pytest.mark.codex

# About the most tokens of an output that Codex gives the model.
LONG = "for i in $(seq 3000); do echo line-$i-of-{}; done"


WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight")


@pytest.fixture
def small_harness(harness: Harness) -> Harness:
    section = DiscardSection(floor_tokens=300, target_tokens=1_500)
    harness.config = msgspec.structs.replace(harness.config, discard=section)
    return harness


async def fill(talk: Conversation) -> None:
    for word in WORDS:
        talk.script.then(run(LONG.format(word)), say(f"answer-{word}."))
        await talk.prompt(f"prompt-{word}.")


async def test_when_the_context_fills_up_old_output_leaves_it_and_undo_brings_it_back(
    small_harness: Harness,
) -> None:
    configured = ContextSection(auto="mask")
    small_harness.config = msgspec.structs.replace(small_harness.config, context=configured)
    async with small_harness.conversation() as talk:
        await fill(talk)
        before = await sent(talk, "ninth.")
        since = len(talk.client.messages)
        talk.script.then(say("full", usage=spending(CRITICAL)))
        await talk.prompt("full.")
        ended = await until_compacted(talk, since)
        after = await sent(talk, "tenth.")
        await talk.complete("/undo")
        back = await sent(talk, "eleventh.")
    said = [m["params"]["message"] for m in talk.notifications if m["method"] == "warning"]
    assert ended["message"].startswith("Masked automatically, as the context filled up: ")
    assert f"{ended['message']} /undo brings it back." in said
    old = masked(before, *WORDS[:-1])
    assert old != before
    assert counted(after)[: len(before)] == old
    assert back[: len(before)] == before


async def test_a_thread_has_a_mode_of_its_own_which_holds_at_once_and_is_taken_back(
    small_harness: Harness,
) -> None:
    async with small_harness.conversation() as talk:
        await fill(talk)
        before = await sent(talk, "ninth.")
        talk.script.then(say("full", usage=spending(CRITICAL)))
        await talk.prompt("full.")
        asked = await talk.type("/auto mask --dry-run")
        assert "Next: 7 outputs of about" in asked["said"]
        assert asked["dryRun"]
        since = len(talk.client.messages)
        chosen = await talk.type("/auto mask")
        assert (chosen["status"], chosen["undo"]) == ("completed", "/auto default")
        assert asked["said"] == chosen["said"]
        ended = await until_compacted(talk, since)
        assert "the output of 7 entries" in ended["message"]
        after = await sent(talk, "tenth.")
        status = await talk.client.request("context/status", threadId=talk.thread_id)
        assert (status["auto"]["mode"], status["auto"]["isChosen"]) == ("mask", True)
        await talk.complete("/undo")
        await talk.complete("/auto default")
        back = await sent(talk, "eleventh.")
        shown = await talk.type("/auto")
        refused = await talk.type("/auto always")
    assert counted(after)[: len(before)] == masked(before, *WORDS[:-1])
    assert back[: len(before)] == before
    assert shown["said"].startswith("Automatic: warn, as configured")
    assert refused["status"] == "failed"
