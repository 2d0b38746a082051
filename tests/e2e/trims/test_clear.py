"""`/clear [N]` in a real conversation; the model's next input proves it (docs/spec/traps.md)."""

import os
import signal
from dataclasses import replace

import anyio
import anyio.lowlevel
import pytest
from trimpoint.testkit import Usage, reasoning, run, say

from tests.deadlines import STEP_S
from tests.e2e.conftest import Harness
from tests.e2e.conversation import Conversation, seen_turns
from tests.e2e.expectation import UNANSWERED, Piece, pieces

pytestmark = [pytest.mark.codex, pytest.mark.also_restarted]


async def test_clear_3_leaves_exactly_the_last_three_turns_item_for_item(harness: Harness) -> None:
    async with harness.conversation() as talk:
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


async def test_clear_leaves_nothing(harness: Harness) -> None:
    async with harness.conversation() as talk:
        for _ in range(3):
            await talk.turn(tool=True)
        assert (await talk.type("/clear"))["status"] == "completed"
        after = await talk.turn()
    assert seen_turns(after, 3) == []


async def test_a_summary_that_codex_made_by_itself_in_a_kept_turn_does_not_tell_what_was_cleared(
    harness: Harness,
) -> None:
    harness.overrides.append("model_auto_compact_token_limit=40000")
    async with harness.conversation() as talk:
        await talk.turn()
        harness.script.at_compaction(
            reasoning("hm", encrypted_content="SEALED") + say("What prompt-1 was about.")
        )
        full = replace(say("Half way.") + run("echo two"), usage=Usage(input_tokens=50_000))
        talk.script.then(run("echo one"), full, say("Done."))
        await talk.prompt("work")
        assert [request.kind for request in harness.model.requests].count("inline_compaction") == 1
        listed = await talk.client.request("context/messages/list", threadId=talk.thread_id)
        assert (await talk.type("/clear 1"))["status"] == "completed"
        after = await talk.turn()
    said = [
        Piece("user", "work"),
        Piece("call", "echo one"),
        Piece("output", "one"),
        Piece("assistant", "Half way."),
    ]
    more = [
        Piece("call", "echo two"),
        Piece("output", "two"),
        Piece("assistant", "Done."),
        Piece("user", "prompt-2."),
    ]
    assert pieces(after.input) == [*said, *more]
    assert not any("prompt-1 was" in row["preview"] for row in listed["messages"])


async def test_reasoning_without_a_seal_and_a_call_without_a_result_are_kept(
    harness: Harness,
) -> None:
    async with harness.conversation() as talk:
        await talk.turn()
        talk.script.then(reasoning("hm") + run("echo one"), reasoning() + say("Done."))
        await talk.prompt("think")
        before = await talk.turn()
        await _killed_in_a_command(talk, harness)
        unanswered = await talk.turn()
        assert (await talk.type("/clear 4"))["status"] == "completed"
        after = await talk.turn()
    kept = pieces(unanswered.input)[2:]
    assert kept.count(Piece("reasoning")) == pieces(before.input).count(Piece("reasoning")) == 2
    assert UNANSWERED in kept
    assert pieces(after.input) == [
        *kept,
        Piece("assistant", "answer-3."),
        Piece("user", "prompt-4."),
    ]
    start = next(
        at for at, item in enumerate(unanswered.input) if "'think'" in str(item.get("content"))
    )
    assert unanswered.input[start:] == after.input[-len(kept) - 2 : -2]


async def _killed_in_a_command(talk: Conversation, harness: Harness) -> None:
    """Runs a turn in which Codex is killed while a command runs that it has already reported."""
    talk.script.then(run("touch begun; sleep 60"))
    with anyio.fail_after(STEP_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(talk.prompt, "run")
            while not (harness.worktree / "begun").exists():
                await anyio.lowlevel.checkpoint()
            os.kill(harness.child_pid(), signal.SIGKILL)
        await talk.until_codex_answers()
