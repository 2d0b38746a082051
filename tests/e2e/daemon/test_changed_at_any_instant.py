"""Clients that attach to a thread and change it at any instant of a compaction, with SIGKILL of the daemon and without.
`TRIMPOINT_E2E_LONG=n` runs n times as many compactions.
"""

import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from trimpoint.testkit import (
    ModelRequest,
    Reply,
    codex_overrides,
    encrypted_compaction,
    remote_overrides,
    say,
)

from tests.deadlines import SCENARIO_S
from tests.e2e.conftest import Harness, Overrides, longer, opened_harness
from tests.e2e.conversation import AnswersByPrompt, Conversation
from tests.e2e.daemon_process import daemon_process, kill
from tests.e2e.wire import JsonRpcClient, connect_socket

pytestmark = pytest.mark.codex

OVERRIDES = pytest.mark.parametrize(
    "overrides", [codex_overrides, remote_overrides], ids=["inline", "sealed"]
)
SEEDS = range(longer())
ROUNDS = 4
# From the summary to a little after the end of the compaction, on a machine that is not busy.
LONGEST_S = 0.3


class Rounds:
    """Compactions of one thread. `effort` and `name` are what was given last."""

    def __init__(self, harness: Harness, script: AnswersByPrompt, seed: int) -> None:
        self.harness = harness
        self.script = script
        self.random = random.Random(seed)
        self.thread_id = ""
        self.name: str | None = None
        self.effort: str | None = None
        self.said = 0

    @asynccontextmanager
    async def talk(self) -> AsyncIterator[Conversation]:
        """Yields the conversation with a new client; the first one starts the thread."""
        async with self.harness.client() as client:
            if not self.thread_id:
                begun = await Conversation.begin(
                    client, self.harness.worktree, self.harness.model, self.script
                )
                self.thread_id = begun.thread_id
            yield Conversation(client, self.thread_id, self.harness.model, self.script)

    async def turn(self, talk: Conversation) -> Any:
        """Runs a turn, and returns the request that the model got."""
        self.said += 1
        prompt = f"prompt-{self.said}."
        self.script.when(prompt, say(f"answer-{self.said}."))
        assert (await talk.prompt(prompt))["status"] == "completed"
        return talk.asked(prompt)

    async def check(self, talk: Conversation) -> None:
        """Checks what clients and the model see, and that clients are sent the next turn."""
        async with connect_socket(self.harness.socket) as wire:
            await wire.initialize()
            thread = (await wire.result("thread/resume", threadId=self.thread_id))["thread"]
            rows = (await wire.result("thread/list"))["data"]
            after = len(wire.received)
            request = await self.turn(talk)
            await wire.received_after("turn/completed", after, threadId=self.thread_id)
        assert [row["id"] for row in rows] == [thread["id"]] == [self.thread_id]
        assert {thread["name"], rows[0]["name"]} == {self.name}
        if self.effort is not None:
            assert request.body["reasoning"]["effort"] == self.effort
        statuses = [turn["status"] for turn in thread["turns"]]
        assert statuses == ["completed"] * (self.said - 1)

    async def compaction(
        self, talk: Conversation, then: Callable[[], Awaitable[None]], *, ends: bool = True
    ) -> None:
        """Begins a compaction, and calls `then` when the model is about to give the summary. Unless
        it `ends`, the model gives it only afterwards.
        """
        release, asked = anyio.Event(), len(self.harness.model.requests)

        async def summary(request: ModelRequest) -> Reply:
            await release.wait()
            is_sealed = request.kind == "remote_compaction"
            return encrypted_compaction("SEALED") if is_sealed else say("The gist.")

        self.script.at_compaction(summary)
        await talk.client.request("thread/compact/start", threadId=self.thread_id)
        await self.harness.model.wait_for_request(
            lambda one: one.kind != "turn" and one in self.harness.model.requests[asked:]
        )
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(then)
            for _ in range(self.random.choice((0, 1, 3, 10))):
                await anyio.lowlevel.checkpoint()
            if ends:
                release.set()
        release.set()

    async def change(self, wire: JsonRpcClient, mark: str) -> None:
        """Attaches to the thread and changes it; each step may be before or after the trim."""
        named = {"threadId": self.thread_id}
        effort = self.random.choice(("low", "high"))
        for method, params in self.random.sample(
            [
                ("thread/resume", {}),
                ("thread/name/set", {"name": mark}),
                ("thread/settings/update", {"effort": effort}),
                ("thread/fork", {"ephemeral": True, "excludeTurns": True}),
            ],
            4,
        ):
            await anyio.sleep(self.random.random() * LONGEST_S / 4)
            await wire.result(method, **named, **params)
            self.name = mark if method == "thread/name/set" else self.name
            self.effort = effort if method == "thread/settings/update" else self.effort


@asynccontextmanager
async def rounds_of(seed: int, overrides: Overrides) -> AsyncIterator[Rounds]:
    """Yields rounds in a new harness. A failure prints the seed and the killed daemons' logs."""
    script = AnswersByPrompt()
    async with opened_harness(overrides, script) as harness:
        try:
            yield Rounds(harness, script, seed)
        except BaseException as error:
            error.add_note(f"seed {seed}")
            if (log := harness.home / "daemon.log").exists():
                error.add_note(log.read_text()[-3000:])
            raise


@OVERRIDES
@pytest.mark.parametrize("seed", SEEDS)
async def test_what_is_changed_at_any_instant_of_a_compaction_holds(
    seed: int, overrides: Overrides
) -> None:
    async with rounds_of(seed, overrides) as rounds:
        for number in range(ROUNDS):
            with anyio.fail_after(SCENARIO_S):
                # Another daemon takes the name that Codex has for the one in force.
                async with (
                    rounds.harness.daemon(),
                    rounds.talk() as talk,
                    connect_socket(rounds.harness.socket) as wire,
                ):
                    await wire.initialize()
                    for _ in range(2):
                        await rounds.turn(talk)
                    await rounds.compaction(talk, partial(rounds.change, wire, f"name-{number}"))
                    await rounds.check(talk)
        async with rounds.harness.daemon(), rounds.talk() as talk:
            await rounds.check(talk)


@OVERRIDES
@pytest.mark.parametrize("seed", SEEDS)
async def test_what_was_changed_during_a_compaction_holds_when_the_daemon_is_killed(
    seed: int, overrides: Overrides
) -> None:
    async with rounds_of(seed, overrides) as rounds:
        for number in range(ROUNDS):
            with anyio.fail_after(SCENARIO_S):
                async with daemon_process(rounds.harness) as daemon, rounds.talk() as talk:
                    if number:
                        await rounds.check(talk)
                    for _ in range(2):
                        await rounds.turn(talk)
                    async with connect_socket(rounds.harness.socket) as wire:
                        await wire.initialize()

                        async def killed(mark: str) -> None:
                            await rounds.change(wire, mark)
                            await anyio.sleep(rounds.random.random() * LONGEST_S)
                            await kill(daemon)

                        await rounds.compaction(
                            talk, partial(killed, f"name-{number}"), ends=number % 2 == 0
                        )
        async with rounds.harness.daemon(), rounds.talk() as talk:
            await rounds.check(talk)
