"""SIGKILL of the daemon at random instants of masks and their undos (docs/spec/context.md).

The model's next input must be the one from before or after the command: an output is there whole or
as a placeholder, and nothing else differs. `TRIMPOINT_E2E_LONG=n` kills n times as often.
"""

from typing import Any

import pytest
from trimpoint.testkit import run, say

from tests.e2e.conftest import Harness, longer
from tests.e2e.conversation import AnswersByPrompt, Conversation
from tests.e2e.daemon.killed_lives import KilledLife, live
from tests.e2e.expectation import Piece, pieces

pytestmark = pytest.mark.codex

SEEDS = range(longer())
KILLS = 6
# From the beginning of a command to a little after its end, on a machine that is not busy.
LONGEST_S = 0.2
LINES = "for i in $(seq 100); do echo line-$i-of-{}; done"
Masks = list[int]
"""The masked turns, in the order of their masks."""


class Life(KilledLife[Masks]):
    """A life whose states are the masks."""

    def __init__(self, harness: Harness, script: AnswersByPrompt, seed: int) -> None:
        super().__init__(harness, script, seed, [])

    async def look(self, talk: Conversation) -> None:
        """Runs a turn, which shows what is masked."""
        prompt = f"prompt-{self.said + 1}."
        output = run(LINES.format(self.said + 1))
        self.script.when(prompt, output, say(f"answer-{self.said + 1}."))
        turn = await talk.prompt(prompt)
        assert turn["status"] == "completed", turn
        shown = [_unnumbered(piece) for piece in pieces(talk.asked(prompt).input)[:-1]]
        right = [masks for masks in self.possible if self.context(masks) == shown]
        assert right, (shown, self.possible)
        self.possible = right[:1]
        self.said += 1

    def context(self, masks: Masks) -> list[Piece]:
        shown: list[Piece] = []
        for number in range(1, self.said + 1):
            output = "MASKED" if number in masks else f"line-100-of-{number}"
            shown += [
                Piece("user", f"prompt-{number}."),
                Piece("call", LINES.format(number)),
                Piece("output", output),
                Piece("assistant", f"answer-{number}."),
            ]
        return shown

    async def strike(self, talk: Conversation, daemon: Any) -> None:
        """Begins a mask or an undo, and kills the daemon at a random instant of it."""
        before = self.possible[0]
        free = [number for number in range(1, self.said) if number not in before]
        if before and (not free or self.chance.random() < 0.4):
            after, command = before[:-1], {"type": "thread.context.undo"}
        else:
            number = self.chance.choice(free)
            after = [*before, number]
            command = {"type": "thread.context.mask", "entryIds": await self.names(talk, number)}
        await self.kill_during(command, after, talk, daemon, LONGEST_S)

    async def names(self, talk: Conversation, number: int) -> list[str]:
        listed = await talk.client.request("context/messages/list", threadId=self.thread_id)
        command = LINES.format(number)
        [found] = [row["entryIds"] for row in listed["messages"] if command in row["preview"]]
        return list(found)


def _unnumbered(piece: Piece) -> Piece:
    is_masked = piece.kind == "output" and piece.text.endswith("tokens left the context]")
    return Piece("output", "MASKED") if is_masked else piece


@pytest.mark.parametrize("seed", SEEDS)
async def test_a_daemon_killed_while_it_masks_leaves_the_old_or_the_new_context(seed: int) -> None:
    await live(Life, seed, KILLS)
