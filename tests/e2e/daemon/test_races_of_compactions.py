"""Compactions that are asked for in Codex's own words, at the very moment at which a turn or another compaction runs."""

import anyio
import pytest
from trimpoint.cli.connection.client import RemoteError
from trimpoint.testkit import held, say

from tests.e2e.daemon.racing import ROUND_DEADLINE_S, Race, run_race

pytestmark = pytest.mark.codex


async def test_a_compaction_asked_for_in_codexs_own_words_is_refused_while_the_thread_is_busy() -> (
    None
):
    async def body(race: Race) -> None:
        await _compaction_meets_turn(race)
        await _compaction_meets_compaction(race)

    await run_race(0, body)


async def _compact_natively(race: Race) -> str | None:
    """Calls `thread/compact/start`, and returns the reason why it was refused, or None."""
    try:
        await race.second.client.request("thread/compact/start", threadId=race.second.thread_id)
    except RemoteError as error:
        return error.reason
    return None


async def _compaction_meets_turn(race: Race) -> None:
    _, prompt, answer = race.setup()
    release = anyio.Event()
    race.script.when(prompt, held(say(answer), release))

    async def ask() -> None:
        assert (await race.first.prompt(prompt))["status"] == "completed"

    with anyio.fail_after(ROUND_DEADLINE_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await race.harness.model.wait_for_request(lambda request: request.mentions(prompt))
            assert await _compact_natively(race) == "turn_in_progress"
            release.set()
    race.state.say(prompt, answer)


async def _compaction_meets_compaction(race: Race) -> None:
    release, turn = anyio.Event(), race.setup()
    race.script.at_compaction(held(say(race.script.summary), release))

    async def compact() -> None:
        assert (await race.first.type("/compact"))["status"] == "completed"

    async def ask() -> None:
        assert (await race.first.prompt(turn[1]))["status"] == "completed"

    with anyio.fail_after(ROUND_DEADLINE_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(compact)
            await race.harness.model.wait_for_request(
                lambda request: request.kind == "inline_compaction"
            )
            assert await _compact_natively(race) == "already_in_progress"
            tasks.start_soon(ask)
            assert await _compact_natively(race) == "already_in_progress"
            release.set()
        await race.find([[("/compact",), turn]])
        # Nothing is under way now: it is taken, and the next prompt waits for it.
        turn = race.setup()
        assert await _compact_natively(race) is None
        assert (await race.first.prompt(turn[1]))["status"] == "completed"
        await race.find([[("/compact",), turn]])
