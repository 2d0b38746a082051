"""A random walk through one conversation, each step compared with a model in plain Python."""

import os
import random
import signal
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, nullcontext
from typing import Any

import anyio
from trimpoint.cli.connection.client import Client
from trimpoint.testkit import ModelRequest, Reply, cut_off, failure, held, http_error, say

from tests.deadlines import STEP_S
from tests.e2e.conftest import Harness
from tests.e2e.context.walk_checks import check_counts, check_trim_points
from tests.e2e.conversation import Conversation, ScriptedTurn
from tests.e2e.expectation import (
    ExpectedThread,
    ExpectedTurn,
    ItemsSeen,
    Piece,
    pieces,
    shown_lines,
)
from tests.e2e.wire import without_paths

STEP_DEADLINE_S = STEP_S
MIN_MESSAGES = 2


class Walk:
    """A random walk: the harness, the thread, and the expected state of the thread."""

    def __init__(self, harness: Harness, seed: int, *, sealed: bool) -> None:
        self.harness = harness
        self.random = random.Random(seed)
        self.sealed = sealed
        self.steps: list[str] = []
        self.expected = ExpectedThread()
        self.seen = ItemsSeen()
        self.said = 0
        self.archived: list[tuple[str, ExpectedThread]] = []
        self.events: list[int] = []
        self._running = AsyncExitStack()
        self._talk: Conversation | None = None
        self.watcher: Client | None = None

    @property
    def talk(self) -> Conversation:
        assert self._talk is not None
        return self._talk

    async def begin(self) -> None:
        """Starts a daemon, two clients and a thread."""
        client = await self._open()
        self._talk = await Conversation.begin(
            client, self.harness.worktree, self.harness.model, self.harness.script
        )
        await self._follow()

    async def end(self) -> None:
        """Disconnects the clients and ends the daemon."""
        await self._running.aclose()

    async def _open(self) -> Client:
        self._running = AsyncExitStack()
        await self._running.enter_async_context(self.harness.daemon())
        self.watcher = await self._running.enter_async_context(self.harness.client("watcher"))
        return await self._running.enter_async_context(self.harness.client("talker"))

    async def _follow(self) -> None:
        assert self.watcher is not None
        thread_id = self.talk.thread_id
        resumed = await self.watcher.request("thread/resume", threadId=thread_id)
        assert resumed["thread"]["id"] == thread_id
        await self.watcher.request("orchestration/subscribeThread", threadId=thread_id)

    # --- turns
    # ----------------------------------------------------------------------------------------------------

    def _word(self, what: str) -> str:
        self.said += 1
        return f"{what}-{self.said}"

    def _scene(self) -> ScriptedTurn:
        setup = ScriptedTurn(self._word("prompt"))
        for _ in range(self.random.choice((0, 0, 1, 2))):
            before = self.random.choice((None, None, "thought", "word"))
            if before == "thought":
                setup.replies.append(
                    setup.thinks(self._word("sealed")) + setup.runs(self._word("output"))
                )
            elif before == "word":
                setup.replies.append(
                    setup.says(self._word("comment")) + setup.runs(self._word("output"))
                )
            else:
                setup.replies.append(setup.runs(self._word("output")))
        return setup

    def _answer(self, setup: ScriptedTurn) -> Reply:
        thought = self.random.choice(("none", "none", "sealed", "open"))
        if thought == "none":
            return setup.says(self._word("answer"))
        first = setup.thinks(self._word("sealed") if thought == "sealed" else None)
        return first + setup.says(self._word("answer"))

    async def turn(self) -> None:
        """Runs a turn that completes."""
        setup = self._scene()
        setup.replies.append(self._answer(setup))
        await self._perform(setup)

    async def failed_turn(self) -> None:
        """Runs a turn whose last model call fails."""
        setup = self._scene()
        endings = (
            (http_error(500, "boom"), ""),
            (http_error(400, "bad"), ""),
            (cut_off("half an ans"), "half an ans"),
            (failure("weird", "broken"), ""),
        )
        setup.ends_badly(*self.random.choice(endings))
        await self._perform(setup)

    async def _perform(self, setup: ScriptedTurn) -> None:
        self.harness.script.then(*setup.replies)
        before = len(self.harness.model.requests)
        turn = await self.talk.prompt(setup.turn.pieces[0].text)
        assert turn["status"] == setup.turn.status, turn
        self._check_model(self.harness.model.requests[before:], setup.turn)
        self.expected.turns.append(setup.turn)

    async def interrupted_turn(self) -> None:
        """Runs a turn that is interrupted while the model answers."""
        await self._break_off(self._interrupt)

    async def child_killed_in_a_turn(self) -> None:
        """Runs a turn in which Codex is killed."""
        await self._break_off(self._kill_child)

    async def _interrupt(self, turn_id: str, turn: ExpectedTurn) -> None:
        await self.talk.client.request(
            "turn/interrupt", threadId=self.talk.thread_id, turnId=turn_id
        )
        turn.pieces.append(Piece("aborted"))

    async def _kill_child(self, turn_id: str, turn: ExpectedTurn) -> None:
        os.kill(self.harness.child_pid(), signal.SIGKILL)

    async def _break_off(self, how: Callable[[str, ExpectedTurn], Awaitable[None]]) -> None:
        setup, never = self._scene(), anyio.Event()
        self.harness.script.then(*setup.replies, held(say("never said"), never))
        client, before, heard = (
            self.talk.client,
            len(self.harness.model.requests),
            len(self.talk.client.messages),
        )
        asked = [{"type": "text", "text": setup.turn.pieces[0].text}]
        turn_id = (await client.request("turn/start", threadId=self.talk.thread_id, input=asked))[
            "turn"
        ]["id"]
        await self.harness.model.wait_for_request(before + len(setup.replies) + 1)
        shown = list(setup.turn.pieces)
        await how(turn_id, setup.turn)
        ended = await client.expect(
            lambda message: (
                message.get("method") == "turn/completed"
                and message["params"]["turn"]["id"] == turn_id
            ),
            heard,
        )
        never.set()
        assert ended["params"]["turn"]["status"] == "interrupted"
        self._check_model(self.harness.model.requests[before:], ExpectedTurn(shown, []))
        setup.turn.status = "interrupted"
        self.expected.turns.append(setup.turn)

    def _check_model(self, requests: list[ModelRequest], turn: ExpectedTurn) -> None:
        """Checks that each model call of the turn had exactly the context and the turn's items so
        far as input.
        """
        context = self.expected.context()
        for request in requests:
            shown = pieces(request.input)
            assert shown[: len(context)] == context
            assert shown[len(context) :] == turn.pieces[: len(shown) - len(context)]
            assert len(shown) > len(context)
            self.seen.check(request.input)
        assert requests

    # --- commands
    # -------------------------------------------------------------------------------------------------

    def _some_keep(self) -> int:
        active = len(self.expected.active)
        return self.random.choice(
            (0, 1, active - 1, active, active + 1, self.random.randint(0, active + 1))
        ) % (active + 2)

    async def clear(self) -> None:
        """Types `/clear N`, for N from 0 to more turns than there are."""
        keep = self._some_keep()
        text = f"/clear {keep}" if keep else self.random.choice(("/clear", "/clear 0", "/CLEAR"))
        self.steps[-1] = text
        outcome = await self.talk.type(text)
        if not self.expected.can_clear(keep):
            assert (outcome["status"], outcome["reason"]) == ("skipped", "nothing_to_trim"), outcome
            return
        assert outcome["status"] == "completed", outcome
        self.expected.clear(keep)
        await self._check_outcome(outcome)

    async def compact(self) -> None:
        """Types `/compact` with random options."""
        keep, force, guidance = (
            self._some_keep(),
            self.random.random() < 0.3,
            self.random.choice(("", " mind the files")),
        )
        options = (f" --keep {keep}" if keep else "") + (" --force" if force else "")
        self.steps[-1] = f"/compact{options}{guidance}"
        gist = self._word("gist")
        refusal = self.expected.compaction_refusal(keep, MIN_MESSAGES, force)
        if refusal is None:
            self._queue_summary(say(gist))
        before = len(self.harness.model.requests)
        outcome = await self.talk.type(self.steps[-1])
        if refusal is not None:
            assert (outcome["status"], outcome["reason"]) == ("skipped", refusal), outcome
            return
        assert (outcome["status"], outcome["summary"]) == ("completed", gist), outcome
        self._check_compaction(self.harness.model.requests[before:], guidance.strip())
        self.expected.compact(keep, gist)
        await self._check_outcome(outcome)

    async def failed_compact(self) -> None:
        """Types a `/compact` that fails."""
        if self.expected.compaction_refusal(0, MIN_MESSAGES, True) is not None:
            return
        reply = self.random.choice(
            (http_error(500, "boom"), cut_off("half"), *(() if self.sealed else (say(""),)))
        )
        self.harness.script.at_compaction(reply)
        outcome = await self.talk.type("/compact --force")
        assert (outcome["status"], outcome["reason"]) == ("failed", "compaction_failed"), outcome

    def _queue_summary(self, reply: Reply) -> None:
        if self.sealed:
            self.harness.script.then(reply)  # a sample of the compacted thread reads it
        else:
            self.harness.script.at_compaction(reply)

    def _check_compaction(self, requests: list[ModelRequest], guidance: str) -> None:
        request = requests[0]
        assert request.kind == ("remote_compaction" if self.sealed else "inline_compaction")
        items = request.input[:-1]
        shown, context = pieces(items), self.expected.context()
        # The compaction runs on a fork, and Codex marks a fork as broken off where it sees no end
        # of the last turn.
        assert shown in (context, [*context, Piece("aborted")])
        assert request.mentions(guidance)
        self.seen.check(items)

    async def _check_outcome(self, outcome: dict[str, Any]) -> None:
        points = (await self.talk.snapshot())["contextTrimPoints"]
        assert outcome["trimPointId"] == points[-1]["id"]

    async def new(self) -> None:
        """Types `/new`, and continues the walk in the new thread, if there is one."""
        outcome = await self.talk.type("/new")
        if not self.expected.turns:
            assert outcome["status"] == "skipped", outcome
            return
        assert outcome["status"] == "completed", outcome
        self.archived.append((self.talk.thread_id, self.expected))
        self.expected = ExpectedThread()
        self.talk.thread_id = outcome["newThreadId"]
        await self._follow()

    # --- faults
    # ---------------------------------------------------------------------------------------------------

    async def restart(self) -> None:
        """Restarts the daemon."""
        thread_id = self.talk.thread_id
        await self.end()
        client = await self._open()
        self._talk = Conversation(client, thread_id, self.harness.model, self.harness.script)
        await self._follow()

    async def kill_child(self) -> None:
        """Kills Codex while it is idle."""
        os.kill(self.harness.child_pid(), signal.SIGKILL)
        await self.talk.until_codex_answers()

    # --- the walk
    # -------------------------------------------------------------------------------------------------

    async def step(self, action: Callable[[], Awaitable[None]]) -> None:
        """Runs one action, then checks everything that clients can see."""
        self.steps.append(action.__name__)
        # A restart closes and opens task groups, which no deadline may straddle.
        with anyio.fail_after(STEP_DEADLINE_S) if action != self.restart else nullcontext():
            await action()
        with anyio.fail_after(STEP_DEADLINE_S):
            await self.check()

    async def check(self) -> None:
        """Checks the read model, the timeline and the lists."""
        await self._check_thread(self.talk.thread_id, self.expected, archived=False)
        if self.archived:
            await self._check_thread(*self.random.choice(self.archived), archived=True)
        await self._check_lists()
        self._check_watcher()

    async def _check_thread(
        self, thread_id: str, expected: ExpectedThread, *, archived: bool
    ) -> None:
        talk = Conversation(self.talk.client, thread_id, self.harness.model, self.harness.script)
        snapshot = await talk.snapshot()
        assert snapshot["archived"] is archived
        assert snapshot["operation"] is None or snapshot["operation"]["phase"] in (
            "ready",
            "failed",
        )
        check_counts(snapshot, expected)
        opened = await talk.timeline(expand="all", limit=1000)
        check_trim_points(snapshot, expected, [entry["id"] for entry in opened if "id" in entry])
        everything = frozenset(range(len(expected.trims)))
        assert shown_lines(opened) == expected.timeline(everything)
        assert shown_lines(await talk.timeline(limit=1000)) == expected.timeline(frozenset())
        if expected.trims:
            position = self.random.randrange(len(expected.trims))
            expand = [snapshot["contextTrimPoints"][position]["id"]]
            assert shown_lines(await talk.timeline(expand=expand, limit=1000)) == expected.timeline(
                frozenset({position})
            )
        if (
            expected.turns or self.archived
        ):  # Codex refuses it for a thread that it began and that never had one
            listed = await talk.client.request("thread/turns/list", threadId=thread_id, limit=1000)
            assert [turn["id"] for turn in reversed(listed["data"])] == [
                turn["id"] for turn in snapshot["turns"]
            ]

    async def _check_lists(self) -> None:
        client = self.talk.client
        listed = [row["id"] for row in (await client.request("thread/list"))["data"]]
        archived = [
            row["id"] for row in (await client.request("thread/list", archived=True))["data"]
        ]
        # Codex lists a thread without a turn only if something was set on it, as `/new` may.
        assert listed == ([self.talk.thread_id] if self.expected.turns or listed else [])
        with_turns = {thread_id for thread_id, known in self.archived if known.turns}
        assert with_turns <= set(archived) <= {thread_id for thread_id, _ in self.archived}
        assert len(archived) == len(set(archived))

    def _check_watcher(self) -> None:
        """Checks that the other client received each event once, in order, and no provider thread's
        id.
        """
        assert self.watcher is not None
        heard = [
            m["params"] for m in self.watcher.notifications if m["method"] == "orchestration/event"
        ]
        for thread_id in {envelope["eventId"].split("/")[0] for envelope in heard}:
            numbers = [e["threadSequence"] for e in heard if e["eventId"].startswith(thread_id)]
            assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
        ours = {self.talk.thread_id, *(thread_id for thread_id, _ in self.archived)}
        providers = {request.thread_id for request in self.harness.model.requests} - ours - {None}
        said = [
            str(without_paths(message))
            for client in (self.watcher, self.talk.client)
            for message in client.messages
        ]
        assert [
            message for message in said for provider in providers if str(provider) in message
        ] == []

    def choose(self) -> Callable[[], Awaitable[None]]:
        """Returns the next action, most often a turn, so that there is something to trim."""
        actions: list[tuple[Callable[[], Awaitable[None]], int]] = [
            (self.turn, 12), (self.failed_turn, 2), (self.interrupted_turn, 2), (self.clear, 5), (self.compact, 4),
            (self.failed_compact, 1), (self.new, 1), (self.restart, 1), (self.kill_child, 1), (self.child_killed_in_a_turn, 1),
        ]  # fmt: skip
        return self.random.choices(
            [action for action, _ in actions], [weight for _, weight in actions]
        )[0]
