"""Clients that attach to a thread, or change what its context does not hold, during an overflow recovery."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from trimpoint.testkit import say

from tests.deadlines import STEP_S
from tests.e2e.conftest import Harness
from tests.e2e.context.overflowing import Held, long_talk
from tests.e2e.conversation import Conversation
from tests.e2e.wire import JsonRpcClient, connect_socket

pytestmark = pytest.mark.codex

PHASES = pytest.mark.parametrize("phase", ["compacting", "retrying"])
CHANGES: list[tuple[str, dict[str, Any]]] = [
    ("thread/name/set", {"name": "Given meanwhile"}),
    ("thread/metadata/update", {"gitInfo": {"branch": "side"}}),
    ("thread/settings/update", {"effort": "low"}),
]


@asynccontextmanager
async def recovering(
    harness: Harness, phase: str
) -> AsyncIterator[tuple[Conversation, Held, JsonRpcClient]]:
    """Yields a conversation, its recovery that waits for the model in this phase, and a client that
    has come since.
    """
    async with harness.conversation() as talk, connect_socket(harness.socket) as late:
        await late.initialize("late")
        await long_talk(talk)
        recovery = Held(talk)
        if phase == "compacting":
            await recovery.in_compaction(say("It fits."))
        else:
            await recovery.in_retry(say("It fits."))
        yield talk, recovery, late
        recovery.event.set()


async def phase_of(talk: Conversation) -> str:
    return str((await talk.snapshot())["operation"]["phase"])


@PHASES
async def test_a_client_attaches_to_the_turn_that_is_being_recovered(
    harness: Harness, phase: str
) -> None:
    async with recovering(harness, phase) as (talk, recovery, late):
        named = {"threadId": talk.thread_id}
        thread = (await late.result("thread/resume", **named))["thread"]
        assert await phase_of(talk) == phase
        after = len(late.received)
        recovery.event.set()
        await recovery.end()
        ended = await late.received_after("turn/completed", after, **named)
        again = (await late.result("thread/resume", **named))["thread"]
        after = len(late.received)
        await talk.turn()
        await late.received_after("turn/completed", after, **named)
    assert (thread["id"], thread["status"]["type"]) == (talk.thread_id, "active")
    statuses = [turn["status"] for turn in thread["turns"]]
    assert statuses == ["completed"] * 6 + ["inProgress"]
    assert thread["turns"][-1]["id"] == ended["params"]["turn"]["id"] == recovery.turn_id
    assert [turn["status"] for turn in again["turns"]] == ["completed"] * 7
    assert [turn["id"] for turn in again["turns"]] == [turn["id"] for turn in thread["turns"]]


@PHASES
async def test_what_is_changed_during_a_recovery_holds_behind_it(
    harness: Harness, phase: str
) -> None:
    async with (
        recovering(harness, phase) as (talk, recovery, late),
        anyio.create_task_group() as tasks,
    ):
        named = {"threadId": talk.thread_id}

        async def change() -> None:
            for method, params in CHANGES:
                await late.result(method, **named, **params)

        with anyio.fail_after(STEP_S):
            if phase == "compacting":
                await change()
                assert await phase_of(talk) == phase
            else:
                # By then everything has been carried over: these wait, for the model's first words.
                tasks.start_soon(change)
                await late.settled()
            recovery.event.set()
        await recovery.end()
    async with harness.daemon(), connect_socket(harness.socket) as wire:
        await wire.initialize()
        resumed = await wire.result("thread/resume", **named)
        [row] = (await wire.result("thread/list"))["data"]
    for thread in (resumed["thread"], row):
        assert (thread["id"], thread["name"]) == (talk.thread_id, "Given meanwhile")
        assert thread["gitInfo"]["branch"] == "side"
    assert resumed["reasoningEffort"] == "low"


async def test_a_fork_during_a_recovery_leaves_both_threads_whole(harness: Harness) -> None:
    async with recovering(harness, "compacting") as (talk, recovery, late):
        fork = (await late.result("thread/fork", threadId=talk.thread_id))["thread"]
        assert await phase_of(talk) == "compacting"
        recovery.event.set()
        turn = await recovery.end()
        here = await talk.turn()
        forked = Conversation(talk.client, fork["id"], harness.model, harness.script)
        forked.turns = talk.turns
        there = await forked.turn()
        snapshots = [await one.snapshot() for one in (talk, forked)]
    assert turn["status"] == "completed"
    # For Codex, the turn that is repeated here has ended.
    assert [one["status"] for one in fork["turns"]] == ["completed"] * 6 + ["failed"]
    assert here.mentions("It fits.")
    assert not there.mentions("It fits.")
    assert there.mentions("prompt-1.")
    assert [len(one["contextTrimPoints"]) for one in snapshots] == [1, 0]
