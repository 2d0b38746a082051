"""Codex keeps a reverted thread in several files; its raw items are read from all files that
count.
"""

import os
import signal

import anyio
import pytest
from trimpoint.testkit import hang, run

from tests.deadlines import STEP_S
from tests.e2e.conftest import Harness
from tests.e2e.conversation import Conversation
from tests.e2e.expectation import Piece, numbered, pieces

pytestmark = pytest.mark.codex


async def _reverted(talk: Conversation) -> None:
    """Runs three turns, and reverts the third."""
    for _ in range(3):
        await talk.turn(tool=True)
    third = (await talk.snapshot())["turns"][2]["id"]
    await talk.client.request("thread/revert", threadId=talk.thread_id, beforeTurnId=third)


async def test_tool_calls_of_kept_turns_outlive_a_revert_and_a_restart(harness: Harness) -> None:
    harness.restart_before_each_act()
    async with harness.conversation() as talk:
        await _reverted(talk)
        for _ in range(2):
            await talk.turn(tool=True)
        assert (await talk.type("/clear 3"))["status"] == "completed"
        after = await talk.turn()
    assert pieces(after.input) == [*numbered(2, 4, 5), Piece("user", "prompt-6.")]


async def test_a_fork_of_a_reverted_thread_keeps_the_tool_calls_of_its_turns(
    harness: Harness,
) -> None:
    async with harness.conversation() as talk:
        await _reverted(talk)
        await talk.turn(tool=True)
        fork = await talk.fork()
        await fork.turn(tool=True)
        again = await fork.fork()
        await again.turn(tool=True)
        assert (await again.type("/clear 4"))["status"] == "completed"
        after = await again.turn()
    assert pieces(after.input) == [*numbered(2, 4, 5, 6), Piece("user", "prompt-7.")]


async def test_a_fork_of_a_reverted_fork_keeps_them_when_its_origin_is_archived(
    harness: Harness,
) -> None:
    async with harness.conversation() as talk:
        await _reverted(talk)
        fork = await talk.fork()
        await _reverted(fork)
        again = await fork.fork()
        await again.turn(tool=True)
        for origin in (talk, fork):
            await talk.client.request("thread/archive", threadId=origin.thread_id)
        assert (await again.type("/clear 2"))["status"] == "completed"
        after = await again.turn()
    assert pieces(after.input) == [*numbered(2, 7), Piece("user", "prompt-8.")]


async def test_turns_of_a_killed_codex_are_read_back_after_a_revert(
    harness: Harness,
) -> None:
    async with harness.conversation() as talk:
        await _reverted(talk)
        talk.script.then(run("echo killed"), hang())
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(talk.prompt, "killed-prompt.")
            with anyio.fail_after(STEP_S):
                await harness.model.wait_for_request(
                    lambda request: pieces(request.input)[-1] == Piece("output", "killed")
                )
            os.kill(harness.child_pid(), signal.SIGKILL)
        with anyio.fail_after(STEP_S):
            await talk.until_codex_answers()
        await talk.turn()
        assert (await talk.type("/clear 2"))["status"] == "completed"
        after = await talk.turn()
    killed = [
        Piece("user", "killed-prompt."),
        Piece("call", "echo killed"),
        Piece("output", "killed"),
    ]
    said = [Piece("user", "prompt-4."), Piece("assistant", "answer-4."), Piece("user", "prompt-5.")]
    assert [piece for piece in pieces(after.input) if piece.kind != "aborted"] == [*killed, *said]


async def test_a_compaction_after_a_revert_and_a_restart_keeps_tool_calls(harness: Harness) -> None:
    harness.restart_before_each_act()
    async with harness.conversation() as talk:
        await _reverted(talk)
        await talk.turn(tool=True)
        assert (await talk.type("/compact --keep 1"))["status"] == "completed"
        after = await talk.turn()
    assert pieces(after.input)[1:] == [*numbered(4), Piece("user", "prompt-5.")]
