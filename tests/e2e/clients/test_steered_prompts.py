"""A prompt that was sent into a running turn, and is sent again because its client was killed or cut
off before it knew, is taken once: by the turn if the agent reads it there, else from the queue.
"""

import os
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
import pytest
from anyio.abc import Process
from trimpoint.cli.connection.client import Client, RemoteError
from trimpoint.testkit import Reply, held, say

from tests.deadlines import STEP_S
from tests.e2e.conftest import Harness
from tests.e2e.daemon_process import daemon_process, kill

pytestmark = [pytest.mark.codex, pytest.mark.own_daemon]

NAME = "01900000-0000-7000-8000-0000000000aa"
WORDS = "And the second thing."
PROMPT = [{"type": "text", "text": WORDS}]


class Steered:
    """A thread whose turn runs until `may_go_on` is set, and was given a prompt meanwhile."""

    def __init__(self, harness: Harness, client: Client, may_go_on: anyio.Event) -> None:
        self.harness, self.client, self.may_go_on = harness, client, may_go_on
        self.thread_id = self.turn_id = ""

    async def begin(self) -> None:
        started = await self.client.request("thread/start", cwd=str(self.harness.worktree))
        self.thread_id = started["thread"]["id"]
        turn = await self.prompts("One.")
        self.turn_id = turn["turn"]["id"]
        await self.harness.model.wait_for_request()
        await self.steers()

    async def prompts(self, words: str) -> Any:
        parts = [{"type": "text", "text": words}]
        return await self.client.request("turn/start", threadId=self.thread_id, input=parts)

    async def steers(self, turn_id: str | None = None) -> Any:
        return await self.client.request(
            "turn/steer",
            threadId=self.thread_id,
            expectedTurnId=turn_id or self.turn_id,
            input=PROMPT,
            clientUserMessageId=NAME,
        )

    async def sends_again(self, client: Client | None = None) -> None:
        """Queues the prompt, as a client does that finds it in its line at its next start."""
        await self.dispatch(client or self.client, "add", input=PROMPT, clientUserMessageId=NAME)

    async def dispatch(self, client: Client, kind: str, **members: Any) -> None:
        name = NAME if kind == "add" else kind
        command = {"type": f"thread.queue.{kind}", "commandId": name, "threadId": self.thread_id}
        await client.request("orchestration/dispatch", command={**command, **members})

    async def until_ended(self, *, others: int = 0) -> None:
        """Waits until the turn has ended, and this many others."""
        for _ in range(1 + others):
            await self.client.received("turn/completed")

    async def queued(self, client: Client | None = None) -> list[Any]:
        asked = client or self.client
        shown = await asked.request("orchestration/snapshot", threadId=self.thread_id)
        return list(shown["thread"]["queue"])

    async def taken(self, client: Client | None = None) -> int:
        """Returns how often the model was sent the prompt, once the queue is empty and one more
        prompt was answered.
        """
        self.client = client or self.client
        await self.client.request("thread/resume", threadId=self.thread_id)
        await self.prompts("The last.")
        last = await self.harness.model.wait_for_request(
            lambda request: request.mentions("The last.")
        )
        assert await self.queued() == []
        return str(last.input).count(WORDS)


@asynccontextmanager
async def steered(harness: Harness, *more: Reply) -> AsyncGenerator[tuple[Steered, Process]]:
    """Yields a steered thread, and the process of its daemon."""
    may_go_on = anyio.Event()
    harness.script.then(held(say("first"), may_go_on), *more)
    with anyio.fail_after(3 * STEP_S):
        async with daemon_process(harness) as daemon, harness.client() as client:
            thread = Steered(harness, client, may_go_on)
            await thread.begin()
            yield thread, daemon


async def test_what_the_agent_has_read_is_not_taken_again(harness: Harness) -> None:
    async with steered(harness) as (thread, _), harness.client("late") as late:
        thread.may_go_on.set()
        await thread.until_ended()
        await thread.sends_again(late)
        assert await thread.taken() == 1


async def test_what_is_sent_again_before_the_agent_reads_it_is_taken_by_the_turn(
    harness: Harness,
) -> None:
    async with steered(harness) as (thread, _), harness.client("late") as late:
        await thread.sends_again(late)
        await thread.sends_again(late)
        assert len(await thread.queued()) == 1, "nothing is lost if the turn is interrupted now"
        thread.may_go_on.set()
        await thread.until_ended()
        assert await thread.queued() == []
        assert await thread.taken() == 1


async def test_what_is_steered_again_is_in_the_turn_once(harness: Harness) -> None:
    async with steered(harness) as (thread, _):
        assert await thread.steers() == {"turnId": thread.turn_id}
        with pytest.raises(RemoteError):
            await thread.steers("another")
        thread.may_go_on.set()
        await thread.until_ended()
        assert await thread.taken() == 1


@pytest.mark.each_case("before and after the interruption are two ways through the daemon")
@pytest.mark.parametrize("is_sent_again_before", [True, False])
async def test_what_an_interrupted_turn_has_not_read_is_taken_from_the_queue(
    harness: Harness, is_sent_again_before: bool
) -> None:
    async with steered(harness) as (thread, _):
        if is_sent_again_before:
            await thread.sends_again()
        interrupted = {"threadId": thread.thread_id, "turnId": thread.turn_id}
        await thread.client.request("turn/interrupt", **interrupted)
        await thread.until_ended()
        thread.may_go_on.set()
        if is_sent_again_before:
            assert len(await thread.queued()) == 1, "held: a person has interrupted"
            await thread.dispatch(thread.client, "start")
        else:
            await thread.sends_again()
        await thread.until_ended()
        assert await thread.taken() == 1


@pytest.mark.parametrize("is_sent_again_before", [True, False])
@pytest.mark.linux("finds Codex by its record")
async def test_a_prompt_that_was_read_before_codex_was_killed_is_not_taken_again(
    harness: Harness, is_sent_again_before: bool
) -> None:
    never = anyio.Event()
    async with steered(harness, held(say("second"), never)) as (thread, _):
        if is_sent_again_before:
            await thread.sends_again()
        thread.may_go_on.set()
        await harness.model.wait_for_request(lambda request: request.mentions(WORDS))
        os.kill(harness.child_pid(), signal.SIGKILL)
        await thread.until_ended()
        never.set()
        if not is_sent_again_before:
            await thread.sends_again()
        assert await thread.taken() == 1


@pytest.mark.linux("looks for the Codex of another process")
@pytest.mark.each_case("each is another instant at which the daemon dies")
@pytest.mark.parametrize("is_sent_again_before", [True, False])
@pytest.mark.parametrize("is_read", [True, False])
async def test_a_prompt_is_taken_once_whenever_the_daemon_is_killed(
    harness: Harness, is_sent_again_before: bool, is_read: bool
) -> None:
    never = anyio.Event()
    async with steered(harness, held(say("second"), never)) as (thread, daemon):
        if is_sent_again_before:
            await thread.sends_again()
        if is_read:
            thread.may_go_on.set()
            await harness.model.wait_for_request(lambda request: request.mentions(WORDS))
        codex = harness.child_pid()
        await kill(daemon)
        # It lives a moment longer, and would read the prompt.
        with suppress(ProcessLookupError):
            os.kill(codex, signal.SIGKILL)
        never.set()
        thread.may_go_on.set()
        async with harness.daemon(), harness.client() as client:
            if not is_sent_again_before:
                await thread.sends_again(client)
            if not is_read:
                await harness.model.wait_for_request(lambda request: request.mentions(WORDS))
            assert await thread.taken(client) == 1
