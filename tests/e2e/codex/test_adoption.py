"""Conversations that Codex had before trimpoint, and forks, are recorded with their whole history
(docs/spec/clients.md).
"""

import pytest
from trimpoint.testkit import run, say

from tests.e2e.conftest import Harness
from tests.e2e.conversation import Conversation, seen_turns
from tests.testkit.codex_over_stdio import codex_over_stdio

pytestmark = [pytest.mark.codex, pytest.mark.also_restarted]


async def _talk_straight_to_codex(harness: Harness, turns: int) -> str:
    async with codex_over_stdio(harness.overrides, harness.codex_home) as codex:
        thread_id = await codex.start_thread(harness.worktree)
        for number in range(1, turns + 1):
            harness.script.then(run(f"echo tool-output-{number}"), say(f"answer-{number}."))
            await codex.turn(thread_id, f"prompt-{number}.")
    return str(thread_id)


async def test_a_thread_from_before_is_adopted_and_cleared_item_for_item(harness: Harness) -> None:
    thread_id = await _talk_straight_to_codex(harness, 3)
    async with harness.daemon(), harness.client() as client:
        resumed = await client.request("thread/resume", threadId=thread_id)
        talk = Conversation(client, thread_id, harness.model, harness.script)
        talk.turns = 3
        full = await talk.turn()
        texts = [entry["text"] for entry in await talk.timeline() if entry["kind"] == "message"]
        assert (await talk.type("/clear 2"))["status"] == "completed"
        after = await talk.turn()
    assert [turn["items"][0]["content"][0]["text"] for turn in resumed["thread"]["turns"]] == [
        "prompt-1.",
        "prompt-2.",
        "prompt-3.",
    ]
    assert texts[:2] == ["prompt-1.", "answer-1."]
    assert seen_turns(after, 4) == [3, 4]
    first, start = _place(full, "prompt-3."), _place(after, "prompt-3.")
    assert after.input[start : start + len(full.input) - first] == full.input[first:]


async def test_a_fork_starts_with_its_origins_history_and_is_cleared_on_its_own(
    harness: Harness,
) -> None:
    async with harness.conversation() as talk:
        for _ in range(3):
            await talk.turn(tool=True)
        forked = await talk.client.request(
            "thread/fork", threadId=talk.thread_id, sandbox="danger-full-access"
        )
        fork = Conversation(talk.client, forked["thread"]["id"], talk.model, talk.script)
        fork.turns = 3
        full = await fork.turn()
        assert seen_turns(full, 4) == [1, 2, 3, 4]
        assert (await fork.type("/clear 2"))["status"] == "completed"
        after = await fork.turn()
        original = await talk.turn()
    assert seen_turns(after, 4) == [3, 4]
    assert after.mentions("tool-output-3")
    assert not after.mentions("tool-output-2")
    assert seen_turns(original, 4)[:3] == [1, 2, 3]


def _place(request: object, text: str) -> int:
    return next(index for index, item in enumerate(request.input) if text in str(item))  # type: ignore[attr-defined]


async def test_a_fork_of_a_trimmed_thread_has_its_whole_past_and_only_its_context(
    harness: Harness,
) -> None:
    async with harness.conversation() as talk:
        for _ in range(3):
            await talk.turn(tool=True)
        await talk.type("/clear 1")
        await talk.turn()
        await talk.type("/compact --keep 1")
        await talk.turn()
        forked = await talk.client.request(
            "thread/fork", threadId=talk.thread_id, sandbox="danger-full-access"
        )
        fork = Conversation(talk.client, forked["thread"]["id"], talk.model, talk.script)
        fork.turns = 5
        request = await fork.turn()
        read = await talk.client.request("thread/read", threadId=fork.thread_id, includeTurns=True)
        timeline = await fork.timeline()
        assert (await fork.type("/clear 2"))["status"] == "completed"
        after = await fork.turn()
    prompts = [turn["items"][0]["content"][0]["text"] for turn in read["thread"]["turns"]]
    assert prompts == [f"prompt-{number}." for number in range(1, 7)]
    assert [
        turn["items"][0]["content"][0]["text"] for turn in forked["thread"]["turns"]
    ] == prompts[:5]
    assert seen_turns(request, 5) == [4, 5]
    assert request.mentions("The gist of it all.")
    assert [entry["kind"] for entry in timeline][:3] == [
        "contextTrimPointDivider",
        "contextSummaryBanner",
        "contextTrimPointDivider",
    ]
    assert seen_turns(after, 6) == [5, 6]
    assert not after.mentions("The gist of it all.")


async def test_a_fork_of_a_fork_of_a_trimmed_thread_has_the_whole_past_too(
    harness: Harness,
) -> None:
    async with harness.conversation() as talk:
        for _ in range(3):
            await talk.turn(tool=True)
        await talk.type("/compact --keep 1")
        fork = talk
        for _ in range(2):
            forked = await talk.client.request(
                "thread/fork", threadId=fork.thread_id, sandbox="danger-full-access"
            )
            fork = Conversation(talk.client, forked["thread"]["id"], talk.model, talk.script)
        fork.turns = 3
        counted = (await fork.snapshot())["activeMessageCount"]
        request = await fork.turn()
        timeline = await fork.timeline(expand="all")
        assert (await fork.type("/clear 1"))["status"] == "completed"
        after = await fork.turn()
    prompts = [entry["text"] for entry in timeline if entry.get("role") == "user"]
    assert prompts == [f"prompt-{number}." for number in range(1, 5)]
    assert counted == 3  # the summary, a prompt and its answer
    assert seen_turns(request, 4) == [3, 4]
    assert seen_turns(after, 5) == [4, 5]


async def test_a_thread_that_was_read_from_a_snapshot_can_be_forked(harness: Harness) -> None:
    harness.restart_before_each_act()
    async with harness.conversation() as talk:
        for _ in range(4):
            await talk.turn(tool=True)
        await talk.begin_act()
        forked = await talk.client.request(
            "thread/fork", threadId=talk.thread_id, sandbox="danger-full-access"
        )
        fork = Conversation(talk.client, forked["thread"]["id"], talk.model, talk.script)
        fork.turns = 4
        assert seen_turns(await fork.turn(), 5) == [1, 2, 3, 4, 5]
