"""Automatic masks with the real Codex: old output leaves the next input, and comes back with
`/undo` (docs/spec/context.md).
"""

import msgspec
import pytest
from trimpoint.config.sections import ContextSection, DiscardSection
from trimpoint.testkit import run, say

from tests.e2e.conftest import Harness
from tests.e2e.gauge import CRITICAL, spending, until_compacted
from tests.e2e.trims.masking import counted, masked, sent

pytestmark = pytest.mark.codex

# About the most tokens of an output that Codex gives the model.
LONG = "for i in $(seq 3000); do echo line-$i-of-{}; done"


async def test_when_the_context_fills_up_old_output_leaves_it_and_undo_brings_it_back(
    harness: Harness,
) -> None:
    harness.config = msgspec.structs.replace(
        harness.config,
        context=ContextSection(auto="mask"),
        discard=DiscardSection(floor_tokens=300, target_tokens=1_500),
    )
    words = ("one", "two", "three", "four", "five", "six", "seven", "eight")
    async with harness.conversation() as talk:
        for word in words:
            talk.script.then(run(LONG.format(word)), say(f"answer-{word}."))
            await talk.prompt(f"prompt-{word}.")
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
    old = masked(before, *words[:-1])
    assert old != before
    assert counted(after)[: len(before)] == old
    assert back[: len(before)] == before
