"""Automatic compaction with the real Codex: it runs between turns, one at a time, and not without
end (docs/spec/context.md).
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import anyio
import msgspec
import pytest
from trimpoint.config.sections import ContextSection
from trimpoint.testkit import failure, held, remote_overrides, say

from tests.deadlines import STEP_S
from tests.e2e.conftest import Harness, opened_harness
from tests.e2e.conversation import Conversation
from tests.e2e.daemon_process import daemon_process, kill
from tests.e2e.gauge import CRITICAL, MeterProbe, spending, until_compacted

pytestmark = pytest.mark.codex


def configure(harness: Harness, **context: Any) -> None:
    harness.config = msgspec.structs.replace(harness.config, context=ContextSection(**context))


async def until_auto(talk: Conversation, state: str, after: int = 0) -> dict[str, Any]:
    """Waits for a meter whose automatic compaction has this state, and returns it."""
    with anyio.fail_after(STEP_S):
        heard = await talk.client.expect(
            lambda m: (
                m.get("method") == "context/updated" and m["params"]["auto"]["state"] == state
            ),
            after,
        )
    return dict(heard["params"])


def warnings(talk: Conversation) -> list[str]:
    """Returns trimpoint's warnings about the context, as a client that knows only Codex receives
    them.
    """
    said = [m["params"]["message"] for m in talk.client.notifications if m["method"] == "warning"]
    return [message for message in said if "context is" in message]


async def test_a_critical_context_is_compacted_and_a_prompt_that_comes_meanwhile_waits_and_is_not_lost(
    harness: Harness,
) -> None:
    configure(harness, auto="compact", preserve_recent_turns=1)
    async with harness.conversation() as talk:
        gauge, release = MeterProbe(talk), anyio.Event()
        talk.script.at_compaction(held(say("The gist of it all."), release))
        await gauge.turn(30_000)
        await gauge.turn(100_000)
        await gauge.turn(CRITICAL)
        running = await until_auto(talk, "running")
        await harness.model.wait_for_request(lambda request: request.kind == "inline_compaction")
        asked_before = len(harness.model.turn_requests())
        async with anyio.create_task_group() as tasks:
            talk.script.then(say("late answer", usage=spending(35_000)))
            tasks.start_soon(talk.prompt, "prompt that waits")
            with anyio.fail_after(STEP_S):
                blocked = await talk.type(
                    "/clear"
                )  # takes its turn behind the prompt: the daemon has that by now
            assert len(harness.model.turn_requests()) == asked_before
            release.set()
        outcome = await until_compacted(talk)
        after = await gauge.meter()
        snapshot = await talk.snapshot()
        request = talk.asked("prompt that waits")
    assert (blocked["status"], blocked["reason"]) == ("skipped", "already_in_progress")
    assert running["level"] == "critical"
    assert (outcome["command"], outcome["phase"], outcome["trigger"]) == (
        "compact",
        "ready",
        "auto",
    )
    [point] = snapshot["contextTrimPoints"]
    assert (point["trigger"], point["status"], len(point["prunedTurnIds"])) == (
        "auto",
        "applied",
        2,
    )
    assert request.mentions("The gist of it all.")
    assert request.mentions("said-3.")
    assert not request.mentions("said-1.")
    assert (after["usedTokens"], after["level"], after["compactionCount"]) == (35_010, "ok", 1)
    assert (after["auto"]["mode"], after["auto"]["state"]) == ("compact", "idle")
    assert [one["auto"]["state"] for one in gauge.received if one["level"] == "critical"][
        -1
    ] == "running"


async def test_a_sealed_compaction_is_automatic_as_well() -> None:
    async with opened_harness(remote_overrides) as harness:
        configure(harness, auto="compact")
        async with harness.conversation() as talk:
            gauge = MeterProbe(talk)
            for given in (30_000, 60_000, 90_000, 120_000, CRITICAL):
                await gauge.turn(given)
            outcome = await until_compacted(talk)
            await gauge.turn(36_000)
            snapshot = await talk.snapshot()
    assert outcome["phase"] == "ready"
    assert [point["trigger"] for point in snapshot["contextTrimPoints"]] == ["auto"]
    assert snapshot["activeTurnCount"] == 4


async def test_after_two_failures_it_stops_and_says_so_until_a_person_clears(
    harness: Harness,
) -> None:
    configure(harness, auto="compact")
    async with harness.conversation() as talk:
        gauge = MeterProbe(talk)
        await gauge.turn(30_000)
        talk.script.at_compaction(failure("server_error", "no"), failure("server_error", "no"))
        for given in (CRITICAL, CRITICAL + 1):
            seen = len(talk.client.messages)
            await gauge.turn(given)
            outcome = await until_compacted(talk, seen)
            assert outcome["phase"] == "failed", outcome
        stopped = await until_auto(talk, "stopped")
        compactions = sum(request.kind != "turn" for request in harness.model.requests)
        still = await gauge.turn(CRITICAL + 2)
        warned = warnings(talk)
        assert (await talk.type("/clear"))["status"] == "completed"
        cleared = await gauge.meter()
        seen = len(talk.client.messages)
        await gauge.turn(CRITICAL)
        again = await until_compacted(talk, seen)
    assert compactions == 2
    assert still["auto"]["state"] == "stopped"
    assert (
        "Automatic compaction has stopped: the last two attempts failed"
        in stopped["auto"]["message"]
    )
    assert len(warned) == 2
    assert "It is compacted before the next turn." in warned[0]
    assert "Automatic compaction has stopped" in warned[1]
    assert cleared["auto"]["state"] == "idle"
    assert again["phase"] == "ready"


async def test_after_two_that_freed_next_to_nothing_it_stops(harness: Harness) -> None:
    configure(harness, auto="compact", preserve_recent_turns=1)
    async with harness.conversation() as talk:
        gauge = MeterProbe(talk)
        await gauge.turn(30_000)
        for _ in range(2):
            seen = len(talk.client.messages)
            await gauge.turn(CRITICAL)
            assert (await until_compacted(talk, seen))["phase"] == "ready"
        last = await gauge.turn(CRITICAL)
        compactions = sum(request.kind != "turn" for request in harness.model.requests)
        snapshot = await talk.snapshot()
    assert last["auto"]["state"] == "stopped"
    assert "freed next to nothing" in last["auto"]["message"]
    assert (compactions, snapshot["compactionCount"]) == (2, 2)


async def test_without_being_configured_it_only_warns_once_for_each_level(harness: Harness) -> None:
    async with harness.conversation() as talk:
        gauge = MeterProbe(talk)
        for given in (30_000, 182_000, 183_000, CRITICAL, CRITICAL + 1):
            await gauge.turn(given)
        warned = warnings(talk)
        last = await gauge.meter()
    assert [message.split(".")[0] for message in warned] == [
        "The context is 70% full",
        "The context is 90% full",
    ]
    assert (last["auto"]["mode"], last["auto"]["state"]) == ("warn", "idle")
    assert all(request.kind == "turn" for request in harness.model.requests)


async def test_switched_off_it_says_nothing_at_all(harness: Harness) -> None:
    configure(harness, auto="off")
    async with harness.conversation() as talk:
        gauge = MeterProbe(talk)
        last = await gauge.turn(CRITICAL)
        assert warnings(talk) == []
    assert (last["level"], last["auto"]["message"]) == ("critical", "")


@asynccontextmanager
async def another_daemon(harness: Harness, thread_id: str) -> AsyncIterator[Conversation]:
    """Yields the same thread in a daemon that was just started."""
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(harness.daemon())
        client = await stack.enter_async_context(harness.client())
        yield Conversation(client, thread_id, harness.model, harness.script)


async def test_a_daemon_that_finds_a_thread_critical_compacts_it_before_its_next_prompt_and_not_sooner(
    harness: Harness,
) -> None:
    async with harness.conversation() as talk:
        gauge = MeterProbe(talk)
        await gauge.turn(30_000)
        await gauge.turn(CRITICAL)
    configure(harness, auto="compact", preserve_recent_turns=0)
    async with another_daemon(harness, talk.thread_id) as again:
        await again.client.request("thread/resume", threadId=talk.thread_id)
        due = await MeterProbe(again).meter()
        untouched = [request.kind for request in harness.model.requests]
        harness.script.then(say("answer", usage=spending(31_000)))
        await again.prompt("the next prompt")
        snapshot = await again.snapshot()
    assert due["auto"]["state"] == "due"
    assert untouched == ["turn", "turn"]
    assert [request.kind for request in harness.model.requests] == [
        "turn",
        "turn",
        "inline_compaction",
        "turn",
    ]
    assert again.asked("the next prompt").mentions("The gist of it all.")
    assert [point["trigger"] for point in snapshot["contextTrimPoints"]] == ["auto"]


async def test_a_daemon_killed_while_it_compacts_loses_nothing_and_tries_once_more(
    harness: Harness,
) -> None:
    configure(harness, auto="compact", preserve_recent_turns=0)
    async with daemon_process(harness) as process, harness.client() as client:
        talk = await Conversation.begin(client, harness.worktree, harness.model, harness.script)
        gauge = MeterProbe(talk)
        await gauge.turn(30_000)
        harness.script.at_compaction(held(say("never"), anyio.Event()))
        await gauge.turn(CRITICAL)
        with anyio.fail_after(STEP_S):
            await harness.model.wait_for_request(
                lambda request: request.kind == "inline_compaction"
            )
        await kill(process)
    async with another_daemon(harness, talk.thread_id) as again:
        await again.client.request("thread/resume", threadId=talk.thread_id)
        # A prompt that comes before the end of the broken attempt waits for it, and for no other.
        with anyio.fail_after(STEP_S):
            while (await again.snapshot())["operation"]["phase"] != "failed":
                pass
        heard = len(again.client.messages)
        harness.script.then(say("answer", usage=spending(31_000)))
        await again.prompt("the next prompt")
        outcome = await until_compacted(again, heard)
        snapshot = await again.snapshot()
        meter = await MeterProbe(again).meter()
    kinds = [request.kind for request in harness.model.requests]
    assert kinds == ["turn", "turn", "inline_compaction", "inline_compaction", "turn"]
    assert outcome["phase"] == "ready"
    assert [point["trigger"] for point in snapshot["contextTrimPoints"]] == ["auto"]
    assert (meter["usedTokens"], meter["auto"]["state"]) == (31_010, "idle")
