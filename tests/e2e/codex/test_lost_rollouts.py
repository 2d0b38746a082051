"""Raw items that only deleted rollouts had are reported as missing; those that the journal has are
carried over.
"""

from pathlib import Path

import pytest

from tests.e2e.conftest import Harness
from tests.e2e.conversation import seen_turns
from tests.e2e.expectation import Piece, numbered, pieces

pytestmark = pytest.mark.codex


def delete_rollouts(codex_home: Path) -> None:
    """Deletes all rollouts, as a person does to free disk space."""
    found = list(codex_home.glob("**/rollout-*.jsonl*"))
    assert found
    for path in found:
        path.unlink()


async def test_tool_calls_that_only_codex_had_are_missed_aloud_when_its_file_is_gone(
    harness: Harness,
) -> None:
    harness.restart_before_each_act()
    async with harness.conversation() as talk:
        for _ in range(3):
            await talk.turn(tool=True)
        delete_rollouts(harness.codex_home)
        outcome = await talk.type("/clear 2")
        after = await talk.turn()
    assert outcome["status"] == "completed"
    assert "tool calls and reasoning of 2 turns" in outcome["message"], outcome
    assert seen_turns(after, 3) == [2, 3]
    assert not after.mentions("tool-output-3")


async def test_a_clear_after_a_lost_rollout_needs_only_the_recorded_items(harness: Harness) -> None:
    async with harness.conversation() as talk:
        for _ in range(3):
            await talk.turn(tool=True)
        delete_rollouts(harness.codex_home)
        outcome = await talk.type("/clear 2")
        after = await talk.turn()
    assert "Not carried over" not in outcome["message"]
    assert pieces(after.input)[:-1] == numbered(2, 3)


async def test_tool_calls_of_a_pruned_turn_come_from_the_journal_when_codex_has_lost_them(
    harness: Harness,
) -> None:
    async with harness.conversation() as talk:
        for _ in range(3):
            await talk.turn(tool=True)
        await talk.complete("/clear")
        await talk.turn()
        delete_rollouts(harness.codex_home)
        outcome = await talk.type("/revert 2 --context")
        after = await talk.turn()
    assert outcome["status"] == "completed", outcome
    assert "Not carried over" not in outcome["message"]
    assert pieces(after.input) == [*numbered(1, 2), Piece("user", "prompt-5.")]
