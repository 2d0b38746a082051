"""Random walks that mix trims, edits of summaries, handoffs and undos with other changes of a
thread: forks, native reverts, injected items, turns of other programs, restarts and kills.

The model's next input is compared with a model in plain Python. A walk is named by its seed; a
failure prints the seed and the steps. `TRIMPOINT_E2E_LONG=n` walks n times as many.
"""

import os
import random
import re
import signal
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, nullcontext
from copy import deepcopy
from dataclasses import replace
from typing import Any

import anyio
import pytest
from trimpoint.codex.appserver.versions import NEWEST_TESTED, binary_version, forgets_settings
from trimpoint.testkit import run, say

from tests.deadlines import SCENARIO_S
from tests.e2e.codex.another_program import another_program
from tests.e2e.conftest import CODEX_BIN, Harness, longer
from tests.e2e.context.mixed_context import Context, Stretch, Told
from tests.e2e.conversation import Conversation
from tests.e2e.expectation import Piece, gist_of, pieces

pytestmark = [
    pytest.mark.codex,
    pytest.mark.never_restarted(reason="restarts the daemon by its own steps"),
]

STEPS = 22
HAS_REVERT = (0, 153, 4)
SEEDS = range(2 * longer())
_PROVIDER_THREAD = re.compile(r"rollout-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-([0-9a-f-]{36})")


def newest_provider_thread(harness: Harness) -> str:
    """Returns the id of the Codex thread that serves the thread: each trim and each fork makes a
    newer one.
    """
    files = harness.codex_home.glob("sessions/*/*/*/rollout-*.jsonl")
    return max(found[1] for file in files if (found := _PROVIDER_THREAD.match(file.name)))


