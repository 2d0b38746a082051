"""A fork that Codex has made without our knowing its id is deleted, and no other thread."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from trimpoint.codex.appserver.errors import ProviderExited, ProviderFailure, ProviderTimeout
from trimpoint.core.model import events as ev
from trimpoint.threads.ids import new_uuid7
from trimpoint_protocol.commands import CompactContext, RevertToCheckpoint

from tests.core.given import started
from tests.operations.stage import Stage, opened_stage
from tests.threads.stage import THREAD

COMPACT = CompactContext(command_id="c", thread_id=THREAD, force=True)
REVERT = RevertToCheckpoint(command_id="r", thread_id=THREAD, turn_count=1, scope="context")
LOST: tuple[Callable[[], ProviderFailure], ...] = (
    lambda: ProviderTimeout("thread/fork", 60.0),
    lambda: ProviderExited("it was killed", ""),
)


def put(home: Path, thread_id: str, **meta: Any) -> str:
    """Writes a rollout with this first line, and returns its path."""
    folder = home / "sessions" / "2026" / "11" / "30"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"rollout-2026-11-30T12-00-00-{thread_id}.jsonl"
    path.write_bytes(msgspec.json.encode({"payload": {"id": thread_id, **meta}}) + b"\n")
    return str(path)


async def with_rollout(stage: Stage, home: Path, *turns: str) -> None:
    writer = await stage.thread(*turns)
    path = put(home, new_uuid7())
    writer.record_facts(ev.ProviderThreadBound(1, THREAD, path), ev.SessionReady(1))
    await writer.flush()


def deleted(stage: Stage) -> list[str]:
    return [params["threadId"] for method, params in stage.codex.asked if method == "thread/delete"]


@pytest.mark.parametrize("lost", LOST, ids=["timeout", "exit"])
@pytest.mark.parametrize("command", [COMPACT, REVERT], ids=["compact", "revert"])
async def test_a_fork_whose_answer_is_lost_is_deleted(
    command: CompactContext | RevertToCheckpoint,
    lost: Callable[[], ProviderFailure],
    tmp_path: Path,
) -> None:
    async with opened_stage() as stage:
        await with_rollout(stage, tmp_path, "T1", "T2")
        put(tmp_path, new_uuid7(), forked_from_id=THREAD)
        made = new_uuid7()

        async def fork(params: dict[str, Any]) -> Any:
            put(tmp_path, made, forked_from_id=THREAD, thread_source=params["threadSource"])
            raise lost()

        stage.codex.answers["thread/fork"] = fork
        await stage.operations.sessions.dispatch(command)
        await stage.ended(await stage.registry.thread(THREAD))
        assert deleted(stage) == [made]


async def test_codex_is_told_no_name_that_it_would_refuse(tmp_path: Path) -> None:
    async with opened_stage() as stage:
        stage.codex.version = (0, 133, 0)
        await with_rollout(stage, tmp_path, "T1", "T2")
        asked: list[dict[str, Any]] = []

        async def fork(params: dict[str, Any]) -> Any:
            asked.append(params)
            raise ProviderTimeout("thread/fork", 60.0)

        stage.codex.answers["thread/fork"] = fork
        await stage.operations.sessions.dispatch(COMPACT)
        await stage.ended(await stage.registry.thread(THREAD))
        assert ["threadSource" in one for one in asked] == [False]
        assert deleted(stage) == []


async def test_a_fork_of_a_client_has_no_name_and_is_not_deleted_while_an_operation_is_open() -> (
    None
):
    thread = started(turns=4)
    thread.begin_compaction()
    assert thread.state.open_operation is not None
    async with opened_stage() as stage:
        asked: list[dict[str, Any]] = []

        async def fork(params: dict[str, Any]) -> Any:
            asked.append(params)
            raise ProviderTimeout("thread/fork", 60.0)

        stage.codex.answers["thread/fork"] = fork
        with pytest.raises(ProviderTimeout):
            await stage.operations.threads.forking.fork(thread.state, {"threadId": THREAD})
        assert ["threadSource" in one for one in asked] == [False]
        assert deleted(stage) == []
