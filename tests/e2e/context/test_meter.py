"""The context meter agrees with Codex's own numbers, whatever happens to a thread
(docs/spec/context.md).
"""

import os
import signal
from contextlib import AsyncExitStack

import anyio
import pytest
from trimpoint.cli.connection.client import RemoteError
from trimpoint.testkit import ModelRequest, Reply, held, run, say

from tests.deadlines import STEP_S
from tests.e2e.conftest import Harness
from tests.e2e.conversation import Conversation
from tests.e2e.gauge import WINDOW, MeterProbe, spending

pytestmark = pytest.mark.codex


async def test_the_meter_climbs_past_each_threshold_as_codex_reports_it(harness: Harness) -> None:
    async with harness.conversation() as talk:
        gauge = MeterProbe(talk)
        fresh = await gauge.meter()
        levels = [
            (await gauge.turn(given))["level"]
            for given in (30_000, 180_000, 181_000, 232_000, 233_000)
        ]
        told = [meter["usedTokens"] for meter in gauge.received]
        last = await gauge.meter()
        trim = await talk.type("/clear 1 --dry-run")
    assert (fresh["unknown"], fresh["windowTokens"], fresh["usedTokens"]) == (True, None, 0)
    assert levels == ["ok", "ok", "warning", "warning", "critical"]
    assert [used for used in told if used] == [30_010, 180_010, 181_010, 232_010, 233_010]
    assert gauge.received[-1] == last
    assert (last["model"], last["providerCompactsAtTokens"]) == ("gpt-5", 244_800)
    assert (last["currentTotalTokens"], last["totalTokens"]) == (gauge.spent, gauge.spent)
    assert last["totalTokens"] == gauge.codex["total"]["totalTokens"]
    assert last["totalCachedInputTokens"] == gauge.codex["total"]["cachedInputTokens"]
    assert last["totalReasoningOutputTokens"] == gauge.codex["total"]["reasoningOutputTokens"]
    assert last["cachedPercent"] == 50.0
    cost = trim["tokens"]["cost"]
    assert cost["cacheIsWarm"]
    assert cost["savesTokens"] == 233_010 - cost["readsAnewTokens"] > 0
    assert trim["message"].count(cost["said"]) == 1


async def test_each_call_of_a_turn_with_tools_moves_the_meter(harness: Harness) -> None:
    async with harness.conversation() as talk:
        gauge = MeterProbe(talk)
        is_told = anyio.Event()
        talk.script.then(run("echo hi"), held(say("done", usage=spending(50_000)), is_told))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(talk.prompt, "use a tool")
            # Two reports at nearly the same moment are told as one: the later.
            await talk.client.received("context/updated", usedTokens=1_010)
            is_told.set()
        meter = await gauge.meter()
    gauge.agrees_with_codex(meter)
    assert [one["usedTokens"] for one in gauge.received if not one["unknown"]][:2] == [
        1_010,
        50_010,
    ]
    assert meter["totalTokens"] == gauge.codex["total"]["totalTokens"]


async def test_a_clear_makes_the_context_unknown_and_estimated_until_the_next_report(
    harness: Harness,
) -> None:
    async with harness.conversation() as talk:
        gauge = MeterProbe(talk)
        await gauge.turn(30_000)
        await gauge.turn(200_000)
        await talk.type("/clear")
        cleared = await gauge.meter()
        after = await gauge.turn(31_000)
    assert (cleared["unknown"], cleared["estimated"], cleared["level"]) == (True, True, "ok")
    assert (
        29_900 < cleared["usedTokens"] < 30_000
    )  # what a session costs, as the first call of the first one told
    assert (cleared["currentTotalTokens"], cleared["generation"]) == (0, 2)
    assert (after["currentTotalTokens"], after["totalTokens"]) == (31_010, gauge.spent)


async def test_a_compaction_is_counted_and_begins_an_era(harness: Harness) -> None:
    async with harness.conversation() as talk:
        gauge = MeterProbe(talk)
        await gauge.turn(30_000)
        await gauge.turn(200_000)
        assert (await talk.type("/compact"))["status"] == "completed"
        compacted = await gauge.meter()
        after = await gauge.turn(32_000)
    assert (
        compacted["unknown"],
        compacted["compactionCount"],
        compacted["providerCompactionCount"],
    ) == (True, 1, 0)
    assert 30_000 < compacted["usedTokens"] < 31_000
    assert (after["compactionCount"], after["currentTotalTokens"]) == (1, 32_010)


async def test_a_sealed_compaction_is_measured_with_the_next_turn_too(
    sealed_harness: Harness,
) -> None:
    async with sealed_harness.conversation() as talk:
        gauge = MeterProbe(talk)
        await gauge.turn(30_000)
        await gauge.turn(200_000)
        assert (await talk.type("/compact"))["status"] == "completed"
        compacted = await gauge.meter()
        after = await gauge.turn(33_000)
    assert compacted["usedTokens"] < 200_000
    assert compacted["estimated"]
    assert (after["compactionCount"], after["currentTotalTokens"]) == (1, 33_010)