class Walk:
    """A random walk through one conversation and its forks."""

    def __init__(self, harness: Harness, seed: int) -> None:
        self.harness = harness
        self.random = random.Random(seed)
        self.steps: list[str] = []
        self.context = Context()
        # What was in the context before each trim that can be undone, and how many turns it kept;
        # the last one at the end.
        self.before_trims: list[tuple[Context, int]] = []
        self.said = 0
        self.stretches = 0
        self.version = binary_version(CODEX_BIN) or NEWEST_TESTED
        self._running = AsyncExitStack()
        self.talk: Conversation

    async def begin(self) -> None:
        await self._open()
        client = await self._running.enter_async_context(self.harness.client())
        self.talk = await Conversation.begin(
            client, self.harness.worktree, self.harness.model, self.harness.script
        )

    async def end(self) -> None:
        await self._running.aclose()

    async def _open(self) -> None:
        self._running = AsyncExitStack()
        await self._running.enter_async_context(self.harness.daemon())

    async def _go_on(self) -> None:
        """Starts another daemon, and a client that resumes the thread."""
        await self._open()
        client = await self._running.enter_async_context(self.harness.client())
        self.talk = Conversation(
            client, self.talk.thread_id, self.harness.model, self.harness.script
        )
        await client.request("thread/resume", threadId=self.talk.thread_id, excludeTurns=True)

    def _word(self, what: str) -> str:
        self.said += 1
        return f"{what}-{self.said}"

    # --- turns

    def _scene(self) -> Told:
        told = Told([Piece("user", self._word("prompt"))], stretches=self.stretches)
        for _ in range(self.random.choice((0, 0, 1, 2))):
            word = self._word("output")
            self.harness.script.then(run(f"echo {word}"))
            told.pieces += [Piece("call", f"echo {word}"), Piece("output", word)]
        answer = self._word("answer")
        self.harness.script.then(say(answer))
        told.pieces.append(Piece("assistant", answer))
        return told

    async def turn(self) -> None:
        told = self._scene()
        await self.talk.prompt(told.pieces[0].text)
        self._check(told)
        self.context.add(told)

    def _shown(self) -> list[Piece]:
        return [gist_of(piece) for piece in pieces(self.harness.model.turn_requests()[-1].input)]

    def _check(self, told: Told) -> None:
        assert self._shown() == self.context.shown() + told.pieces[:-1]

    async def turn_elsewhere(self) -> None:
        """Runs a turn with another program while no daemon is running."""
        if not self.context.shown():
            return  # Codex has no file of it
        if forgets_settings(self.version):
            return  # the other program's commands would run in a sandbox
        provider_id = newest_provider_thread(self.harness)
        await self.end()
        told = self._scene()
        async with another_program(self.harness, provider_id) as wire:
            prompt = [{"type": "text", "text": told.pieces[0].text}]
            await wire.result("turn/start", threadId=provider_id, input=prompt)
            await wire.until(lambda one: one.get("method") == "turn/completed")
        self._check(told)
        self.context.add(told)
        await self._go_on()

    async def inject(self) -> None:
        """Injects a message after the last turn."""
        piece, item = self._injected()
        await self.talk.client.request(
            "thread/inject_items", threadId=self.talk.thread_id, items=[item]
        )
        self.context.inject(piece)

    async def inject_elsewhere(self) -> None:
        """Another program adds a message before the first turn while no daemon runs."""
        if self.context.turns or not self.context.waiting:
            return
        provider_id = newest_provider_thread(self.harness)
        await self.end()
        piece, item = self._injected()
        async with another_program(self.harness, provider_id) as wire:
            await wire.result("thread/inject_items", threadId=provider_id, items=[item])
        self.context.inject(piece)
        await self._go_on()

    def _injected(self) -> tuple[Piece, dict[str, Any]]:
        text = self._word("injected")
        content = [{"type": "input_text", "text": text}]
        return Piece("user", text), {"type": "message", "role": "user", "content": content}

    # --- commands

    async def clear(self) -> None:
        keep = self.random.randint(0, len(self.context.turns))
        self.steps[-1] = f"/clear {keep}"
        outcome = await self.talk.type(self.steps[-1])
        if outcome["status"] == "completed":
            self._remember(keep)
            self.context.keep(keep)
        else:
            assert outcome["reason"] == "nothing_to_trim", outcome
            assert keep == len(self.context.turns)
            assert keep or not self.context.shown()

    async def compact(self) -> None:
        if len([told for told in self.context.turns if told.stretch is None]) < 2:
            return
        keep = self.random.randint(0, len(self.context.turns) - 1)
        self.steps[-1] = f"/compact --keep {keep}" if keep else "/compact"
        gist = self._word("gist")
        self.harness.script.at_compaction(say(gist))
        outcome = await self.talk.type(self.steps[-1])
        assert outcome["status"] == "completed", outcome
        self._remember(keep)
        self.context.keep(keep, gist)

    async def edited_compact(self) -> None:
        """Has a summary drafted, and accepts it as it is or with other words."""
        if len([told for told in self.context.turns if told.stretch is None]) < 2:
            return
        keep = self.random.randint(0, len(self.context.turns) - 1)
        gist = self._word("gist")
        self.harness.script.at_compaction(say(gist))
        await self.talk.complete(f"/compact --edit --force --keep {keep}")
        since = self.random.randint(0, 1)
        for _ in range(since):
            await self.turn()
        written = self.random.choice((gist, self._word("written")))
        self.steps[-1] = f"/compact --edit --keep {keep}, {since} turns, /accept"
        await self.talk.complete("/accept" if written == gist else f"/accept {written}")
        self._remember(keep + since)
        self.context.keep(keep + since, written)

    async def edit_summary(self) -> None:
        """Writes another summary in the place of the one that the context begins with."""
        written = self._word("written")
        outcome = await self.talk.type(f"/summary edit {written}")
        if self.context.summary is None:
            assert outcome["status"] != "completed", outcome
            return
        assert outcome["status"] == "completed", outcome
        self._remember(len(self.context.turns))
        self.context.summary = written

    async def handoff(self) -> None:
        """Continues the walk in a new thread that begins with a brief."""
        if all(told.stretch is not None for told in self.context.turns):
            return  # there is nothing to hand off
        written, answer = self._word("brief"), self._word("answer")
        self.harness.script.then(say("Drafted."))
        await self.talk.complete("/handoff")
        assert self._shown()[:-1] == self.context.shown()
        self.harness.script.then(say(answer))
        outcome = await self.talk.type(f"/accept {written}")
        assert outcome["status"] == "completed", outcome
        await self.harness.model.wait_for_request(lambda one: one.mentions(written))
        self.talk = Conversation(
            self.talk.client, outcome["newThreadId"], self.harness.model, self.harness.script
        )
        self.context, self.stretches = Context(), 0
        self.before_trims.clear()
        while (await self.talk.snapshot())["turns"][-1]["status"] != "completed":  # noqa: ASYNC110
            await anyio.sleep(0.01)  # its end is told to nobody who asks
        told = Told([Piece("user", written), Piece("assistant", answer)])
        self._check(told)
        self.context.add(told)

    async def stretch(self) -> None:
        """Clears turns in the middle, or puts a summary in their place."""
        turns = self.context.turns
        if not turns:
            return
        first = self.random.randrange(len(turns))
        last = self.random.randrange(first, len(turns))
        if any(one.stretch and one.injected[one.gone :] for one in turns[first : last + 1]):
            return  # what was injected since could leave once more
        number = (await self.talk.snapshot())["turnCount"] - len(turns) + 1
        command = self.random.choice(("clear", "compact"))
        self.steps[-1] = f"/{command} {number + first}..{number + last}"
        gist = self._word("gist") if command == "compact" else None
        asked = [one for one in turns[first : last + 1] if one.stretch is None]
        overlaps = any(one.stretch and one.stretch.gist for one in turns[first : last + 1])
        if gist and asked and not overlaps:
            self.harness.script.at_compaction(say(gist))
        outcome = await self.talk.type(self.steps[-1])
        if not asked or overlaps:
            assert outcome["reason"] in ("nothing_to_trim", "already_discarded"), outcome
            return
        assert outcome["status"] == "completed", outcome
        self._remember(len(turns))
        self.stretches += 1
        taken = Stretch(self.stretches, gist)
        for at in range(first, last + 1):
            if turns[at].stretch is None:
                self.context.leave(at, at, taken)

    def _remember(self, kept: int) -> None:
        self.before_trims.append((replace(self.context), kept))

    async def undo(self) -> None:
        """Undoes the last trim; the turns since then stay."""
        if not self.before_trims:
            return
        outcome = await self.talk.type("/undo")
        assert outcome["status"] == "completed", outcome
        self.context = self.context.undone(*self.before_trims.pop())

    # --- what Codex offers

    async def fork(self) -> None:
        """Continues the walk in a fork."""
        if not (self.context.turns or self.context.waiting):
            return
        forked = await self.talk.client.request(
            "thread/fork",
            threadId=self.talk.thread_id,
            sandbox="danger-full-access",
            approvalPolicy="never",
            excludeTurns=True,
        )
        self.context = deepcopy(self.context)
        for told in self.context.turns:
            told.stretches = self.stretches
        self.before_trims.clear()
        self.talk = Conversation(
            self.talk.client, forked["thread"]["id"], self.harness.model, self.harness.script
        )

    async def native_revert(self) -> None:
        """Calls `thread/revert` for an active turn that is not the first."""
        if not self.context.turns or self.version < HAS_REVERT:
            return
        back = self.random.randint(1, len(self.context.turns))
        self.steps[-1] = f"thread/revert, {back} back"
        turn_id = (await self.talk.snapshot())["turns"][-back]["id"]
        await self.talk.client.request(
            "thread/revert", threadId=self.talk.thread_id, beforeTurnId=turn_id
        )
        self.context.revert(back)
        self.before_trims.clear()

    # --- faults

    async def restart(self) -> None:
        await self.end()
        await self._go_on()

    async def kill_child(self) -> None:
        os.kill(self.harness.child_pid(), signal.SIGKILL)
        await self.talk.until_codex_answers()

    async def step(self, action: Callable[[], Awaitable[None]]) -> None:
        self.steps.append(action.__name__)
        # A restart closes and opens task groups, which no deadline may straddle.
        straddles = action in (self.restart, self.turn_elsewhere, self.inject_elsewhere)
        with nullcontext() if straddles else anyio.fail_after(SCENARIO_S):
            await action()


@pytest.mark.parametrize("seed", SEEDS)
async def test_a_random_mix_of_commands_shows_the_model_exactly_what_was_kept(
    harness: Harness, seed: int
) -> None:
    walk = Walk(harness, seed)
    await walk.begin()
    often = [walk.turn] * walk.random.choice((3, 8))
    rest = [
        walk.clear, walk.compact, walk.edited_compact, walk.edit_summary, walk.handoff, walk.stretch, walk.stretch, walk.inject, walk.inject, walk.fork, walk.native_revert, walk.undo, walk.undo,
        walk.restart, walk.kill_child, walk.turn_elsewhere, walk.inject_elsewhere,
    ]  # fmt: skip
    try:
        await walk.step(walk.random.choice((walk.turn, walk.inject)))
        for _ in range(STEPS):
            await walk.step(walk.random.choice(often + rest))
        await walk.step(walk.turn)
    except BaseException as error:
        error.add_note(f"seed {seed}, after {walk.steps}")
        raise
    finally:
        await walk.end()
