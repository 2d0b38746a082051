"""SIGKILL of the daemon and of Codex during an overflow recovery (docs/spec/model.md,
docs/spec/context.md).

Afterwards the turn has ended for all clients, and the thread is completely in one of two states: as
it was when the turn failed, or with the turn continued in the smaller context.
"""

import os
import random
import signal
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from anyio.abc import Process
from trimpoint.core.model import events as ev
from trimpoint.testkit import ModelRequest, Reply, Script, hang, held, overflow, say

from tests.e2e.codex_dies import codex_dies_while_writing
from tests.e2e.conftest import Harness, longer, opened_harness
from tests.e2e.conversation import TURN_DEADLINE_S, Conversation
from tests.e2e.daemon_process import daemon_process, kill
from tests.e2e.expectation import pieces

pytestmark = pytest.mark.codex

TURNS = 6
PROMPT = "too much"
# From the failure to a little after the answer, on a machine that is not busy.
LONGEST_S = 0.5
KILLS = 6
PHASES = ("compacting", "retrying", "answering")
Message = dict[str, Any]


class Rescue:
    """A turn that does not fit, and whose recovery waits in a phase until it is killed there."""

    def __init__(self, talk: Conversation, phase: str) -> None:
        self.talk = talk
        self.phase = phase
        self.turn_id = ""
        self._never = anyio.Event()

    async def reach(self) -> None:
        script, phase = self.talk.script, self.phase
        summary = say(script.summary)
        script.at_compaction(held(summary, self._never) if phase == "compacting" else summary)
        script.then(
            overflow(),
            held(say("Late."), self._never)
            if phase == "retrying"
            else hang("I am", until=self._never),
        )
        answer = await self.talk.client.request(
            "turn/start", threadId=self.talk.thread_id, input=[{"type": "text", "text": PROMPT}]
        )
        self.turn_id = str(answer["turn"]["id"])
        with anyio.fail_after(TURN_DEADLINE_S):
            if phase == "answering":
                await self.talk.client.received("item/agentMessage/delta", turnId=self.turn_id)
            else:
                await self.talk.model.wait_for_request(self._is_reached)

    def release(self) -> None:
        self._never.set()

    def _is_reached(self, request: ModelRequest) -> bool:
        if self.phase == "compacting":
            return request.kind == "inline_compaction"
        return request.mentions("conversation-summary") and request.mentions(PROMPT)


async def check(talk: Conversation, turn_id: str, status: str) -> None:
    """Checks that the whole thread agrees with the turn's status, and that it can be continued."""
    snapshot = await talk.snapshot()
    read = await talk.client.request("thread/read", threadId=talk.thread_id, includeTurns=True)
    goes_on = status != "failed"
    assert (snapshot["turns"][-1]["id"], snapshot["turns"][-1]["status"]) == (turn_id, status)
    assert (read["thread"]["turns"][-1]["id"], read["thread"]["turns"][-1]["status"]) == (
        turn_id,
        status,
    )
    assert [point["trigger"] for point in snapshot["contextTrimPoints"]] == (
        ["overflow"] if goes_on else []
    )
    assert snapshot["session"]["generation"] == (2 if goes_on else 1)
    assert snapshot["operation"]["phase"] == ("ready" if goes_on else "failed")
    listed = await talk.client.request("thread/list")
    assert [row["id"] for row in listed["data"]] == [talk.thread_id]
    talk.script.then(say("Next."))
    assert (await talk.prompt("next"))["status"] == "completed"
    shown = pieces(talk.model.turn_requests()[-1].input)
    asked = [piece.text for piece in shown if piece.kind == "user"].count(PROMPT)
    assert asked == 1 if goes_on else asked <= 1
    if goes_on:
        assert (shown[0].kind, len(snapshot["turns"])) == ("summary", TURNS + 1)


@asynccontextmanager
async def talking(
    harness: Harness, thread_id: str = ""
) -> AsyncIterator[tuple[Process, Conversation]]:
    """Yields a daemon in its own process, and a conversation with it."""
    async with daemon_process(harness) as daemon, harness.client() as client:
        if thread_id:
            await client.request("thread/resume", threadId=thread_id)
            yield daemon, Conversation(client, thread_id, harness.model, harness.script)
            return
        talk = await Conversation.begin(client, harness.worktree, harness.model, harness.script)
        for _ in range(TURNS):
            await talk.turn()
        yield daemon, talk