async def test_a_summary_that_only_codex_can_read_is_weighed_by_codex(
    sealed_harness: Harness,
) -> None:
    async with sealed_harness.conversation() as talk:
        gauge = MeterProbe(talk)
        for given in (30_000, 100_000, 200_000):
            await gauge.turn(given)
        talk.script.then(say(""))
        outcome = await talk.type("/compact --keep 1")
        compacted = await gauge.meter()
        after = await gauge.turn(33_000)
    assert outcome["summaryUnavailable"]
    assert (compacted["estimated"], compacted["unknown"], compacted["currentTotalTokens"]) == (
        True,
        False,
        0,
    )
    assert 0 < compacted["usedTokens"] < 30_000
    assert (after["currentTotalTokens"], after["totalTokens"]) == (33_010, gauge.spent)


async def test_a_revert_takes_the_meter_back_and_what_was_spent_stays_spent(
    harness: Harness,
) -> None:
    async with harness.conversation() as talk:
        gauge = MeterProbe(talk)
        before = await gauge.turn(30_000)
        await gauge.turn(100_000)
        await gauge.turn(150_000)
        turns = (await talk.snapshot())["turns"]
        await talk.client.request(
            "thread/revert", threadId=talk.thread_id, beforeTurnId=turns[1]["id"]
        )
        reverted = await gauge.meter()
        after = await gauge.turn(90_000)
    assert (reverted["usedTokens"], reverted["unknown"]) == (before["usedTokens"], False)
    assert gauge.received[-1] == after
    assert reverted["totalTokens"] == 280_030


async def test_a_revert_into_a_pruned_section_makes_it_unknown_again(harness: Harness) -> None:
    async with harness.conversation() as talk:
        gauge = MeterProbe(talk)
        for given in (30_000, 100_000, 150_000):
            await gauge.turn(given)
        turns = (await talk.snapshot())["turns"]
        await talk.type("/clear")
        await gauge.turn(31_000)
        await talk.client.request(
            "thread/revert", threadId=talk.thread_id, beforeTurnId=turns[2]["id"]
        )
        reverted = await gauge.meter()
        await gauge.turn(101_000)
    assert (reverted["unknown"], reverted["generation"]) == (True, 3)
    assert 30_900 < reverted["usedTokens"] < 31_500  # as the newest session began


async def test_a_killed_codex_leaves_the_meter_as_it_was_and_its_successor_repeats_nothing(
    harness: Harness,
) -> None:
    async with harness.conversation() as talk:
        gauge = MeterProbe(talk)
        await gauge.turn(30_000)
        before = await gauge.turn(200_000)
        with anyio.fail_after(STEP_S):
            os.kill(harness.child_pid(), signal.SIGKILL)
            await talk.until_codex_answers()
        killed = await gauge.meter()
        after = await gauge.turn(201_000)
    assert killed == before
    assert (after["currentTotalTokens"], after["totalTokens"]) == (gauge.spent, gauge.spent)


async def test_another_daemon_shows_what_the_last_one_did(harness: Harness) -> None:
    async with harness.conversation() as talk:
        gauge = MeterProbe(talk)
        await gauge.turn(30_000)
        before = await gauge.turn(200_000)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(harness.daemon())
        client = await stack.enter_async_context(harness.client())
        again = MeterProbe(Conversation(client, talk.thread_id, harness.model, harness.script))
        again.spent = gauge.spent
        restarted = await again.meter()
        await client.request("thread/resume", threadId=talk.thread_id)
        resumed = await again.meter()
        await again.turn(202_000)
    assert restarted == resumed == before


async def test_codexs_own_compaction_is_an_activity_and_no_trim_point_and_the_meter_continues(
    harness: Harness,
) -> None:
    harness.overrides.append("model_auto_compact_token_limit=40000")
    async with harness.conversation() as talk:
        gauge = MeterProbe(talk)
        near = await gauge.turn(30_000)
        await gauge.turn(40_000)
        talk.script.at_compaction(say("Codex's own summary", usage=spending(40_500)))
        is_told = anyio.Event()
        talk.script.then(held(say("done", usage=spending(9_000)), is_told))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(talk.prompt, "a prompt that does not fit")
            # Two reports at nearly the same moment are told as one: the later.
            await talk.client.received("context/updated", estimated=True, unknown=False)
            is_told.set()
        gauge.spent += 40_510 + 9_010
        after = await gauge.meter()
        gauge.agrees_with_codex(after)
        snapshot = await talk.snapshot()
        activities = [
            entry["activity"] for entry in await talk.timeline() if entry["kind"] == "activity"
        ]
        estimates = [one for one in gauge.received if one["estimated"] and not one["unknown"]]
    assert near["providerCompactsAtTokens"] == 40_000
    assert snapshot["contextTrimPoints"] == []
    assert snapshot["session"]["generation"] == 1
    assert activities == ["contextCompaction"]
    assert (after["compactionCount"], after["providerCompactionCount"]) == (0, 1)
    assert len({one["usedTokens"] for one in estimates}) == 1
    assert after["totalTokens"] == gauge.codex["total"]["totalTokens"]


