"""`/clear [N]` on a real conversation; the proof is what the model is shown next (spec §10.1)."""

import pytest

from tests.e2e.conftest import House
from tests.e2e.conversation import seen_turns

pytestmark = pytest.mark.codex


async def test_clear_3_leaves_exactly_the_last_three_turns_item_for_item(house: House) -> None:
    async with house.conversation() as talk:
        requests = [await talk.turn(tool=number % 2 == 0) for number in range(1, 13)]
        outcome = await talk.type("/clear 3")
        assert outcome["status"] == "completed", outcome
        after = await talk.turn()
    assert seen_turns(after, 12) == [10, 11, 12]
    before = requests[-1].input
    first_kept = next(index for index, item in enumerate(before) if "prompt-10." in str(item))
    kept = [*before[first_kept:]]
    start = next(index for index, item in enumerate(after.input) if "prompt-10." in str(item))
    assert after.input[start : start + len(kept)] == kept
    assert len(after.input) == start + len(kept) + 2  # the last answer and the new prompt


async def test_clear_leaves_nothing(house: House) -> None:
    async with house.conversation() as talk:
        for _ in range(3):
            await talk.turn(tool=True)
        assert (await talk.type("/clear"))["status"] == "completed"
        after = await talk.turn()
    assert seen_turns(after, 3) == []
