"""`thread/revert` on a thread with several generations (docs/spec/clients.md)."""

import pytest

from tests.e2e.conftest import Harness
from tests.e2e.conversation import seen_turns

pytestmark = pytest.mark.codex


@pytest.mark.also_restarted
async def test_a_turn_of_the_present_session_is_taken_back_by_codex(harness: Harness) -> None:
    async with harness.conversation() as talk:
        for _ in range(3):
            await talk.turn(tool=True)
        second = (await talk.snapshot())["turns"][1]["id"]
        answer = await talk.client.request(
            "thread/revert", threadId=talk.thread_id, beforeTurnId=second
        )
        snapshot = await talk.snapshot()
        request = await talk.turn()
        assert (await talk.type("/clear 1"))["status"] == "completed"
        after = await talk.turn()
    assert answer["thread"]["id"] == talk.thread_id
    assert [turn["status"] for turn in snapshot["turns"]] == ["completed"]
    assert seen_turns(request, 3) == [1]
    assert seen_turns(after, 4) == [4]


async def test_a_turn_that_was_carried_over_a_clear_is_taken_back_too(harness: Harness) -> None:
    async with harness.conversation() as talk:
        for _ in range(4):
            await talk.turn(tool=True)
        await talk.type("/clear 3")
        await talk.turn()
        turns = (await talk.snapshot())["turns"]
        answer = await talk.client.request(
            "thread/revert", threadId=talk.thread_id, beforeTurnId=turns[2]["id"]
        )
        await talk.client.received("thread/reverted", threadId=talk.thread_id)
        request = await talk.turn()
        texts = [
            entry["text"]
            for entry in await talk.timeline(expand="all")
            if entry["kind"] == "message"
        ]
    assert [turn["items"][0]["content"][0]["text"] for turn in answer["thread"]["turns"]] == [
        "prompt-1.",
        "prompt-2.",
    ]
    assert seen_turns(request, 5) == [2]
    assert texts == ["prompt-1.", "answer-1.", "prompt-2.", "answer-2.", "prompt-6.", "answer-6."]


@pytest.mark.also_restarted
async def test_a_pruned_turn_brings_back_the_context_of_its_time_item_for_item(
    harness: Harness,
) -> None:
    async with harness.conversation() as talk:
        requests = [await talk.turn(tool=True) for _ in range(4)]
        turns = (await talk.snapshot())["turns"]
        await talk.type("/clear 1")
        await talk.turn()
        await talk.type("/compact")
        await talk.turn()
        await talk.client.request(
            "thread/revert", threadId=talk.thread_id, beforeTurnId=turns[2]["id"]
        )
        snapshot = await talk.snapshot()
        after = await talk.turn()
    assert snapshot["contextTrimPoints"] == []
    assert seen_turns(after, 6) == [1, 2]
    before = requests[2].input
    first, end = (
        next(i for i, item in enumerate(before) if text in str(item))
        for text in ("prompt-1.", "prompt-3.")
    )
    start = next(i for i, item in enumerate(after.input) if "prompt-1." in str(item))
    assert after.input[start : start + end - first] == before[first:end]
