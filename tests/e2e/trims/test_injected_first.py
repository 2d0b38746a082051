"""Items that a client injects while no turn stands in the context lie before the next turn: what
the model is shown next is what Codex alone shows, and a trim, an undo or a death loses none.
"""

import os
import signal
from typing import Any

import anyio
import pytest

from tests.deadlines import STEP_S
from tests.e2e.codex.another_program import another_program, provider_thread_of, turn
from tests.e2e.conftest import Harness
from tests.e2e.conversation import Conversation, aborted
from tests.e2e.expectation import Piece, pieces
from tests.e2e.wire import connect_to_codex

pytestmark = [pytest.mark.codex, pytest.mark.also_restarted]


def item(text: str) -> dict[str, Any]:
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


def said(*numbers: int) -> list[Piece]:
    return [
        piece
        for number in numbers
        for piece in (Piece("user", f"prompt-{number}."), Piece("assistant", f"answer-{number}."))
    ]


def told(*words: str) -> list[Piece]:
    return [Piece("user", word) for word in words]


async def shown(talk: Conversation) -> list[Piece]:
    """What the model is shown before the next prompt."""
    request = await talk.turn()
    assert not aborted(request)
    return pieces(request.input)[:-1]


async def test_items_injected_into_a_fresh_thread_are_shown_as_codex_alone_shows_them(
    harness: Harness,
) -> None:
    async with connect_to_codex(harness) as wire:
        await wire.initialize()
        started = await wire.result("thread/start", cwd=str(harness.worktree))
        alone_id = started["thread"]["id"]
        for word in ("ONE", "TWO"):
            await wire.result("thread/inject_items", threadId=alone_id, items=[item(word)])
        first = await turn(wire, harness, alone_id, 1)
        alone = pieces(harness.model.turn_requests()[-1].input)
        await wire.result("thread/revert", threadId=alone_id, beforeTurnId=first)
        await turn(wire, harness, alone_id, 2)
        alone_reverted = pieces(harness.model.turn_requests()[-1].input)
    async with harness.conversation() as talk:
        for word in ("ONE", "TWO"):
            await talk.inject(word)
        request = await talk.turn(tool=True)
        first = (await talk.snapshot())["turns"][0]["id"]
        await talk.client.request("thread/revert", threadId=talk.thread_id, beforeTurnId=first)
        reverted = await talk.turn(tool=True)
    assert pieces(request.input) == alone
    assert pieces(reverted.input) == alone_reverted
    assert alone[:2] == told("ONE", "TWO")


async def test_a_clear_prunes_what_was_injected_before_the_first_kept_turn_and_undo_brings_it_back(
    harness: Harness,
) -> None:
    async with harness.conversation() as talk:
        await talk.inject("FIRST")
        for _ in range(2):
            await talk.turn()
        await talk.complete("/clear 1")
        assert await shown(talk) == said(2)
        await talk.complete("/undo")
        assert await shown(talk) == [*told("FIRST"), *said(1, 2, 3)]


async def test_what_was_injected_into_a_thread_that_was_cleared_to_nothing_stays(
    harness: Harness,
) -> None:
    async with harness.conversation() as talk:
        await talk.turn()
        await talk.complete("/clear")
        await talk.inject("BEHIND")
        assert await shown(talk) == told("BEHIND")
        await talk.complete("/undo")
        assert await shown(talk) == [*said(1), *told("BEHIND"), *said(2)]
        await talk.complete("/clear 1")
        assert await shown(talk) == said(3)


async def test_a_clear_of_injected_items_alone_is_one_and_can_be_undone_and_redone(
    harness: Harness,
) -> None:
    async with harness.conversation() as talk:
        await talk.inject("FIRST")
        outcome = await talk.type("/clear 1")
        assert outcome["reason"] == "nothing_to_trim"
        await talk.complete("/clear")
        await talk.inject("SECOND")
        await talk.complete("/undo")
        await talk.complete("/undo --redo")
        await talk.complete("/undo")
        assert await shown(talk) == told("FIRST", "SECOND")


@pytest.mark.parametrize("with_turn", [False, True])
async def test_items_injected_into_a_fresh_thread_survive_the_death_of_codex_and_a_trim(
    harness: Harness, with_turn: bool
) -> None:
    async with harness.conversation() as talk:
        await talk.inject("FIRST")
        os.kill(harness.child_pid(), signal.SIGKILL)
        with anyio.fail_after(STEP_S):
            await talk.until_codex_answers()
        await talk.inject("SECOND")
        if with_turn:
            await talk.turn()
            await talk.complete("/clear")
            await talk.complete("/undo")
            assert await shown(talk) == [*told("FIRST", "SECOND"), *said(1)]
        else:
            await talk.complete("/clear")
            await talk.complete("/undo")
            assert await shown(talk) == told("FIRST", "SECOND")


async def test_a_revert_to_before_the_first_turn_keeps_what_was_injected_before_it(
    harness: Harness,
) -> None:
    async with harness.conversation() as talk:
        await talk.inject("FIRST")
        await talk.turn()
        await talk.inject("BEHIND")
        await talk.complete("/revert 0 --context")
        await talk.inject("SINCE")
        assert await shown(talk) == told("FIRST", "SINCE")
        await talk.complete("/revert --undo")
        assert await shown(talk) == [*told("FIRST"), *said(1), *told("BEHIND")]


