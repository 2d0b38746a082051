"""A compaction that another program asked Codex for is an entry of the turn before it, and no turn."""

import pytest
from trimpoint.testkit import ModelRequest

from tests.e2e.codex.another_program import another_program, begun, going_on, turn
from tests.e2e.conftest import Harness
from tests.e2e.conversation import Conversation, seen_turns
from tests.e2e.wire import connect_to_codex

pytestmark = [
    pytest.mark.codex,
    pytest.mark.never_restarted(
        reason="names to Codex itself the thread that the first daemon began"
    ),
]


def assert_compacted(request: ModelRequest, *kept: int) -> None:
    """Asserts that the model sees Codex's summary, and answers of the turns `kept` alone."""
    assert request.mentions("The gist of it all.")
    assert [number for number in range(1, 6) if request.mentions(f"answer-{number}.")] == [*kept]


@pytest.mark.parametrize("commands", [(), ("/clear 1",)], ids=["first generation", "trimmed"])
async def test_a_compaction_that_another_program_asked_for_is_no_turn(
    harness: Harness, commands: tuple[str, ...]
) -> None:
    thread_id, provider_id = await begun(harness, 2, *commands)
    async with another_program(harness, provider_id) as wire:
        await wire.result("thread/compact/start", threadId=provider_id)
        await wire.received_after("turn/completed")
        await turn(wire, harness, provider_id, 3)
    async with going_on(harness, thread_id, 3) as talk:
        shown = await talk.snapshot()
        assert (shown["turnCount"], shown["activeTurnCount"]) == (3, 3 - len(commands))
        if not commands:
            refused = await talk.type("/clear 2")
            assert refused["reason"] == "nothing_to_trim"
            assert "Codex was asked to compact the context after turn 2" in refused["message"]
        cleared = await talk.type("/clear 1")
        assert cleared["status"] == "completed"
        assert "Not carried over" not in cleared["message"]
        assert seen_turns(await talk.turn(), 4) == [3, 4]
        undone = await talk.type("/undo")
        assert undone["message"].startswith("Codex was asked to compact the context after turn 2")
        assert (await talk.type("/revert 3 --context"))["status"] == "completed"
        last = await talk.turn()
    assert_compacted(last, 3)


async def test_a_revert_to_the_turn_before_a_compaction_that_was_asked_for_keeps_its_summary(
    harness: Harness,
) -> None:
    thread_id, provider_id = await begun(harness, 2)
    async with another_program(harness, provider_id) as wire:
        await wire.result("thread/compact/start", threadId=provider_id)
        await wire.received_after("turn/completed")
        await turn(wire, harness, provider_id, 3)
    async with going_on(harness, thread_id, 3) as talk:
        assert (await talk.type("/revert 2 --context"))["status"] == "completed"
        after = await talk.turn()
        assert (await talk.snapshot())["turnCount"] == 3
        assert (await talk.type("/clear 2"))["reason"] == "nothing_to_trim"
        fork = await talk.fork()
        assert (await fork.snapshot())["turnCount"] == 3
        of_fork = await fork.turn()
    assert_compacted(after)
    assert_compacted(of_fork, 4)


async def test_a_compaction_that_was_asked_for_is_taken_in_once(harness: Harness) -> None:
    thread_id, provider_id = await begun(harness, 2)
    async with another_program(harness, provider_id) as wire:
        await wire.result("thread/compact/start", threadId=provider_id)
        await wire.received_after("turn/completed")
    for _ in range(2):
        async with going_on(harness, thread_id, 2) as talk:
            entries = await talk.timeline(expand="all")
            compactions = [one for one in entries if one.get("activity") == "contextCompaction"]
            assert [one["title"] for one in compactions] == [
                "Codex compacted the context when it was asked to"
            ]
            assert (await talk.snapshot())["turnCount"] == 2


async def test_a_compaction_that_plain_codex_was_asked_for_is_no_turn_of_an_adopted_thread(
    harness: Harness,
) -> None:
    async with connect_to_codex(harness) as wire:
        await wire.initialize()
        started = await wire.result("thread/start", cwd=str(harness.worktree))
        thread_id = started["thread"]["id"]
        for number in (1, 2):
            await turn(wire, harness, thread_id, number)
    async with another_program(harness, thread_id) as wire:
        await wire.result("thread/compact/start", threadId=thread_id)
        await wire.received_after("turn/completed")
        await turn(wire, harness, thread_id, 3)
    async with harness.daemon(), harness.client() as client:
        await client.request("thread/resume", threadId=thread_id)
        talk = Conversation(client, thread_id, harness.model, harness.script)
        talk.turns = 3
        assert (await talk.snapshot())["turnCount"] == 3
        assert (await talk.type("/clear 1"))["status"] == "completed"
        assert seen_turns(await talk.turn(), 4) == [3, 4]
