"""SIGKILL at random instants, of the daemon and of Codex (docs/spec/model.md,
docs/spec/sessions.md).

After each kill, another daemon starts on the same state. The thread must be completely in one of
the two valid states: ledger, timeline and the model's next input agree. `TRIMPOINT_E2E_LONG=n`
kills n times as often.
"""

import copy
import os
import random
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import anyio
import pytest
from anyio.abc import Process
from trimpoint.cli.connection.client import Client, RemoteError
from trimpoint.testkit import codex_overrides, held, remote_overrides, say
from trimpoint.threads.ids import new_uuid7

from tests.deadlines import SCENARIO_S
from tests.e2e.conftest import Harness, Overrides, longer, opened_harness
from tests.e2e.conversation import AnswersByPrompt, Conversation
from tests.e2e.daemon.killed_turn import KilledTurn, Possible, left_by
from tests.e2e.daemon_process import codex_processes, daemon_process, kill
from tests.e2e.expectation import (
    ExpectedThread,
    Findings,
    pieces,
    right_one,
)

pytestmark = pytest.mark.codex

SEEDS = range(longer())
DAEMON_KILLS = 8
# The pause before Codex is started again doubles with each death.
CHILD_KILLS = 4
OVERRIDES = pytest.mark.parametrize(
    "overrides", [codex_overrides, remote_overrides], ids=["inline", "sealed"]
)
ROUND_DEADLINE_S = SCENARIO_S
# From the beginning of a command to a little after its end, on a machine that is not busy.
LONGEST_S = {"undo": 0.15, "clear": 0.15, "compact": 0.3, "new": 0.15, "turn": 0.15}

Call = Callable[[], Awaitable[dict[str, Any]]]
Struck = Callable[[Call], Awaitable[dict[str, Any]]]
Strike = Callable[[Call, float], Awaitable[dict[str, Any]]]
"""Makes the call and kills something so many seconds later; the answer, empty when there was none
any more.
"""


