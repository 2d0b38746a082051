"""`/undo` with the real Codex; the model's next input proves it (docs/spec/context.md)."""

import os
import random
import signal

import anyio
import pytest
from trimpoint.cli.connection.client import RemoteError
from trimpoint.testkit import say
from trimpoint.threads.ids import new_uuid7

from tests.deadlines import SCENARIO_S
from tests.e2e.conftest import Harness
from tests.e2e.conversation import Conversation, seen_turns
from tests.e2e.expectation import Piece, pieces
from tests.effort import longer

pytestmark = pytest.mark.codex


async def next_input(talk: Conversation) -> list[Piece]:
    """Runs another turn, and returns the model's input before its prompt."""
    return pieces((await talk.turn()).input)[:-1]


async def dividers(talk: Conversation) -> int:
    return sum(one["kind"] == "contextTrimPointDivider" for one in await talk.timeline())


@pytest.mark.also_restarted
@pytest.mark.parametrize(
    "trim", ["/clear", "/clear 1", "/compact --force", "/compact --keep 1 --force"]
)
async def test_the_context_is_what_it_was_and_the_turns_since(harness: Harness, trim: str) -> None:
    async with harness.conversation() as talk:
        for _ in range(3):
            await talk.turn(tool=True)
        before = await next_input(talk)
        since = Piece("user", "prompt-4."), Piece("assistant", "answer-4.")
        outcome = await talk.type(trim)
        assert outcome["undo"] == "/undo"
        await talk.turn(tool=True)
        undone = await talk.type("/undo")
        assert (undone["status"], undone["undo"]) == ("completed", "/undo --redo"), undone
        assert await dividers(talk) == 0
        after = await next_input(talk)
    assert after[: len(before) + 2] == [*before, *since]
    assert [piece.kind for piece in after[len(before) + 2 :]] == [
        "user",
        "call",
        "output",
        "assistant",
    ]


@pytest.mark.also_restarted
async def test_a_sealed_compaction_is_undone_and_what_it_began_with_is_not(
    sealed_harness: Harness,
) -> None:
    async with sealed_harness.conversation() as talk:
        for _ in range(3):
            await talk.turn(tool=True)
        before = await next_input(talk)
        await talk.begin_act()
        talk.script.then(say(""))  # no readable summary comes of it
        with talk.no_restart():
            compacted = await talk.type("/compact --force")
        assert compacted["summaryUnavailable"], compacted
        undone = await talk.type("/undo")
        assert undone["status"] == "completed", undone
        assert (await next_input(talk))[: len(before)] == before


@pytest.mark.also_restarted
async def test_undone_twice_and_redone_twice(harness: Harness) -> None:
    async with harness.conversation() as talk:
        for _ in range(4):
            await talk.turn(tool=True)
        await talk.type("/clear 3")
        await talk.type("/clear 1")
        for text in ("/undo", "/undo", "/undo --redo", "/undo --redo"):
            assert (await talk.type(text))["status"] == "completed"
        assert await dividers(talk) == 2
        assert (await talk.type("/undo --redo"))["reason"] == "nothing_to_undo"
        assert seen_turns(await talk.turn(), 4) == [4]
        assert (await talk.type("/undo"))["status"] == "completed"
        assert seen_turns(await talk.turn(), 5) == [2, 3, 4, 5]
        assert (await talk.type("/undo"))["status"] == "completed"
        assert seen_turns(await talk.turn(), 6) == [1, 2, 3, 4, 5, 6]
        nothing = await talk.type("/undo")
        assert (nothing["status"], nothing["reason"]) == ("skipped", "nothing_to_undo")


async def test_a_dry_run_says_what_an_undo_then_does(harness: Harness) -> None:
    async with harness.conversation() as talk:
        for _ in range(3):
            await talk.turn(tool=True)
        await talk.type("/clear 1")
        await talk.turn()
        said = await talk.type("/undo --dry-run")
        assert said["dryRun"] is True
        assert said["message"].startswith("Would undo /clear: 4 messages in 2 turns would be")
        assert seen_turns(await talk.turn(), 4) == [3, 4]
        said = await talk.type("/undo --dry-run")
        done = await talk.type("/undo")
        for name in ("before", "after"):
            assert said["tokens"][name] == done["tokens"][name]
        assert done["message"].startswith(
            "Undone: /clear. 4 messages in 2 turns are in the context"
        )


