"""The sums over all threads are what Codex reported of each model call (docs/spec/context.md)."""

from typing import Any

import pytest

from tests.e2e.conftest import Harness
from tests.e2e.gauge import ANSWER_TOKENS, MeterProbe

pytestmark = pytest.mark.codex


async def test_the_sums_are_what_codex_reported(harness: Harness) -> None:
    calls = (30_000, 60_000, 31_000)
    async with harness.conversation() as talk:
        gauge = MeterProbe(talk)
        await gauge.turn(calls[0])
        await gauge.turn(calls[1])
        assert (await talk.type("/clear 0"))["status"] == "completed"
        await gauge.turn(calls[2])
        shown: dict[str, dict[str, Any]] = {
            by: await talk.client.request("stats/read", by=by)
            for by in ("thread", "folder", "day", "model")
        }
        outcome = await talk.client.request("commands/execute", text="/stats --by model")
    total = shown["thread"]["total"]
    assert (total["calls"], total["inputTokens"]) == (3, sum(calls))
    assert total["cachedInputTokens"] == sum(one // 2 for one in calls)
    assert total["outputTokens"] == 3 * ANSWER_TOKENS
    assert total["trims"] == {"clear": 1}
    assert total["sparedTokens"] == calls[1] + ANSWER_TOKENS - calls[2]
    assert total["readAnewTokens"] == calls[2] - calls[2] // 2
    assert all(one["total"] == total for one in shown.values())
    assert [row["key"] for row in shown["model"]["rows"]] == ["gpt-5"]
    assert [row["key"] for row in shown["thread"]["rows"]] == [talk.thread_id]
    assert outcome["stats"] == shown["model"]
    assert outcome["said"].startswith("1 thread: 3 calls, 121k tokens in (50% cached)")


async def test_what_a_fork_inherits_is_counted_once(harness: Harness) -> None:
    async with harness.conversation() as talk:
        gauge = MeterProbe(talk)
        await gauge.turn(30_000)
        assert (await talk.type("/clear 0"))["status"] == "completed"
        await gauge.turn(20_000)
        before = await talk.client.request("stats/read", by="thread")
        fork = await talk.fork()
        inherited = await talk.client.request("stats/read", by="thread")
        assert {**inherited["total"], "threads": 1} == before["total"]
        await MeterProbe(fork).turn(40_000)
        total = (await talk.client.request("stats/read", by="thread"))["total"]
    assert (total["calls"], total["inputTokens"]) == (3, 90_000)
    assert total["trims"] == {"clear": 1}
    assert total["sparedTokens"] == before["total"]["sparedTokens"]
