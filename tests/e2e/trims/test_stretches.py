"""`/clear 4..12` with the real Codex: exactly these turns leave the next input, and come back with
`/undo` (docs/spec/context.md).
"""

import pytest

from tests.e2e.conftest import Harness
from tests.e2e.trims.stretches import next_input, of_turns

pytestmark = pytest.mark.codex


@pytest.mark.also_restarted
async def test_turns_in_the_middle_leave_and_come_back_with_what_is_around_them_as_it_was(
    harness: Harness,
) -> None:
    async with harness.conversation() as talk:
        for _ in range(5):
            await talk.turn(tool=True)
        planned = await talk.type("/clear 2..3 --dry-run")
        assert planned["said"].startswith("Would clear turns 2 to 3, ")
        outcome = await talk.type("/clear 2..3")
        assert (outcome["status"], outcome["undo"]) == ("completed", "/undo"), outcome
        assert await next_input(talk) == of_turns(1, 4, 5, called=5)
        await talk.complete("/undo")
        assert await next_input(talk) == of_turns(1, 2, 3, 4, 5, 6, called=5)
        await talk.complete("/clear ..2")
        assert await next_input(talk) == of_turns(3, 4, 5, 6, 7, called=5)
        await talk.complete("/clear 7..")
        assert await next_input(talk) == of_turns(3, 4, 5, 6, called=5)
        await talk.complete("/revert 4 --context")
        assert await next_input(talk) == of_turns(1, 2, 3, 4, called=5)


async def test_a_stretch_that_is_none_changes_nothing_and_says_why(harness: Harness) -> None:
    async with harness.conversation() as talk:
        for _ in range(4):
            await talk.turn()
        await talk.complete("/compact --keep 2 --force")
        said = {
            typed: (await talk.type(f"/clear {typed}"))["message"]
            for typed in ("2..3", "9..12", "4..3", "..", "4..x")
        }
        before = await next_input(talk)
    assert "turn 2 left the context earlier" in said["2..3"]
    assert "There is no turn 12: the thread has 4 turns." in said["9..12"]
    assert "4..3 ends before it begins." in said["4..3"]
    assert "or turns such as 4..12, not “..”" in said[".."]
    assert "or turns such as 4..12, not “4..x”" in said["4..x"]
    assert before[1:] == of_turns(3, 4, called=0)