@pytest.mark.parametrize("phase", PHASES)
async def test_a_daemon_that_is_killed_leaves_a_turn_that_has_ended(
    harness: Harness, phase: str
) -> None:
    async with talking(harness) as (daemon, talk):
        rescue = Rescue(talk, phase)
        await rescue.reach()
        await kill(daemon)
    rescue.release()
    async with talking(harness, talk.thread_id) as (_, talk):
        await check(talk, rescue.turn_id, "interrupted" if phase == "answering" else "failed")


@pytest.mark.parametrize("phase", PHASES)
async def test_a_codex_that_is_killed_leaves_a_turn_that_has_ended_once(
    harness: Harness, phase: str
) -> None:
    async with harness.conversation() as talk:
        for _ in range(TURNS):
            await talk.turn()
        rescue = Rescue(talk, phase)
        after = len(talk.client.messages)
        await rescue.reach()
        os.kill(harness.child_pid(), signal.SIGKILL)
        with anyio.fail_after(TURN_DEADLINE_S):
            end = await talk.client.received("turn/completed", after)
            await talk.until_codex_answers()
        rescue.release()
        status = "interrupted" if phase == "answering" else "failed"
        assert (end["params"]["turn"]["id"], end["params"]["turn"]["status"]) == (
            rescue.turn_id,
            status,
        )
        ends = [
            m["method"]
            for m in talk.client.messages[after:]
            if m.get("method") in ("turn/completed", "error")
        ]
        assert ends == (["turn/completed"] if phase == "answering" else ["error", "turn/completed"])
        await check(talk, rescue.turn_id, status)


async def test_a_codex_that_dies_while_the_recovery_is_written_ends_the_turn_last_of_all(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    codex_dies_while_writing(monkeypatch, harness, ev.TurnRetried)
    async with harness.conversation() as talk:
        for _ in range(TURNS):
            await talk.turn()
        talk.script.then(overflow(), hang("I am"))
        after = len(talk.client.messages)
        turn = await talk.prompt(PROMPT)
        await talk.until_codex_answers()
        said = [
            m
            for m in talk.client.messages[after:]
            if m.get("params", {}).get("threadId") == talk.thread_id
        ]
        about = [m for m in said if m["method"].startswith(("turn/", "item/", "thread/status"))]
        await check(talk, turn["id"], "interrupted")
        assert (await talk.type("/clear 2"))["status"] == "completed"
        kept = await talk.turn()
    assert [m["method"] for m in about[-2:]] == ["thread/status/changed", "turn/completed"]
    assert about[-2]["params"]["status"]["type"] == "idle"
    assert [piece.text for piece in pieces(kept.input)].count(PROMPT) == 1


class SmallModel(Script):
    """A model that does not accept a context with both the first answer and the prompt."""

    def __call__(self, request: ModelRequest) -> Reply | Awaitable[Reply]:
        if request.kind == "turn" and request.mentions("answer-1.") and request.mentions(PROMPT):
            return overflow()
        return super().__call__(request)


@pytest.mark.parametrize("seed", range(longer()))
async def test_a_daemon_killed_at_any_instant_leaves_one_of_the_two_right_states(seed: int) -> None:
    chance = random.Random(seed)
    async with opened_harness(script=SmallModel()) as harness:
        for _ in range(KILLS):
            async with talking(harness) as (daemon, talk):
                turn_id, is_over = await _ask(talk, chance.random() * LONGEST_S)
                await kill(daemon)
            async with talking(harness, talk.thread_id) as (daemon, talk):
                snapshot = await talk.snapshot()
                status = snapshot["turns"][-1]["status"]
                assert status in (
                    ("completed",) if is_over else ("completed", "failed", "interrupted")
                )
                operation = snapshot["operation"] or {}
                assert bool(snapshot["contextTrimPoints"]) is (
                    operation.get("kind") == "overflow" and status != "failed"
                )
                if operation.get("kind") == "overflow":
                    await check(talk, turn_id or snapshot["turns"][-1]["id"], status)
                await talk.client.request("thread/archive", threadId=talk.thread_id)


async def _ask(talk: Conversation, instant_s: float) -> tuple[str | None, bool]:
    """Sends the prompt, and waits at most `instant_s` seconds. Returns the turn's id if it is
    known, and whether the turn has ended.
    """
    turn_id = None
    with anyio.move_on_after(instant_s):
        answer = await talk.client.request(
            "turn/start", threadId=talk.thread_id, input=[{"type": "text", "text": PROMPT}]
        )
        turn_id = str(answer["turn"]["id"])
        await talk.client.received("turn/completed", len(talk.client.messages) - 1)
        return turn_id, True
    return turn_id, False
