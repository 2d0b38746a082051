"""Compares the meter of a conversation with the numbers that Codex reported."""

from typing import Any

import anyio
from trimpoint.testkit import Usage, say

from tests.deadlines import STEP_S
from tests.e2e.conversation import Conversation

ANSWER_TOKENS = 10
BASELINE_TOKENS = 12_000
WINDOW = 258_400  # Codex's, of a model that it does not know
CRITICAL = 233_000  # of this window
METER_DEADLINE_S = STEP_S


def spending(input_tokens: int) -> Usage:
    """Returns the usage that a model call reports."""
    return Usage(
        input_tokens=input_tokens,
        output_tokens=ANSWER_TOKENS,
        cached_input_tokens=input_tokens // 2,
        reasoning_tokens=4,
    )


class MeterProbe:
    """Runs turns whose model calls report a given usage, and reads the meter."""

    def __init__(self, talk: Conversation) -> None:
        self.talk = talk
        self.spent = 0
        self._prompts = 0

    async def turn(self, input_tokens: int) -> dict[str, Any]:
        """Runs a turn with one model call of this size, and returns the meter after it, which must
        agree with Codex.
        """
        self._prompts += 1
        self.talk.script.then(say(f"said-{self._prompts}.", usage=spending(input_tokens)))
        turn = await self.talk.prompt(f"asked-{self._prompts}.")
        assert turn["status"] == "completed", turn
        self.spent += input_tokens + ANSWER_TOKENS
        meter = await self.meter()
        self.agrees_with_codex(meter)
        assert meter["totalTokens"] == self.spent
        return meter

    async def meter(self) -> dict[str, Any]:
        """Returns the present meter, once the snapshot shows the same one."""
        with anyio.fail_after(METER_DEADLINE_S):
            while True:
                meter = await self.talk.client.request(
                    "context/status", threadId=self.talk.thread_id
                )
                if (await self.talk.snapshot())["context"] == meter:
                    return dict(meter)

    @property
    def received(self) -> list[dict[str, Any]]:
        """Returns every meter that the client has received, oldest first."""
        return [m["params"] for m in self.talk.notifications if m["method"] == "context/updated"]

    @property
    def codex(self) -> dict[str, Any]:
        """Returns the usage that Codex reported last."""
        reports = [m for m in self.talk.notifications if m["method"] == "thread/tokenUsage/updated"]
        return dict(reports[-1]["params"]["tokenUsage"])

    def agrees_with_codex(self, meter: dict[str, Any]) -> None:
        """Checks that the meter agrees with the usage that Codex reported last."""
        last, window = self.codex["last"], self.codex["modelContextWindow"]
        assert (meter["usedTokens"], meter["windowTokens"]) == (last["totalTokens"], window)
        assert (meter["unknown"], meter["estimated"]) == (False, last["inputTokens"] == 0)
        usable = window - BASELINE_TOKENS
        left = (usable - max(0, last["totalTokens"] - BASELINE_TOKENS)) / usable * 100
        assert meter["leftPercent"] == int(max(0, left) + 0.5)
        assert meter["percent"] == round(last["totalTokens"] / window * 100, 1)


async def until_compacted(talk: Conversation, after: int = 0) -> dict[str, Any]:
    """Waits for the end of an automatic compaction, and returns its last step."""
    with anyio.fail_after(STEP_S):
        heard = await talk.client.expect(
            lambda m: (
                m.get("method") == "commands/progress"
                and m["params"]["phase"] in ("ready", "failed")
            ),
            after,
        )
    return dict(heard["params"])
