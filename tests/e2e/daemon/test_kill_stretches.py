"""SIGKILL of the daemon at random instants of `/compact 4..12` and its undo (docs/spec/context.md).

The model's next input must be the one from before or after the command: the turns are there word for
word, or the summary in their place, and nothing else differs. `TRIMPOINT_E2E_LONG=n` kills n times
as often.
"""

from typing import Any

import pytest
from trimpoint.testkit import say

from tests.e2e.conftest import Harness, longer
from tests.e2e.conversation import AnswersByPrompt, Conversation
from tests.e2e.daemon.killed_lives import KilledLife, live
from tests.e2e.expectation import Piece, gist_of, pieces

pytestmark = pytest.mark.codex

SEEDS = range(longer())
KILLS = 6
# From the beginning of a command to a little after its end, on a machine that is not busy.
LONGEST_S = 0.4
Stretches = list[tuple[int, int]]


class Life(KilledLife[Stretches]):
    """A life whose states are the stretches that are summarized, in the order in which they were."""

    def __init__(self, harness: Harness, script: AnswersByPrompt, seed: int) -> None:
        super().__init__(harness, script, seed, [])

    async def look(self, talk: Conversation) -> None:
        """Runs a turn, which shows what is summarized."""
        prompt = f"prompt-{self.said + 1}."
        self.script.when(prompt, say(f"answer-{self.said + 1}."))
        turn = await talk.prompt(prompt)
        assert turn["status"] == "completed", turn
        shown = [gist_of(piece) for piece in pieces(talk.asked(prompt).input)[:-1]]
        right = [one for one in self.possible if self.context(one) == shown]
        assert right, (shown, self.possible)
        self.possible = right[:1]
        self.said += 1

    def context(self, stretches: Stretches) -> list[Piece]:
        shown: list[Piece] = []
        for number in range(1, self.said + 1):
            if any(number == first for first, _ in stretches):
                shown.append(Piece("summary", self.script.summary))
            if not any(first <= number <= last for first, last in stretches):
                shown.append(Piece("user", f"prompt-{number}."))
                shown.append(Piece("assistant", f"answer-{number}."))
        return shown

    async def strike(self, talk: Conversation, daemon: Any) -> None:
        """Begins a compaction or an undo, and kills the daemon at a random instant of it."""
        before = self.possible[0]
        taken = {at for first, last in before for at in range(first, last + 1)}
        free = [at for at in range(1, self.said) if not {at, at + 1} & taken]
        if before and (not free or self.chance.random() < 0.4):
            after, command = before[:-1], dict[str, Any](type="thread.context.undo")
        else:
            first = self.chance.choice(free)
            after = [*before, (first, first + 1)]
            command = {
                "type": "thread.context.compact", "fromTurn": first, "throughTurn": first + 1,
            }  # fmt: skip
        await self.kill_during(command, after, talk, daemon, LONGEST_S, is_done_when_answered=False)


@pytest.mark.parametrize("seed", SEEDS)
async def test_a_daemon_killed_while_it_summarizes_a_stretch_leaves_the_old_or_the_new_context(
    seed: int,
) -> None:
    await live(Life, seed, KILLS)
