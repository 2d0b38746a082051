"""Which model summarizes, and with which guidance, with the real Codex (docs/spec/context.md)."""

from typing import Any

import anyio
import msgspec
import pytest
from trimpoint.config.sections import CompactionSection
from trimpoint.testkit import ModelRequest, hang

from tests.e2e.conftest import Harness
from tests.e2e.conversation import Conversation, seen_turns

pytestmark = pytest.mark.codex

EARLIER = "Build on that summary: keep what still holds"


def compactions(harness: Harness) -> list[ModelRequest]:
    return [one for one in harness.model.requests if one.kind != "turn"]


async def three_turns(talk: Conversation) -> None:
    for _ in range(3):
        await talk.turn()


async def test_the_summary_is_written_by_the_model_of_the_command_and_the_thread_keeps_its_own(
    harness: Harness,
) -> None:
    async with harness.conversation() as talk:
        await three_turns(talk)
        outcome = await talk.type("/compact --model gpt-5-small --force")
        assert outcome["status"] == "completed", outcome
        after = await talk.turn()
    [compaction] = compactions(harness)
    assert compaction.body["model"] == "gpt-5-small"
    assert after.body["model"] == "gpt-5"


async def test_the_summary_is_written_by_the_configured_model_and_effort(harness: Harness) -> None:
    section = CompactionSection(min_messages=2, model="gpt-5-small", effort="low")
    harness.config = msgspec.structs.replace(harness.config, compaction=section)
    async with harness.conversation() as talk:
        await three_turns(talk)
        assert (await talk.type("/compact"))["status"] == "completed"
        after = await talk.turn()
    [compaction] = compactions(harness)
    assert compaction.body["model"] == "gpt-5-small"
    assert after.body["model"] == "gpt-5"


async def test_an_earlier_summary_is_folded_in_over_three_compactions(harness: Harness) -> None:
    async with harness.conversation() as talk:
        for number in range(3):
            await three_turns(talk)
            harness.script.summary = f"gist-{number} of it all."
            assert (await talk.type("/compact"))["status"] == "completed"
        after = await talk.turn()
    first, second, third = compactions(harness)
    assert not first.mentions(EARLIER)
    for earlier, request in (("gist-0", second), ("gist-1", third)):
        assert request.mentions(EARLIER)
        assert request.mentions(earlier)
    assert after.mentions("gist-2")
    assert not after.mentions("gist-1")
    assert not after.mentions(EARLIER)


@pytest.mark.also_restarted
async def test_a_summary_that_is_not_smaller_changes_nothing_unless_forced(
    harness: Harness,
) -> None:
    harness.script.summary = "word " * 500
    async with harness.conversation() as talk:
        await three_turns(talk)
        outcome = await talk.type("/compact")
        assert (outcome["status"], outcome["reason"]) == ("failed", "not_smaller"), outcome
        assert (await talk.snapshot())["contextTrimPoints"] == []
        assert seen_turns(await talk.turn(), 3) == [1, 2, 3]
        assert (await talk.type("/compact --force"))["status"] == "completed"


async def test_a_client_cancels_a_compaction_by_its_operation(harness: Harness) -> None:
    async with harness.conversation() as talk:
        await three_turns(talk)
        harness.script.at_compaction(hang())
        outcome: dict[str, Any] = {}

        async def compact() -> None:
            outcome.update(await talk.type("/compact --force"))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(compact)
            step = await talk.client.received("commands/progress")
            operation_id = step["params"]["operationId"]
            answer = await talk.client.request("commands/cancel", operationId=operation_id)
        again = await talk.client.request("commands/cancel", operationId=operation_id)
        assert (outcome["status"], outcome["reason"]) == ("cancelled", "cancelled")
        assert seen_turns(await talk.turn(), 3) == [1, 2, 3]
    assert (answer, again) == ({"cancelled": True}, {"cancelled": False})
