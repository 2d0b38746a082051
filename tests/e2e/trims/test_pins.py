"""Pins with the real Codex; the model's next input proves them (docs/spec/context.md)."""

import random
from typing import Any

import anyio
import pytest
from trimpoint.testkit import overflow, say

from tests.deadlines import SCENARIO_S
from tests.e2e.conftest import Harness
from tests.e2e.conversation import Conversation
from tests.e2e.expectation import Piece, pieces
from tests.effort import longer

pytestmark = pytest.mark.codex

NOTE = Piece("user", "<pinned-note>Python 3.8 only</pinned-note>")


async def next_input(talk: Conversation) -> list[Piece]:
    """Runs another turn, and returns the model's input before its prompt."""
    await talk.turn(tool=True)
    return pieces(talk.model.turn_requests()[-2].input)[:-1]


async def completed(talk: Conversation, text: str) -> dict[str, Any]:
    outcome = await talk.type(text)
    assert outcome["status"] == "completed", outcome
    return outcome


async def turns(talk: Conversation, count: int) -> list[list[Piece]]:
    """Runs turns, and returns the items of each as the model received them."""
    of_turns: list[list[Piece]] = []
    before = 0
    for _ in range(count):
        request = await talk.turn(tool=True)
        seen = [*pieces(request.input), Piece("assistant", f"answer-{talk.turns}.")]
        of_turns.append(seen[before:])
        before = len(seen)
    return of_turns


@pytest.mark.also_restarted
async def test_a_pinned_turn_and_a_note_survive_every_trim_word_for_word(harness: Harness) -> None:
    async with harness.conversation() as talk:
        first, second, third = await turns(talk, 3)
        pinned = await completed(talk, "/pin 1")
        assert pinned["message"].startswith("Pinned: turn 1. 1 pin of about ")
        await completed(talk, "/pin Python 3.8 only")
        assert await next_input(talk) == [NOTE, *first, *second, *third]
        cleared = await completed(talk, "/clear 1")
        assert "2 pinned kept" in cleared["message"]
        context = await next_input(talk)
        assert context[: len(first) + 1] == [*first, NOTE]
        assert [piece.text for piece in context if piece.kind == "user"] == [
            "prompt-1.",
            NOTE.text,
            "prompt-4.",
        ]
        await completed(talk, "/compact --force")
        summary, *rest = await next_input(talk)
        assert (summary.kind, rest) == ("summary", [*first, NOTE])
        await completed(talk, "/undo")
        assert (await next_input(talk))[: len(first) + 1] == [*first, NOTE]
        await completed(talk, "/unpin 2")
        assert NOTE not in await next_input(talk)
        await completed(talk, "/clear")
        assert await next_input(talk) == first
        divider = [one for one in await talk.timeline() if one["kind"].endswith("Divider")]
        assert divider[0]["pinnedCount"] == 1


@pytest.mark.parametrize("keep", [0, 1])
async def test_pins_stand_beside_a_summary_that_only_the_provider_can_read(
    sealed_harness: Harness, keep: int
) -> None:
    async with sealed_harness.conversation() as talk:
        first, _, third = await turns(talk, 3)
        await completed(talk, "/pin 1")
        talk.script.then(say(""))  # no readable summary comes of it
        await completed(talk, f"/compact --keep {keep} --force")
        context = await next_input(talk)
    kept = third if keep else []
    at = next(at for at, piece in enumerate(context) if piece.kind == "sealed")
    assert context[at + 1 :] == [*first, *kept]


@pytest.mark.also_restarted
async def test_pins_survive_a_revert(harness: Harness) -> None:
    async with harness.conversation() as talk:
        first, *_ = await turns(talk, 3)
        await completed(talk, "/clear 1")
        await talk.turn()
        await completed(talk, "/pin 1")
        await talk.turn()
        await completed(talk, "/revert 4 --context")
        assert (await next_input(talk))[: len(first)] == first
        await completed(talk, "/revert 1 --context")
        assert await next_input(talk) == first