class Life:
    """A conversation that outlives its daemons. `possible` are the states that are valid at
    present.
    """

    def __init__(self, harness: Harness, script: AnswersByPrompt, seed: int) -> None:
        self.harness = harness
        self.script = script
        self.random = random.Random(seed)
        self.possible: Possible = [ExpectedThread()]
        self.thread_id = ""
        self.archived: set[str] = set()
        self.said = 0
        self.log: list[str] = []
        self._repeat: Callable[[Conversation], Awaitable[None]] | None = None

    async def in_conversation(self, client: Client) -> Conversation:
        """Returns the conversation with this client; the first call starts the thread."""
        if not self.thread_id:
            begun = await Conversation.begin(
                client, self.harness.worktree, self.harness.model, self.script
            )
            self.thread_id = begun.thread_id
        return Conversation(client, self.thread_id, self.harness.model, self.script)

    def word(self, what: str) -> str:
        """Returns a text that was not used before."""
        self.said += 1
        return f"{what}-{self.said}"

    # --- what is under way when it is killed
    # ------------------------------------------------------------------------

    async def act(self, talk: Conversation, strike: Strike) -> None:
        """Begins a random action, and kills the daemon or Codex at a random instant of it."""
        actions = (
            self._clear, self._clear, self._compact, self._new, self._turn, self._turn,
            self._undo, self._undo,
        )  # fmt: skip
        action = self.random.choice(actions)
        name = action.__name__.strip("_")
        instant_s = self.random.random() * LONGEST_S[name]
        self.log.append(f"{name} {instant_s:.3f} s")
        self._repeat = None

        async def struck(call: Call) -> dict[str, Any]:
            answer = await strike(call, instant_s)
            self.log[-1] += f": {answer.get('status', 'acknowledged' if answer else 'unheard')}"
            return answer

        await action(talk, struck)

    async def _clear(self, talk: Conversation, struck: Struck) -> None:
        before = self.possible[0]
        after = copy.deepcopy(before)
        keep = self.random.randrange(len(before.active) + 1) if before.active else 0
        if not before.can_clear(keep):
            keep = 0
        after.clear(keep)
        command = {"type": "thread.context.trim", "keepLastNTurns": keep}
        await self._command(talk, struck, f"/clear {keep}", command, after)

    async def _compact(self, talk: Conversation, struck: Struck) -> None:
        before, gist = self.possible[0], self.word("gist")
        after = copy.deepcopy(before)
        keep = self.random.choice((0, min(1, len(before.active) - 1)))
        after.compact(keep, gist)
        self.script.summary = gist
        command = {"type": "thread.context.compact", "keepLastNTurns": keep, "force": True}
        await self._command(talk, struck, f"/compact --force --keep {keep}", command, after)

    async def _undo(self, talk: Conversation, struck: Struck) -> None:
        if not self.possible[0].trims:
            return await self._clear(talk, struck)
        after = copy.deepcopy(self.possible[0])
        after.undo()
        await self._command(talk, struck, "/undo", {"type": "thread.context.undo"}, after)
        return None

    async def _command(
        self,
        talk: Conversation,
        struck: Struck,
        text: str,
        command: dict[str, Any],
        after: ExpectedThread,
    ) -> None:
        """Types or dispatches the command, and prepares to repeat it with the same id after the
        kill.
        """
        before, typed, command_id = self.possible[0], self.random.random() < 0.5, new_uuid7()

        async def give(where: Conversation) -> dict[str, Any]:
            if typed:
                typing = {"threadId": self.thread_id, "text": text, "commandId": command_id}
                return dict(await where.client.request("commands/execute", **typing))
            full = {**command, "commandId": command_id, "threadId": self.thread_id}
            return dict(await where.client.request("orchestration/dispatch", command=full))

        async def repeat(where: Conversation) -> None:
            self.possible = left_by(await give(where), text, before, after)

        self.log[-1] += f" {text} {'typed' if typed else 'dispatched'}"
        self.possible = left_by(await struck(lambda: give(talk)), text, before, after)
        self._repeat = repeat if self.random.random() < 0.5 else None

    async def _new(self, talk: Conversation, struck: Struck) -> None:
        outcome = await struck(lambda: talk.type("/new"))
        ended = "completed" if any(state.turns for state in self.possible) else "skipped"
        assert outcome.get("status", ended) == ended, outcome
        after = ExpectedThread()
        self.possible = [after] if outcome else [self.possible[0], after]

    async def _turn(self, talk: Conversation, struck: Struck) -> None:
        setup, never = self._scene(tool=self.random.random() < 0.5), anyio.Event()
        last = held(setup.replies[-1], never) if self.random.random() < 0.3 else setup.replies[-1]
        self.script.when(setup.prompt, *setup.replies[:-1], last)

        async def ask() -> dict[str, Any]:
            try:
                return await talk.prompt(setup.prompt)
            except RemoteError as error:
                if not error.data["retryable"]:
                    raise
                return {"status": "refused"}

        ended = await struck(ask)
        self.possible = setup.outcomes(
            self.possible[0], only_whole=ended.get("status") == "completed"
        )
        never.set()

    def _scene(self, *, tool: bool) -> "KilledTurn":
        return KilledTurn(
            self.word("prompt"), self.word("output") if tool else None, self.word("answer")
        )

    # --- what is found afterwards
    # -----------------------------------------------------------------------------------

    async def look(self, talk: Conversation) -> None:
        """Repeats the command if it has to be, runs a turn, and checks that the thread is in
        exactly one of the valid states.
        """
        await self._find_thread(talk)
        if self._repeat is not None:
            await self._repeat(talk)
        prompt, answer = self.word("prompt"), self.word("answer")
        self.script.when(prompt, say(answer))
        turn = await talk.prompt(prompt)
        assert turn["status"] == "completed", turn
        await self._settle(talk, prompt, answer)
        await self._check_lists(talk.client)

    async def _find_thread(self, talk: Conversation) -> None:
        """Finds the only thread that is not archived, because `/new` may or may not have
        happened.
        """
        overview = (await talk.client.request("orchestration/snapshot"))["threads"]
        [current] = [row["id"] for row in overview if not row["archived"]]
        if current != self.thread_id:
            self.archived.add(self.thread_id)
            self.possible = [state for state in self.possible if not state.turns]
        elif len(self.possible) > 1:
            self.possible = [state for state in self.possible if state.turns]
        self.thread_id = talk.thread_id = current

    async def _settle(self, talk: Conversation, prompt: str, answer: str) -> None:
        for state in self.possible:
            state.say(prompt, answer)
        found = Findings(pieces(talk.asked(prompt).input), *await talk.seen())
        # Of the context the turn's own answer is not shown yet.
        self.possible = [right_one(self.possible, found, lambda state: state.context()[:-1])]

    async def _check_lists(self, client: Client) -> None:
        listed = [row["id"] for row in (await client.request("thread/list"))["data"]]
        archived = {
            row["id"] for row in (await client.request("thread/list", archived=True))["data"]
        }
        assert listed == [self.thread_id]
        assert archived <= self.archived
        assert self.thread_id not in archived


