"""Random conversations that edit files, with trims and reverts in any order: each state is compared
with a copy made at its time. A walk is named by its seed. `TRIMPOINT_E2E_LONG=n` walks n times as
many.
"""

import os
import random
import shutil
import signal
from typing import Any, NamedTuple

import anyio
import pytest
from trimpoint.testkit import run, say

from tests.deadlines import SCENARIO_S
from tests.e2e.conftest import Harness
from tests.e2e.conversation import Conversation
from tests.e2e.expectation import Piece, pieces
from tests.e2e.worktree import with_repository, worktree_files
from tests.effort import longer

pytestmark = pytest.mark.codex

STEPS = 14
SEEDS = range(2 * longer())
WALK_DEADLINE_S = SCENARIO_S
NAMES = ("kept.txt", "a", "b c", "d/e", "d/f", "d/g/h", "link")


class Copy(NamedTuple):
    """The state of the thread after a turn: its files, and the model's input before the next
    prompt.
    """

    files: dict[str, Any]
    context: list[Piece]
    turns: list[str]


class Walk:
    """A random walk. `copies` has an entry for each turn of the thread, and one for the state
    before the first.
    """

    def __init__(self, talk: Conversation, harness: Harness, seed: int) -> None:
        self.talk = talk
        self.harness = harness
        self.random = random.Random(seed)
        self.copies: list[Copy] = [Copy(worktree_files(harness.worktree), [], [])]
        self.before_revert: list[Copy] | None = None
        self.context: list[Piece] = []
        self.steps: list[str] = []
        self.mine: dict[str, tuple[str, bytes]] = {}

    async def step(self) -> None:
        """Runs one random action."""
        name = self.random.choices(
            ["turn", "clear", "compact", "revert", "undo", "user edits", "child dies"],
            [9, 3, 2, 5, 2, 2, 1],
        )[0]
        self.steps.append(name)
        await {
            "turn": self.turn, "clear": self.clear, "compact": self.compact, "revert": self.revert, "undo": self.undo,
            "user edits": self.user_edits, "child dies": self.child_dies,
        }[name]()  # fmt: skip

    async def turn(self) -> None:
        """Runs a turn that edits a file, and checks that the model's input was the expected
        context.
        """
        command = self._edit()
        self.talk.turns += 1
        self.talk.script.then(run(command), say(f"answer-{self.talk.turns}."))
        ended = await self.talk.prompt(f"prompt-{self.talk.turns}.")
        first, last = self.talk.model.turn_requests()[-2:]
        assert pieces(first.input) == [
            *self.context,
            Piece("user", f"prompt-{self.talk.turns}."),
        ], self.steps
        self.context = [*pieces(last.input), Piece("assistant", f"answer-{self.talk.turns}.")]
        turns = [*self.copies[-1].turns, ended["id"]]
        self.copies.append(Copy(worktree_files(self.harness.worktree), self.context, turns))

    async def clear(self) -> None:
        """Types `/clear N`, which keeps the last turns of the context with all their items."""
        keep = self.random.randint(0, 2)
        outcome = await self.talk.type(f"/clear {keep}")
        if outcome["status"] == "completed":
            starts = [at for at, piece in enumerate(self.context) if piece.kind == "user"]
            self.context = self.context[starts[-keep] :] if keep else []

    async def compact(self) -> None:
        """Types `/compact`, which leaves only the summary."""
        outcome = await self.talk.type("/compact")
        if outcome["status"] == "completed":
            count = 2 * sum(piece.kind == "user" for piece in self.context) + sum(
                piece.kind == "summary" for piece in self.context
            )
            text = f"<conversation-summary messages={count}>{self.talk.script.summary}</conversation-summary>"
            self.context = [Piece("summary", text)]

    async def revert(self) -> None:
        """Reverts to any turn, by its number or its id."""
        count = self.random.randrange(len(self.copies))
        named = self.copies[count].turns[-1] if count and self.random.random() < 0.5 else str(count)
        present = self._present()
        outcome = await self.talk.type(f"/revert {named}")
        if len(self.copies) == 1:
            assert outcome["reason"] == "nothing_to_revert", (self.steps, outcome)
            return
        self.steps[-1] += f" {count}"
        assert outcome["status"] == "completed", (self.steps, outcome)
        self.before_revert = present
        del self.copies[count + 1 :]
        await self._arrived()

    async def undo(self) -> None:
        """Undoes the last revert. A second undo undoes the first."""
        present = self._present()
        outcome = await self.talk.type("/revert --undo")
        if self.before_revert is None:
            assert outcome["reason"] == "nothing_to_revert", (self.steps, outcome)
            return
        assert outcome["status"] == "completed", (self.steps, outcome)
        self.copies, self.before_revert = self.before_revert, present
        await self._arrived(self.copies.pop())

    async def user_edits(self) -> None:
        """Writes a file between turns as a person does, which no revert takes back."""
        await self.captured()
        name = f"mine-{len(self.mine)}"
        self.mine[name] = ("file", self.random.randbytes(20))
        (self.harness.worktree / name).write_bytes(self.mine[name][1])
        await self.turn()

    async def child_dies(self) -> None:
        """Kills Codex, after which a revert still applies."""
        os.kill(self.harness.child_pid(), signal.SIGKILL)
        await self.talk.until_codex_answers()

    async def captured(self) -> None:
        """Waits until the files of the last turn are captured, because changes before that count as
        the turn's.
        """
        while self.copies[-1].turns:
            checkpoints = (await self.talk.snapshot())["checkpoints"]
            if any(
                one["turnId"] == self.copies[-1].turns[-1] and one["moment"] == "after"
                for one in checkpoints
            ):
                return

    def _present(self) -> list[Copy]:
        """Returns the copies, followed by one of the present state."""
        return [
            *self.copies,
            Copy(worktree_files(self.harness.worktree), self.context, self.copies[-1].turns),
        ]

    async def _arrived(self, copy: Copy | None = None) -> None:
        copy = copy or self.copies[-1]
        self.context = copy.context
        assert worktree_files(self.harness.worktree) == copy.files | self.mine, " ".join(self.steps)
        turns = (await self.talk.snapshot())["turns"]
        assert [turn["id"] for turn in turns] == copy.turns, self.steps

    def _edit(self) -> str:
        name = self.random.choice(NAMES)
        other = self.random.choice(NAMES)
        word = self.random.randint(1, 99)
        return self.random.choice(
            [
                f"find '{name}' -delete 2>/dev/null; mkdir -p \"$(dirname '{name}')\" 2>/dev/null; printf 'x{word}\\r\\ny' > '{name}'; true",
                f"find '{name}' -delete; true",
                f"chmod +x '{name}' 2>/dev/null; true",
                f"mkdir -p \"$(dirname '{other}')\"; mv '{name}' '{other}' 2>/dev/null; true",
                f"find link -delete; ln -s '{name}' link; true",
                f"echo {word} >> '{name}' 2>/dev/null; echo more > 'n{word}'; true",
            ]
        )


@pytest.mark.parametrize("seed", SEEDS)
async def test_any_turn_can_be_had_back_byte_for_byte(harness: Harness, seed: int) -> None:
    with_repository(harness.worktree)
    with anyio.fail_after(WALK_DEADLINE_S):
        async with harness.conversation() as talk:
            walk = Walk(talk, harness, seed)
            for _ in range(STEPS):
                await walk.step()
            await walk.captured()
            shutil.rmtree(
                harness.worktree / ".git" / "trimpoint", ignore_errors=True
            )  # what we keep there can be made again
            await walk.turn()
            await walk.revert()