async def test_pins_survive_an_overflow(harness: Harness) -> None:
    async with harness.conversation() as talk:
        first, *_ = await turns(talk, 6)
        await completed(talk, "/pin 1")
        await completed(talk, "/pin Python 3.8 only")
        talk.script.then(overflow(), say("It fits."))
        await talk.prompt("too much.")
        context = pieces(talk.model.turn_requests()[-1].input)
    assert context[0].kind == "summary"
    assert context[1 : len(first) + 2] == [*first, NOTE]
    assert context.count(NOTE) == 1


async def test_compress_takes_no_pinned_items(harness: Harness) -> None:
    async with harness.conversation() as talk:
        await turns(talk, 3)
        await completed(talk, "/pin 2")
        listed = await talk.client.request("context/messages/list", threadId=talk.thread_id)
        pins = await completed(talk, "/pins")
    pinned = [one["protected"] for one in listed["messages"] if one["shortId"].startswith("m2.")]
    assert set(pinned) == {"pinned"}
    assert "turn 2: prompt-2." in pins["message"]


@pytest.mark.also_restarted
@pytest.mark.parametrize("seed", range(longer()))
async def test_in_any_order_each_pin_is_there_once_and_in_order(
    harness: Harness, seed: int
) -> None:
    chance = random.Random(seed)
    with anyio.fail_after(SCENARIO_S):
        async with harness.conversation() as talk:
            known = dict(enumerate(await turns(talk, 3), 1))
            pinned: set[int] = set()
            for _ in range(8):
                number = chance.choice(sorted(known))
                text = chance.choice(
                    ["/clear", "/clear 1", "/compact --force", "/undo", f"/pin {number}"]
                )
                outcome = await talk.type(text)
                if text.startswith("/pin") and outcome["status"] == "completed":
                    pinned.add(number)
                context = await next_input(talk)
                request = talk.model.turn_requests()[-1].input
                seen = [*pieces(request), Piece("assistant", f"answer-{talk.turns}.")]
                known[talk.turns] = seen[len(context) :]
                prompts = [piece.text for piece in context if piece.kind == "user"]
                numbers = [int(prompt.removeprefix("prompt-").rstrip(".")) for prompt in prompts]
                assert numbers == sorted(set(numbers)), text
                assert pinned <= set(numbers), text
                told = [piece for piece in context if piece.kind != "summary"]
                assert told == [piece for number in numbers for piece in known[number]], text


@pytest.mark.also_restarted
async def test_new_with_pins_carries_the_pins_to_the_new_thread(harness: Harness) -> None:
    async with harness.conversation() as talk:
        first, _, third = await turns(talk, 3)
        await completed(talk, "/pin 1")
        await completed(talk, "/clear 1")
        await completed(talk, "/pin Python 3.8 only")
        await completed(talk, "/pin 3")
        planned = await completed(talk, "/new --pins --dry-run")
        done = await completed(talk, "/new --pins")
        talk.thread_id = str(done["newThreadId"])
        begun = await next_input(talk)
        pins = await completed(talk, "/pins")
        again = await completed(talk, "/new --pins")
        talk.thread_id = str(again["newThreadId"])
        begun_again = await next_input(talk)
        await completed(talk, "/clear")
        cleared = await next_input(talk)
    assert begun == [NOTE, *first, *third]
    assert begun_again == begun
    assert "begins with 3 pins" in planned["message"]
    assert "begins with 3 pins" in done["message"]
    assert planned["tokens"]["after"] == done["tokens"]["after"]
    assert "turn 1: prompt-1." in pins["message"]
    assert cleared == begun


async def test_new_begins_empty_unless_pins_are_asked_for(harness: Harness) -> None:
    async with harness.conversation() as talk:
        await turns(talk, 1)
        await completed(talk, "/pin 1")
        bare = await completed(talk, "/new")
        talk.thread_id = str(bare["newThreadId"])
        begun = await next_input(talk)
        pinless = await completed(talk, "/new --pins")
    assert begun == []
    assert "1 pin stays with the archived thread." in bare["message"]
    assert "/new --pins takes pins along." in bare["message"]
    assert "pin" not in pinless["message"]
