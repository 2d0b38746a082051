"""A new thread that is given a context is never left behind in part, whoever is killed meanwhile."""

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest
from trimpoint.codex.appserver.errors import ProviderError
from trimpoint.core.model.operations import Phase
from trimpoint.operations.imports import ImportedTurn, Imports
from trimpoint_protocol.commands import TrimContext

from tests.operations.stage import Stage, opened_stage, refusal
from tests.threads.stage import THREAD, Disk

ITEM = b'{"type":"message","role":"user","content":[{"type":"input_text","text":"hello"}]}'
Make = Callable[[Stage], Awaitable[str]]


async def fork(stage: Stage) -> str:
    """Forks a thread at a turn before a trim, which is made from the ledger."""
    writer = await stage.thread("T1", "T2")
    await stage.operations.sessions.dispatch(TrimContext(command_id="c", thread_id=THREAD))
    await stage.ended(writer)
    answer = await stage.ask("thread/fork", lastTurnId="T1")
    return str(answer["thread"]["id"])


async def import_session(stage: Stage) -> str:
    imports = Imports(stage.registry, stage.operations.threads, stage.operations.sessions)
    return await imports.begin({"cwd": "/"}, [ImportedTurn([ITEM], [("user", "hello")])])


def held_at_injection(stage: Stage) -> anyio.Event:
    """Returns an event that is set when Codex is given a context, for which it has no answer."""
    asked = anyio.Event()

    async def inject(_: dict[str, Any]) -> Any:
        asked.set()
        await anyio.sleep_forever()

    stage.codex.answers["thread/inject_items"] = inject
    return asked


def filled(stage: Stage) -> list[str]:
    """Returns the ids of the threads that Codex was to give a context."""
    given = [params for method, params in stage.codex.asked if method == "thread/inject_items"]
    return [str(params["threadId"]) for params in given]


@pytest.mark.parametrize("make", [fork, import_session])
async def test_a_thread_that_was_made_is_at_rest(make: Make) -> None:
    async with opened_stage() as stage:
        thread_id = await make(stage)
        state = stage.disk.written(thread_id)
        assert [turn.status for turn in state.turns] == ["completed"]
        assert state.operation is not None
        assert (state.operation.phase, state.archived) == (Phase.READY, False)
        session = await stage.operations.sessions.ready(thread_id)
        assert filled(stage)[-1] == session.provider_thread_id


@pytest.mark.parametrize("make", [fork, import_session])
async def test_a_thread_that_a_killed_daemon_was_filling_is_deleted_by_the_next_one(
    make: Make,
) -> None:
    async with opened_stage() as stage:
        asked = held_at_injection(stage)
        stage.tasks.start_soon(make, stage)
        await asked.wait()
        durable = {one: list(records) for one, records in stage.disk.records.items()}
        codex = stage.codex
    codex.answers.clear()
    async with opened_stage(codex, Disk(records=durable)) as stage:
        [thread_id] = filled(stage)
        await stage.codex.until(lambda: ("thread/delete", {"threadId": thread_id}) in codex.asked)
        await stage.ended(await stage.registry.thread(thread_id))
        assert stage.disk.written(thread_id).archived


@pytest.mark.parametrize("make", [fork, import_session])
async def test_a_thread_that_codex_does_not_fill_is_deleted(make: Make) -> None:
    async with opened_stage() as stage:

        async def inject(_: dict[str, Any]) -> Any:
            raise refusal("not now")

        stage.codex.answers["thread/inject_items"] = inject
        with pytest.raises(ProviderError, match="not now"):
            await make(stage)
        [thread_id] = filled(stage)
        await stage.ended(await stage.registry.thread(thread_id))
        assert stage.disk.written(thread_id).archived
        assert ("thread/delete", {"threadId": thread_id}) in stage.codex.asked
