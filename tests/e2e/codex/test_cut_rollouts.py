"""A rollout that lacks what Codex had acknowledged, as after a loss of power, costs the model no turn:
the session is rebuilt from the journal.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.conftest import Harness
from tests.e2e.conversation import Conversation
from tests.e2e.expectation import Piece, pieces

pytestmark = pytest.mark.codex

Damage = Callable[[list[bytes]], list[bytes]]


def without_the_last_turn(lines: list[bytes]) -> list[bytes]:
    begins = [at for at, line in enumerate(lines) if b'"task_started"' in line]
    return lines[: begins[-1]]


def without_the_last_answer(lines: list[bytes]) -> list[bytes]:
    answers = [at for at, line in enumerate(lines) if b'"output_text"' in line]
    return lines[: answers[-1]]


def zeros_at_the_end(lines: list[bytes]) -> list[bytes]:
    cut = without_the_last_turn(lines)
    return [*cut, bytes(sum(map(len, lines[len(cut) :])))]


DAMAGES: dict[str, Damage] = {
    "empty": lambda _: [],
    "no turn": lambda lines: lines[:1],
    "without the last turn": without_the_last_turn,
    "without the last answer": without_the_last_answer,
    "zeros at the end": zeros_at_the_end,
    "no first line": lambda lines: [bytes(len(lines[0]) - 1) + b"\n", *lines[1:]],
}


def said(*numbers: int) -> list[Piece]:
    """Returns the items of the numbered turns, which have no tool calls."""
    kinds = (("user", "prompt"), ("assistant", "answer"))
    return [Piece(kind, f"{word}-{number}.") for number in numbers for kind, word in kinds]


def rollouts(codex_home: Path) -> set[Path]:
    return set(codex_home.glob("*sessions/**/rollout-*.jsonl"))


def damage_rollouts(codex_home: Path, damage: Damage) -> None:
    """Damages the newest rollout, which Codex has written."""
    newest = max(rollouts(codex_home))
    newest.write_bytes(b"".join(damage(newest.read_bytes().splitlines(keepends=True))))


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
async def test_the_model_knows_all_turns_when_codex_has_lost_some(
    harness: Harness, damage: Damage
) -> None:
    harness.restart_before_each_act()
    async with harness.conversation() as talk:
        for _ in range(3):
            await talk.turn()
        damage_rollouts(harness.codex_home, damage)
        await talk.begin_act()
        after = await talk.turn()
        again = await talk.turn()
    assert pieces(after.input) == [*said(1, 2, 3), Piece("user", "prompt-4.")]
    assert pieces(again.input) == [*said(1, 2, 3, 4), Piece("user", "prompt-5.")]


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
async def test_what_a_clear_has_kept_is_known_when_codex_has_lost_it(
    harness: Harness, damage: Damage
) -> None:
    harness.restart_before_each_act()
    async with harness.conversation() as talk:
        for _ in range(3):
            await talk.turn()
        await talk.complete("/clear 2")
        await talk.turn()
        damage_rollouts(harness.codex_home, damage)
        await talk.begin_act()
        after = await talk.turn()
    assert pieces(after.input) == [*said(2, 3, 4), Piece("user", "prompt-5.")]


def as_it_was(lines: list[bytes]) -> list[bytes]:
    return lines


def paused(lines: list[bytes]) -> list[bytes]:
    """The last turn was ended in between, as for a mask within it."""
    return [*lines[:-1], lines[-1].replace(b'"task_complete"', b'"turn_aborted"')]


@pytest.mark.parametrize("change", [as_it_was, paused])
async def test_a_whole_rollout_is_used_again(harness: Harness, change: Damage) -> None:
    harness.restart_before_each_act()
    async with harness.conversation() as talk:
        for _ in range(2):
            await talk.turn()
        damage_rollouts(harness.codex_home, change)
        before = rollouts(harness.codex_home)
        await talk.begin_act()
        after = await talk.turn()
    assert rollouts(harness.codex_home) == before
    assert pieces(after.input) == [*said(1, 2), Piece("user", "prompt-3.")]


def in_old_form(rollout: Path) -> str:
    """Puts a copy in the form of an old Codex beside the rollout, which knows no ids of turns, and
    returns the id of its thread.
    """
    old, new = rollout.stem[-36:], "5973b6c0-94b8-487b-a530-2aeb6098ae0e"
    lines = rollout.read_bytes().splitlines(keepends=True)
    kept = [line for line in lines if b'"response_item"' in line or b'"session_meta"' in line]
    prompts = (b'"user_message"', b'"agent_message"')
    shown = [line for line in lines if any(kind in line for kind in prompts)]
    content = b"".join(kept + shown).replace(old.encode(), new.encode())
    rollout.with_name(rollout.name.replace(old, new)).write_bytes(content)
    return new


async def test_a_thread_of_an_old_codex_keeps_its_tool_calls(harness: Harness) -> None:
    async with harness.conversation() as talk:
        await talk.turn(tool=True)
        thread_id = in_old_form(next(iter(rollouts(harness.codex_home))))
        await talk.client.request("thread/resume", threadId=thread_id)
    async with harness.daemon(), harness.client() as client:
        again = Conversation(client, thread_id, harness.model, harness.script)
        after = await again.turn()
    assert after.mentions("tool-output-1")
    assert len(rollouts(harness.codex_home)) == 2