async def test_a_thread_that_is_taken_over_shows_what_codex_remembers_of_it(
    harness: Harness,
) -> None:
    async with harness.conversation() as talk:
        gauge = MeterProbe(talk)
        await gauge.turn(30_000)
        fork = await talk.client.request("thread/fork", threadId=talk.thread_id)
        forked = MeterProbe(
            Conversation(talk.client, fork["thread"]["id"], harness.model, harness.script)
        )
        await talk.client.received("thread/tokenUsage/updated", threadId=forked.talk.thread_id)
        meter = await forked.meter()
        await forked.turn(31_000)
        parent = await gauge.meter()
    assert (meter["usedTokens"], meter["totalTokens"], meter["unknown"]) == (30_010, 0, False)
    assert parent["totalTokens"] == 30_010


async def test_a_fork_of_a_trimmed_thread_has_the_estimate_that_its_parent_has(
    harness: Harness,
) -> None:
    async with harness.conversation() as talk:
        gauge = MeterProbe(talk)
        await gauge.turn(30_000)
        await gauge.turn(31_000)
        await talk.type("/clear 1")
        parent = await gauge.meter()
        fork = await talk.client.request("thread/fork", threadId=talk.thread_id)
        forked = MeterProbe(
            Conversation(talk.client, fork["thread"]["id"], harness.model, harness.script)
        )
        meter = await forked.meter()
    assert parent["estimated"]
    assert meter["estimated"]
    assert meter["windowTokens"] == parent["windowTokens"]
    assert meter["usedTokens"] == pytest.approx(parent["usedTokens"], rel=0.02)


SPAWN = {
    "type": "function_call",
    "namespace": "multi_agent_v1",
    "name": "spawn_agent",
    "arguments": '{"message": "work-of-the-sub-agent"}',
    "call_id": "call_spawn",
}


@pytest.mark.never_restarted(reason="a sub-agent ends with its daemon")
async def test_a_sub_agent_has_a_meter_of_its_own_and_leaves_its_parents_alone(
    harness: Harness,
) -> None:
    def respond(request: ModelRequest) -> Reply:
        if request.mentions("work-of-the-sub-agent") and not request.mentions("asked the parent"):
            return say("sub-agent's answer", usage=spending(240_000))
        if request.mentions("call_spawn"):
            return say("parent's answer", usage=spending(32_000))
        return Reply(items=(SPAWN,), usage=spending(31_000))

    async with harness.conversation() as talk:
        talk.script.then(
            *[respond] * 9
        )  # how often the parent is asked once more depends on who is quicker
        with anyio.fail_after(STEP_S):
            await talk.prompt("asked the parent")
            reported = await talk.client.expect(
                lambda m: (
                    m.get("method") == "thread/tokenUsage/updated"
                    and m["params"]["threadId"] != talk.thread_id
                    and m["params"]["tokenUsage"]["last"]["totalTokens"] == 240_010
                )
            )
        parent = await MeterProbe(talk).meter()
        sub_agent = await talk.client.request(
            "context/status", threadId=reported["params"]["threadId"]
        )
        with pytest.raises(RemoteError, match="no thread"):
            await talk.client.request("context/status", threadId="nobody")
        reports = [
            m["params"]
            for m in talk.client.notifications
            if m["method"] == "thread/tokenUsage/updated"
        ]
        codex = [
            report["tokenUsage"] for report in reports if report["threadId"] == talk.thread_id
        ][-1]
    assert (parent["usedTokens"], parent["level"]) == (32_010, "ok")
    assert parent["totalTokens"] == codex["total"]["totalTokens"]
    assert (sub_agent["usedTokens"], sub_agent["totalTokens"], sub_agent["level"]) == (
        240_010,
        240_010,
        "critical",
    )
    assert (sub_agent["generation"], sub_agent["windowTokens"]) == (None, WINDOW)


async def test_the_meter_adds_injected_items_by_estimate(harness: Harness) -> None:
    async with harness.conversation() as talk:
        gauge = MeterProbe(talk)
        await gauge.turn(30_000)
        item = {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": "a long story " * 400}],
        }
        await talk.client.request("thread/inject_items", threadId=talk.thread_id, items=[item])
        injected = await gauge.meter()
        await gauge.turn(31_500)
    assert injected["estimated"]
    assert 30_010 + 1_000 < injected["usedTokens"] < 30_010 + 2_000
