"""Items that a client injects belong to the context from then on; a revert to before them removes
them for good.
"""

import pytest

from tests.e2e.conftest import Harness
from tests.e2e.conversation import seen_turns

pytestmark = [pytest.mark.codex, pytest.mark.also_restarted]


async def test_a_revert_removes_items_injected_after_the_turn(
    harness: Harness,
) -> None:
    async with harness.conversation() as talk:
        for _ in range(2):
            await talk.turn(tool=True)
        await talk.inject("INJECTED")
        assert (await talk.turn(tool=True)).mentions("INJECTED")
        await talk.complete("/revert 2 --context")
        reverted = await talk.turn()
        await talk.complete("/clear 2")
        after = await talk.turn()
    assert not reverted.mentions("INJECTED")
    assert seen_turns(reverted, 3) == [1, 2]
    assert seen_turns(after, 4) == [2, 4]
    assert after.mentions("tool-output-2")
    assert not after.mentions("INJECTED")


async def test_a_revert_to_the_last_turn_takes_back_what_was_injected_since(
    harness: Harness,
) -> None:
    async with harness.conversation() as talk:
        for _ in range(2):
            await talk.turn()
        await talk.inject("INJECTED")
        await talk.complete("/revert 2 --context")
        reverted = await talk.turn()
    assert seen_turns(reverted, 2) == [1, 2]
    assert not reverted.mentions("INJECTED")


async def test_an_undone_revert_brings_back_what_was_injected_and_takes_what_came_since(
    harness: Harness,
) -> None:
    async with harness.conversation() as talk:
        for _ in range(2):
            await talk.turn()
        await talk.inject("INJECTED")
        await talk.turn()
        await talk.complete("/revert 2 --context")
        await talk.inject("SINCE")
        assert (await talk.turn()).mentions("SINCE")
        await talk.complete("/revert --undo")
        undone = await talk.turn()
        await talk.complete("/clear 3")
        after = await talk.turn()
    assert [undone.mentions(word) for word in ("INJECTED", "SINCE")] == [True, False]
    assert [after.mentions(word) for word in ("INJECTED", "SINCE")] == [True, False]
    assert seen_turns(after, 5) == [2, 3, 5]


async def test_a_trim_keeps_items_injected_after_a_revert(harness: Harness) -> None:
    async with harness.conversation() as talk:
        for _ in range(2):
            await talk.turn(tool=True)
        await talk.inject("INJECTED")
        await talk.complete("/revert 2 --context")
        await talk.inject("SINCE")
        await talk.complete("/clear 1")
        after = await talk.turn()
    assert [after.mentions(word) for word in ("tool-output-2", "INJECTED", "SINCE")] == [
        True,
        False,
        True,
    ]


@pytest.mark.parametrize("revert", [False, True])
async def test_undoing_a_trim_brings_back_items_injected_behind_a_kept_turn(
    harness: Harness, revert: bool
) -> None:
    async with harness.conversation() as talk:
        for _ in range(2):
            await talk.turn(tool=True)
        await talk.complete("/clear 1")
        if revert:
            await talk.turn()
            last = (await talk.snapshot())["turns"][-1]["id"]
            await talk.client.request("thread/revert", threadId=talk.thread_id, beforeTurnId=last)
        await talk.inject("INJECTED")
        await talk.complete("/clear")
        assert not (await talk.turn()).mentions("INJECTED")
        await talk.complete("/undo")
        undone = await talk.turn()
    assert undone.mentions("INJECTED")
    assert undone.mentions("tool-output-2")
