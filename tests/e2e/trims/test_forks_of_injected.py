"""A fork of a thread that ends with injected items does not tell the model that a person
interrupted it, as Codex itself would.
"""

import os
import signal

import anyio
import pytest
from trimpoint.testkit import say

from tests.deadlines import STEP_S
from tests.e2e.conftest import Harness
from tests.e2e.conversation import Conversation, seen_turns
from tests.e2e.expectation import Piece, pieces
from tests.e2e.trims.test_injected_items import aborted, inject, run
from tests.e2e.trims.test_segments import numbered

pytestmark = [pytest.mark.codex, pytest.mark.also_restarted]


async def fork_of(talk: Conversation) -> Conversation:
    """Forks the thread at its end, and returns the fork."""
    await talk.begin_act()
    forked = await talk.client.request(
        "thread/fork", threadId=talk.thread_id, sandbox="danger-full-access"
    )
    assert forked["thread"]["forkedFromId"] == talk.thread_id
    fork = Conversation(talk.client, forked["thread"]["id"], talk.model, talk.script)
    fork.turns = talk.turns
    return fork


async def test_a_compaction_right_after_a_clear_is_told_of_no_interruption(
    harness: Harness,
) -> None:
    async with harness.conversation() as talk:
        for _ in range(4):
            await talk.turn(tool=True)
        await run(talk, "/clear 2")
        await run(talk, "/compact")
        after = await talk.turn()
    [asked] = [request for request in harness.model.requests if request.kind == "inline_compaction"]
    assert pieces(asked.input)[:-1] == numbered(3, 4)
    assert not aborted(after)
    assert after.mentions(
        "<conversation-summary messages=4>The gist of it all.</conversation-summary>"
    )


async def test_a_compaction_right_after_an_injection_is_told_of_no_interruption(
    harness: Harness,
) -> None:
    async with harness.conversation() as talk:
        for _ in range(2):
            await talk.turn(tool=True)
        await inject(talk, "INJECTED")
        await run(talk, "/compact --keep 1")
        after = await talk.turn()
    [asked] = [request for request in harness.model.requests if request.kind == "inline_compaction"]
    assert pieces(asked.input)[:-1] == [*numbered(1, 2), Piece("user", "INJECTED")]
    assert pieces(after.input)[1:] == [
        *numbered(2),
        Piece("user", "INJECTED"),
        Piece("user", "prompt-3."),
    ]


async def test_a_fork_right_after_a_clear_is_told_of_no_interruption(harness: Harness) -> None:
    async with harness.conversation() as talk:
        for _ in range(3):
            await talk.turn(tool=True)
        await run(talk, "/clear 2")
        fork = await fork_of(talk)
        request = await fork.turn()
        await run(fork, "/clear 2")
        after = await fork.turn()
        original = await talk.turn()
    assert pieces(request.input) == [*numbered(2, 3), Piece("user", "prompt-4.")]
    assert seen_turns(after, 4) == [3, 4]
    assert after.mentions("tool-output-3")
    assert pieces(original.input)[: len(numbered(2, 3))] == numbered(2, 3)


async def test_a_fork_right_after_a_clear_is_whole_after_a_restart(harness: Harness) -> None:
    async with harness.conversation() as talk:
        for _ in range(3):
            await talk.turn(tool=True)
        await run(talk, "/clear 2")
        fork = await fork_of(talk)
        os.kill(harness.child_pid(), signal.SIGKILL)
        with anyio.fail_after(STEP_S):
            await fork.until_codex_answers()
        request = await fork.turn()
        read = await fork.client.request("thread/read", threadId=fork.thread_id, includeTurns=True)
    assert pieces(request.input) == [*numbered(2, 3), Piece("user", "prompt-4.")]
    assert len(read["thread"]["turns"]) == 4


async def test_a_fork_right_after_an_injection_is_told_of_no_interruption(harness: Harness) -> None:
    async with harness.conversation() as talk:
        await talk.turn(tool=True)
        await inject(talk, "INJECTED")
        fork = await fork_of(talk)
        request = await fork.turn()
        await run(fork, "/clear 1")
        after = await fork.turn()
    assert seen_turns(after, 2) == [2]
    assert not after.mentions("INJECTED")
    assert pieces(request.input) == [
        *numbered(1),
        Piece("user", "INJECTED"),
        Piece("user", "prompt-2."),
    ]


async def test_a_revert_that_is_undone_right_after_an_injection_tells_of_no_interruption(
    harness: Harness,
) -> None:
    async with harness.conversation() as talk:
        for _ in range(2):
            await talk.turn(tool=True)
        await inject(talk, "INJECTED")
        await run(talk, "/revert 1 --context")
        await run(talk, "/revert --undo")
        undone = await talk.turn()
    assert pieces(undone.input) == [
        *numbered(1, 2),
        Piece("user", "INJECTED"),
        Piece("user", "prompt-3."),
    ]


async def test_a_sealed_summary_is_compacted_again_without_an_interruption(
    sealed_harness: Harness,
) -> None:
    async with sealed_harness.conversation() as talk:
        for _ in range(3):
            await talk.turn(tool=True)
        talk.script.then(say(""))
        await run(talk, "/compact --keep 1")
        talk.script.then(say("A readable gist."))
        await run(talk, "/compact")
        after = await talk.turn()
    asked = [
        request for request in sealed_harness.model.requests if request.kind == "remote_compaction"
    ]
    assert not any(map(aborted, [*asked, *sealed_harness.model.turn_requests()]))
    assert after.mentions("A readable gist.")


async def test_undoing_a_forks_trim_brings_back_injected_items(
    harness: Harness,
) -> None:
    async with harness.conversation() as talk:
        await talk.turn()
        await inject(talk, "INJECTED")
        await talk.turn()
        for command in ("/compact --keep 1", "/undo"):
            await run(talk, command)
        fork = await fork_of(talk)
        for command in ("/clear 1", "/undo"):
            await run(fork, command)
        after = await fork.turn()
    assert pieces(after.input) == [
        *(Piece("user", "prompt-1."), Piece("assistant", "answer-1."), Piece("user", "INJECTED")),
        *(Piece("user", "prompt-2."), Piece("assistant", "answer-2."), Piece("user", "prompt-3.")),
    ]
