"""An inline review is a turn of the thread: it ends, it is counted, and a trim can keep its part of
the context.
"""

from typing import Any

import anyio
import pytest
from trimpoint.testkit import held, say

from tests.deadlines import STEP_S
from tests.e2e.conftest import Harness
from tests.e2e.conversation import Conversation
from tests.e2e.expectation import pieces

pytestmark = [pytest.mark.codex, pytest.mark.also_restarted]


async def start_review(talk: Conversation) -> dict[str, Any]:
    target = {"type": "custom", "instructions": "look at it"}
    answer = await talk.client.request(
        "review/start", threadId=talk.thread_id, delivery="inline", target=target
    )
    return dict(answer["turn"])


async def review(talk: Conversation) -> dict[str, Any]:
    """Runs a whole review whose reviewer answers one sentence, and returns its turn."""
    talk.script.then(say("review-answer."))
    await talk.begin_act()
    with talk.no_restart(), anyio.fail_after(STEP_S):
        begun = await start_review(talk)
        await talk.client.expect(
            lambda m: (
                m.get("method") == "turn/completed" and m["params"]["turn"]["id"] == begun["id"]
            )
        )
    return begun


async def test_a_review_ends_and_leaves_the_thread_free(harness: Harness) -> None:
    async with harness.conversation() as talk:
        await talk.turn()
        begun = await review(talk)
        turns = (await talk.snapshot())["turns"]
        cleared = await talk.type("/clear")
    assert [turn["status"] for turn in turns] == ["completed", "completed"]
    assert turns[1]["id"] == begun["id"]
    assert cleared["status"] == "completed", cleared


async def test_a_clear_keeps_of_a_review_what_the_model_saw_of_it(harness: Harness) -> None:
    async with harness.conversation() as talk:
        await talk.turn()
        await review(talk)
        before = pieces((await talk.turn()).input)
        assert (await talk.type("/clear 2"))["status"] == "completed"
        after = pieces((await talk.turn()).input)
    dropped = [("user", "prompt-1."), ("assistant", "answer-1.")]
    assert before[:2] == dropped
    assert [one.text for one in before].count("review-answer.") == 1
    assert after[: len(before) - 2] == before[2:]


async def test_a_review_that_is_interrupted_leaves_the_thread_free(harness: Harness) -> None:
    go_on = anyio.Event()
    async with harness.conversation() as talk:
        await talk.turn()
        talk.script.then(held(say("late."), go_on))
        await talk.begin_act()
        with talk.no_restart(), anyio.fail_after(STEP_S):
            asked, after = len(harness.model.requests), len(talk.client.messages)
            begun = await start_review(talk)
            started = await talk.client.received("turn/started", after, threadId=talk.thread_id)
            await harness.model.wait_for_request(
                lambda request: len(harness.model.requests) > asked
            )
            await talk.client.request(
                "turn/interrupt", threadId=talk.thread_id, turnId=started["params"]["turn"]["id"]
            )
            await talk.client.expect(
                lambda m: (
                    m.get("method") == "turn/completed" and m["params"]["turn"]["id"] == begun["id"]
                )
            )
        go_on.set()
        turns = (await talk.snapshot())["turns"]
        cleared = await talk.type("/clear")
    assert [turn["status"] for turn in turns] == ["completed", "interrupted"]
    assert cleared["status"] == "completed", cleared
