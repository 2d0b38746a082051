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
from tests.e2e.conversation import aborted, seen_turns
from tests.e2e.expectation import Piece, numbered, pieces

pytestmark = [pytest.mark.codex, pytest.mark.also_restarted]


@pytest.fixture(params=[True, False], ids=["exact", "inexact"])
def forks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Has the daemon believe, in turn, that Codex forks exactly at a turn, and that it does not, as
    before 0.153.
    """
    if not request.param:
        monkeypatch.setattr(
            "trimpoint.operations.provider.forking.FORKS_WITHOUT_INJECTED", (999, 0, 0)
        )


async def test_a_compaction_right_after_a_clear_is_told_of_no_interruption(
    harness: Harness,
) -> None:
    async with harness.conversation() as talk:
        for _ in range(4):
            await talk.turn(tool=True)
        await talk.complete("/clear 2")
        await talk.complete("/compact")
        after = await talk.turn()
    [asked] = [request for request in harness.model.requests if request.kind == "inline_compaction"]
    assert pieces(asked.input)[:-1] == numbered(3, 4)
    assert not aborted(after)
    assert after.mentions(
        "<conversation-summary messages=4>The gist of it all.</conversation-summary>"
    )


@pytest.mark.usefixtures("forks")
async def test_a_compaction_right_after_an_injection_is_told_of_no_interruption(
    harness: Harness,
) -> None:
    async with harness.conversation() as talk:
        for _ in range(2):
            await talk.turn(tool=True)
        await talk.inject("INJECTED")
        await talk.complete("/compact --keep 1")
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
        await talk.complete("/clear 2")
        fork = await talk.fork()
        request = await fork.turn()
        await fork.complete("/clear 2")
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
        await talk.complete("/clear 2")
        fork = await talk.fork()
        os.kill(harness.child_pid(), signal.SIGKILL)
        with anyio.fail_after(STEP_S):
            await fork.until_codex_answers()
        request = await fork.turn()
        read = await fork.client.request("thread/read", threadId=fork.thread_id, includeTurns=True)
    assert pieces(request.input) == [*numbered(2, 3), Piece("user", "prompt-4.")]
    assert len(read["thread"]["turns"]) == 4


@pytest.mark.usefixtures("forks")
async def test_a_fork_right_after_an_injection_is_told_of_no_interruption(harness: Harness) -> None:
    async with harness.conversation() as talk:
        await talk.turn(tool=True)
        await talk.inject("INJECTED")
        fork = await talk.fork()
        request = await fork.turn()
        await fork.complete("/clear 1")
        after = await fork.turn()
    assert seen_turns(after, 2) == [2]
    assert not after.mentions("INJECTED")
    assert pieces(request.input) == [
        *numbered(1),
        Piece("user", "INJECTED"),
        Piece("user", "prompt-2."),
    ]


@pytest.mark.usefixtures("forks")
async def test_a_revert_that_is_undone_right_after_an_injection_tells_of_no_interruption(
    harness: Harness,
) -> None:
    async with harness.conversation() as talk:
        for _ in range(2):
            await talk.turn(tool=True)
        await talk.inject("INJECTED")
        await talk.complete("/revert 1 --context")
        await talk.complete("/revert --undo")
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
        await talk.complete("/compact --keep 1")
        talk.script.then(say("A readable gist."))
        await talk.complete("/compact")
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
        await talk.inject("INJECTED")
        await talk.turn()
        for command in ("/compact --keep 1", "/undo"):
            await talk.complete(command)
        fork = await talk.fork()
        for command in ("/clear 1", "/undo"):
            await fork.complete(command)
        after = await fork.turn()
    assert pieces(after.input) == [
        *(Piece("user", "prompt-1."), Piece("assistant", "answer-1."), Piece("user", "INJECTED")),
        *(Piece("user", "prompt-2."), Piece("assistant", "answer-2."), Piece("user", "prompt-3.")),
    ]


async def test_a_fork_knows_what_was_injected_behind_pruned_turns(harness: Harness) -> None:
    async with harness.conversation() as talk:
        await talk.turn()
        await talk.inject("INJECTED")
        await talk.turn(tool=True)
        await talk.inject("LATER")
        await talk.complete("/clear")
        fork = await (await talk.fork()).fork()
        await fork.complete("/revert 2 --context")
        request = await fork.turn()
    injected, prompt = Piece("user", "INJECTED"), Piece("user", "prompt-3.")
    assert pieces(request.input) == [
        Piece("user", "prompt-1."), Piece("assistant", "answer-1."), injected, *numbered(2), prompt,
    ]  # fmt: skip
