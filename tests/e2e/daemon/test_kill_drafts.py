"""SIGKILL of the daemon at random instants of a draft, of its acceptance, of an edit of the
summary and of the undo of these (docs/spec/context.md).

A draft changes nothing of the model's next input, and what is accepted is there as a whole or not at
all. `TRIMPOINT_E2E_LONG=n` kills n times as often.
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
Accepted = list[tuple[int, str]]


class Life(KilledLife[Accepted]):
    """A life whose states are the summaries that were accepted: of how many turns, and which."""

    def __init__(self, harness: Harness, script: AnswersByPrompt, seed: int) -> None:
        super().__init__(harness, script, seed, [])

    async def look(self, talk: Conversation) -> None:
        """Runs a turn, which shows what stands in the place of the turns before."""
        prompt = f"prompt-{self.said + 1}."
        self.script.when(prompt, say(f"answer-{self.said + 1}."))
        turn = await talk.prompt(prompt)
        assert turn["status"] == "completed", turn
        shown = [gist_of(piece) for piece in pieces(talk.asked(prompt).input)[:-1]]
        right = [one for one in self.possible if self.context(one) == shown]
        assert right, (shown, self.possible)
        self.possible = right[:1]
        self.said += 1

    def context(self, accepted: Accepted) -> list[Piece]:
        count, text = accepted[-1] if accepted else (0, "")
        shown = [Piece("summary", text)] if text else []
        for number in range(count + 1, self.said + 1):
            shown.append(Piece("user", f"prompt-{number}."))
            shown.append(Piece("assistant", f"answer-{number}."))
        return shown

    async def strike(self, talk: Conversation, daemon: Any) -> None:
        """Begins a draft, its acceptance or an undo, and kills the daemon at a random instant."""
        before = self.possible[0]
        draft = {"type": "thread.context.compact", "edit": True, "force": True}
        kinds = ["draft", "accept", "accept", *["undo", "edit"] * bool(before)]
        kind = self.chance.choice(kinds)
        if kind == "draft":
            command, after = draft, before
        elif kind == "accept":
            drafted = await talk.type("/compact --edit --force")
            assert drafted["status"] == "completed", drafted
            text = f"words-{self.said}."
            command, after = (
                {"type": "thread.draft.accept", "text": text},
                [*before, (self.said, text)],
            )
        elif kind == "edit":
            text = f"edited-{self.said}."
            command = {"type": "thread.summary.edit", "text": text}
            after = [*before, (before[-1][0], text)]
        else:
            command, after = {"type": "thread.context.undo"}, before[:-1]
        await self.kill_during(command, after, talk, daemon, LONGEST_S, is_done_when_answered=False)


@pytest.mark.parametrize("seed", SEEDS)
async def test_a_daemon_killed_while_it_drafts_or_accepts_leaves_the_old_or_the_new_context(
    seed: int,
) -> None:
    await live(Life, seed, KILLS)


async def test_a_draft_is_still_there_after_the_daemon_was_restarted(harness: Harness) -> None:
    async with harness.daemon(), harness.client() as client:
        talk = await Conversation.begin(client, harness.worktree, harness.model, harness.script)
        await talk.turn()
        drafted = await talk.type("/compact --edit --force")
    async with harness.daemon(), harness.client() as client:
        talk.client = client
        await client.request("thread/resume", threadId=talk.thread_id)
        accepted = await talk.type(drafted["draft"]["accept"])
        assert accepted["summary"] == "The gist of it all.", accepted