async def test_of_two_clients_that_undo_at_once_one_undoes(harness: Harness) -> None:
    async with harness.conversation() as talk, harness.client("other") as other:
        for _ in range(4):
            await talk.turn()
        await talk.type("/clear 3")
        await talk.type("/clear 1")
        outcomes: list[str] = []

        async def undo(client: object) -> None:
            point = (await talk.snapshot())["contextTrimPoints"][-1]["id"]
            command = {
                "type": "thread.context.undo",
                "commandId": new_uuid7(),
                "threadId": talk.thread_id,
                "trimPointId": point,
            }
            try:
                await client.request("orchestration/dispatch", command=command)  # type: ignore[attr-defined]
                outcomes.append("undone")
            except RemoteError as error:
                outcomes.append(str(error.reason))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(undo, talk.client)
            tasks.start_soon(undo, other)
        assert sorted(outcomes)[-1] == "undone"
        assert sorted(outcomes)[0] in ("already_in_progress", "nothing_to_undo")
        assert seen_turns(await talk.turn(), 4) == [2, 3, 4]


class Walk:
    """A random walk of trims, undos, redos, reverts and crashes, compared with the inputs that were
    seen.
    """

    def __init__(self, talk: Conversation, harness: Harness, seed: int) -> None:
        self.talk = talk
        self.harness = harness
        self.random = random.Random(seed)
        self.turns: list[tuple[int, list[Piece]]] = []
        self.trims: list[tuple[int, Piece | None, int]] = []
        self.undone: list[tuple[int, Piece | None, int]] = []
        self.happened = 0
        self.steps: list[str] = []

    @property
    def context(self) -> list[Piece]:
        kept, summary, _ = self.trims[-1] if self.trims else (0, None, 0)
        start = [summary] if summary is not None else []
        return start + [piece for _, of in self.turns[kept:] for piece in of]

    async def step(self) -> None:
        names = ["turn", "clear", "compact", "undo", "redo", "revert", "child dies"]
        name = self.random.choices(names, [7, 4, 2, 6, 3, 2, 1])[0]
        self.steps.append(name)
        self.happened += 1
        acts = {
            "turn": self.turn,
            "clear": self._clear,
            "compact": self._compact,
            "undo": self._undo,
            "redo": self._redo,
            "revert": self._revert,
            "child dies": self._child_dies,
        }
        await acts[name]()

    async def turn(self) -> None:
        before = self.context
        request = await self.talk.turn(tool=True)
        number = self.talk.turns
        shown = pieces(self.harness.model.turn_requests()[-2].input)
        prompt = Piece("user", f"prompt-{number}.")
        assert shown == [*before, prompt], self.steps
        own = pieces(request.input)[len(before) :]
        answer = Piece("assistant", f"answer-{number}.")
        self.turns.append((self.happened, [*own, answer]))
        self.undone = []

    async def _clear(self) -> None:
        keep = self.random.randint(0, 2)
        if (await self._type(f"/clear {keep}"))["status"] == "completed":
            self._trimmed(keep, None)

    async def _compact(self) -> None:
        first = self.trims[-1][0] if self.trims else 0
        messages = 2 * (len(self.turns) - first) + (
            self.context[:1] != [] and self.context[0].kind == "summary"
        )
        if (await self._type("/compact --force"))["status"] == "completed":
            text = f"<conversation-summary messages={messages}>{self.harness.script.summary}"
            self._trimmed(0, Piece("summary", f"{text}</conversation-summary>"))

    def _trimmed(self, keep: int, summary: Piece | None) -> None:
        first = self.trims[-1][0] if self.trims else 0
        kept = max(first, len(self.turns) - keep)
        self.trims.append((kept, summary, self.happened))
        self.undone = []

    async def _undo(self) -> None:
        outcome = await self._type("/undo")
        assert (outcome["status"] == "completed") == bool(self.trims), (self.steps, outcome)
        if self.trims:
            self.undone.append(self.trims.pop())

    async def _redo(self) -> None:
        outcome = await self._type("/undo --redo")
        assert (outcome["status"] == "completed") == bool(self.undone), (self.steps, outcome)
        if self.undone:
            self.trims.append(self.undone.pop())

    async def _revert(self) -> None:
        kept = self.random.randint(0, len(self.turns))
        if (await self._type(f"/revert {kept} --context"))["status"] == "completed":
            last = self.turns[kept - 1][0] if kept else 0
            self.turns = self.turns[:kept]
            self.trims = [trim for trim in self.trims if trim[2] < last]
            self.undone = []

    async def _child_dies(self) -> None:
        if self.turns:
            os.kill(self.harness.child_pid(), signal.SIGKILL)
            await self.talk.until_codex_answers()

    async def _type(self, text: str) -> dict[str, object]:
        outcome = await self.talk.type(text)
        self.steps[-1] = f"{text} ({outcome['status']})"
        return outcome


@pytest.mark.also_restarted
@pytest.mark.parametrize("seed", range(longer()))
async def test_any_order_of_trims_undos_and_reverts_shows_the_model_what_is_expected(
    harness: Harness, seed: int
) -> None:
    with anyio.fail_after(SCENARIO_S):
        async with harness.conversation() as talk:
            walk = Walk(talk, harness, seed)
            for _ in range(14):
                await walk.step()
            await walk.turn()