@OVERRIDES
@pytest.mark.parametrize("seed", SEEDS)
async def test_a_daemon_killed_at_any_instant_leaves_one_of_the_two_right_states(
    seed: int, overrides: Overrides
) -> None:
    async with _life(seed, overrides) as life:
        for _ in range(DAEMON_KILLS + 1):
            async with daemon_process(life.harness) as daemon, life.harness.client() as client:
                with anyio.fail_after(ROUND_DEADLINE_S):
                    _check_no_orphan(life.harness, daemon)
                    talk = await life.in_conversation(client)
                    await life.look(talk)
                    await life.act(talk, _give_up)
                    await kill(daemon)


@OVERRIDES
@pytest.mark.parametrize("seed", SEEDS)
async def test_a_codex_killed_at_any_instant_leaves_one_of_the_two_right_states(
    seed: int, overrides: Overrides
) -> None:
    async with (
        _life(seed, overrides) as life,
        life.harness.daemon(),
        life.harness.client() as client,
    ):
        talk = await life.in_conversation(client)
        for _ in range(CHILD_KILLS):
            with anyio.fail_after(ROUND_DEADLINE_S):
                await life.look(talk)
                await life.act(talk, partial(_kill_child, life.harness))
                await talk.until_codex_answers()
        with anyio.fail_after(ROUND_DEADLINE_S):
            await life.look(talk)


@asynccontextmanager
async def _life(seed: int, overrides: Overrides) -> AsyncIterator[Life]:
    """Yields a harness with a conversation. A failure prints the steps and the daemons' logs."""
    script = AnswersByPrompt()
    async with opened_harness(overrides, script) as harness:
        life = Life(harness, script, seed)
        try:
            yield life
        except BaseException as error:
            error.add_note(f"seed {seed}, after {life.log}")
            if (log := harness.home / "daemon.log").exists():
                error.add_note(log.read_text()[-3000:])
            raise


def _check_no_orphan(harness: Harness, daemon: Process) -> None:
    found = codex_processes(harness.codex_home)
    own = {pid for pid, parent in found.items() if parent == daemon.pid}
    # What Codex is about to run looks like Codex until it does.
    assert {
        pid: parent for pid, parent in found.items() if pid not in own and parent not in own
    } == {}


async def _give_up(call: Call, instant_s: float) -> dict[str, Any]:
    """Waits for the call at most `instant_s` seconds, before the daemon is killed."""
    with anyio.move_on_after(instant_s):
        return await call()
    return {}


async def _kill_child(harness: Harness, call: Call, instant_s: float) -> dict[str, Any]:
    """Kills Codex after `instant_s` seconds, and returns the daemon's answer."""
    answers: list[dict[str, Any]] = []
    ended = anyio.Event()

    async def make() -> None:
        answers.append(await call())
        ended.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(make)
        with anyio.move_on_after(instant_s):
            await ended.wait()
        os.kill(harness.child_pid(), signal.SIGKILL)
    return answers[0]