async def test_a_native_revert_of_a_kept_turn_keeps_what_was_injected_before_it(
    harness: Harness,
) -> None:
    async with harness.conversation() as talk:
        await talk.inject("FIRST")
        for _ in range(3):
            await talk.turn()
        await talk.complete("/clear 1")
        await talk.complete("/undo")
        first = (await talk.snapshot())["turns"][0]["id"]
        await talk.client.request("thread/revert", threadId=talk.thread_id, beforeTurnId=first)
        assert await shown(talk) == told("FIRST")


async def test_a_compaction_summarizes_what_was_injected_before_the_first_turn(
    harness: Harness,
) -> None:
    async with harness.conversation() as talk:
        await talk.inject("FIRST")
        for _ in range(2):
            await talk.turn()
        await talk.complete("/compact --keep 1")
        [asked] = [one for one in harness.model.requests if one.kind == "inline_compaction"]
        assert pieces(asked.input)[:-1] == [*told("FIRST"), *said(1, 2)]
        assert (await shown(talk))[1:] == said(2)
        await talk.complete("/undo")
        assert await shown(talk) == [*told("FIRST"), *said(1, 2, 3)]


async def test_injected_items_alone_can_be_compacted(harness: Harness) -> None:
    async with harness.conversation() as talk:
        await talk.inject("FIRST")
        await talk.complete("/compact --force")
        [summary] = await shown(talk)
        assert summary.kind == "summary"
        await talk.complete("/undo")
        assert await shown(talk) == [*told("FIRST"), *said(1)]


async def test_a_fork_of_a_thread_without_a_turn_has_what_was_injected(harness: Harness) -> None:
    async with harness.conversation() as talk:
        await talk.inject("FIRST")
        fork = await talk.fork()
        await fork.inject("SECOND")
        assert await shown(fork) == told("FIRST", "SECOND")
        await fork.complete("/clear")
        await fork.complete("/undo")
        assert await shown(fork) == [*told("FIRST", "SECOND"), *said(1)]
        assert await shown(talk) == told("FIRST")


@pytest.mark.parametrize("clear", [False, True])
async def test_a_fork_has_what_was_injected_before_its_turns(harness: Harness, clear: bool) -> None:
    async with harness.conversation() as talk:
        await talk.inject("FIRST")
        await talk.turn()
        start = [*told("FIRST"), *said(1)]
        if clear:
            await talk.complete("/clear")
            await talk.inject("SECOND")
            start = told("SECOND")
        fork = await talk.fork()
        assert await shown(fork) == start
        await fork.complete("/clear")
        await fork.complete("/undo")
        assert await shown(fork) == [*start, *said(2)]


@pytest.mark.parametrize("clear", [False, True])
async def test_a_fork_before_the_first_turn_has_what_was_injected_before_it(
    harness: Harness, clear: bool
) -> None:
    async with harness.conversation() as talk:
        await talk.inject("FIRST")
        await talk.turn()
        if clear:
            await talk.complete("/clear")
            await talk.turn()
        first = (await talk.snapshot())["turns"][0]["id"]
        await talk.begin_act()
        forked = await talk.client.request(
            "thread/fork",
            threadId=talk.thread_id,
            beforeTurnId=first,
            sandbox="danger-full-access",
        )
        fork = Conversation(talk.client, forked["thread"]["id"], talk.model, talk.script)
        assert await shown(fork) == told("FIRST")
        await fork.complete("/clear")
        await fork.complete("/undo")
        assert await shown(fork) == [*told("FIRST"), *said(1)]


async def test_items_that_another_program_injected_first_are_adopted(harness: Harness) -> None:
    async with connect_to_codex(harness) as wire:
        await wire.initialize()
        started = await wire.result("thread/start", cwd=str(harness.worktree))
        thread_id = started["thread"]["id"]
        dev = {**item("DEVELOPER"), "role": "developer"}
        await wire.result("thread/inject_items", threadId=thread_id, items=[item("FIRST"), dev])
    async with harness.daemon(), harness.client() as client:
        await client.request("thread/resume", threadId=thread_id)
        talk = Conversation(client, thread_id, harness.model, harness.script)
        await talk.complete("/clear")
        await talk.complete("/undo")
        request = await talk.turn()
        assert pieces(request.input)[:-1] == told("FIRST")
        assert request.mentions("DEVELOPER")


async def test_items_that_another_program_injected_before_the_first_turn_are_kept_by_a_trim(
    harness: Harness,
) -> None:
    async with harness.daemon(), harness.client() as client:
        talk = await Conversation.begin(client, harness.worktree, harness.model, harness.script)
        await talk.inject("FIRST")
    async with another_program(harness, provider_thread_of(harness)) as wire:
        await wire.result("thread/inject_items", threadId=talk.thread_id, items=[item("ELSEWHERE")])
    async with harness.daemon(), harness.client() as client:
        talk = Conversation(client, talk.thread_id, harness.model, harness.script)
        await talk.complete("/clear")
        await talk.complete("/undo")
        assert await shown(talk) == told("FIRST", "ELSEWHERE")


async def test_the_x_ray_lists_what_was_injected_before_a_turn_with_its_tokens(
    harness: Harness,
) -> None:
    async with harness.conversation() as talk:
        await talk.inject("FIRST")
        found = await talk.client.request("context/inspect", threadId=talk.thread_id)
        [one] = [one for one in found["items"] if one["preview"] == "FIRST"]
        assert (one["shortId"], one["protected"]) == ("i1", "injected")
        assert one["estTokens"] > 0
