"""A deletion that was asked for is finished, whatever fails or is killed, or has changed nothing."""

from typing import Any

import anyio
import pytest
from trimpoint.codex.appserver.errors import ProviderError, ProviderTimeout
from trimpoint.gateway.session.requests.errors import Refusal
from trimpoint.operations import deletions
from trimpoint.threads.errors import CommandRefused, ThreadError
from trimpoint_protocol.commands import TrimContext
from trimpoint_protocol.errors import Reason

from tests.operations.stage import ScriptedCodex, Stage, opened_stage, refusal
from tests.threads.stage import THREAD


async def cleared(stage: Stage) -> list[str]:
    """Returns the provider threads of a thread with two generations, the present one first."""
    writer = await stage.thread("T1", "T2")
    await stage.operations.sessions.dispatch(TrimContext(command_id="c", thread_id=THREAD))
    await stage.ended(writer)
    await stage.codex.until(lambda: "thread/archive" in stage.codex.answered)
    return [str(one.provider_thread_id) for one in reversed(writer.state.generations)]


def deleted(codex: ScriptedCodex) -> list[str]:
    return [params["threadId"] for method, params in codex.asked if method == "thread/delete"]


async def is_told_of_the_deletion(stage: Stage) -> None:
    await stage.hears("thread/deleted")
    assert "thread/archived" not in stage.client.methods()


async def test_all_that_codex_has_of_a_thread_is_deleted_and_the_thread_archived() -> None:
    async with opened_stage() as stage:
        present, first = await cleared(stage)
        assert await stage.ask("thread/delete") == {}
        assert deleted(stage.codex) == [present, first]
        state = stage.disk.written()
        assert (state.archived, state.session_stopped) == (True, True)
        await is_told_of_the_deletion(stage)


async def test_an_archived_thread_can_be_deleted() -> None:
    async with opened_stage() as stage:
        await stage.thread("T1")
        await stage.ask("thread/archive")
        await stage.ask("thread/delete")
        assert deleted(stage.codex) == [THREAD]


async def test_the_next_daemon_finishes_a_deletion() -> None:
    async with opened_stage() as stage:
        present, first = await cleared(stage)
        killed = anyio.Event()

        async def die(params: dict[str, Any]) -> Any:
            if params["threadId"] == first:
                killed.set()
                await anyio.sleep_forever()
            return {}

        stage.codex.answers["thread/delete"] = die
        stage.tasks.start_soon(lambda: stage.ask("thread/delete"))
        await killed.wait()
        codex, disk = stage.codex, stage.disk
    asked = len(codex.asked)

    async def missing(params: dict[str, Any]) -> Any:
        if params["threadId"] == present:
            raise refusal(f"no rollout found for thread id {present}")
        return {}

    codex.answers["thread/delete"] = missing
    async with opened_stage(codex, disk) as stage:
        await is_told_of_the_deletion(stage)
        assert disk.written().archived
    again = [params["threadId"] for method, params in codex.asked[asked:]]
    assert again == [present, first]


async def test_a_thread_that_codex_refuses_to_delete_is_as_it_was() -> None:
    async with opened_stage() as stage:
        await cleared(stage)

        async def refused(_: dict[str, Any]) -> Any:
            raise refusal("forks refer to the thread")

        stage.codex.answers["thread/delete"] = refused
        with pytest.raises(ProviderError, match="forks refer to the thread"):
            await stage.ask("thread/delete")
        assert len(deleted(stage.codex)) == 1
        assert not stage.disk.written().archived
        session = await stage.operations.sessions.ready(THREAD)
        assert session.writer.state.open_operation is None


async def test_an_earlier_generation_that_codex_keeps_does_not_keep_the_thread() -> None:
    async with opened_stage() as stage:
        _, first = await cleared(stage)

        async def keeps_the_first(params: dict[str, Any]) -> Any:
            if params["threadId"] == first:
                raise refusal("forks refer to the thread")
            return {}

        stage.codex.answers["thread/delete"] = keeps_the_first
        await stage.ask("thread/delete")
        assert stage.disk.written().archived


async def test_codex_is_asked_again_until_it_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deletions, "RETRY_PAUSES_S", (0.0,))
    async with opened_stage() as stage:
        await stage.thread("T1")

        async def at_the_third_time(_: dict[str, Any]) -> Any:
            if len(deleted(stage.codex)) < 3:
                raise ProviderTimeout("thread/delete", 30.0)
            return {}

        stage.codex.answers["thread/delete"] = at_the_third_time
        await stage.ask("thread/delete")
        assert len(deleted(stage.codex)) == 3


async def test_nobody_prompts_a_thread_that_is_being_deleted() -> None:
    async with opened_stage() as stage:
        await stage.thread("T1")
        asked, may_answer = stage.codex.hold("thread/delete", {})
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: stage.ask("thread/delete"))
            await asked.wait()
            with pytest.raises(CommandRefused) as refused:
                await stage.ask("thread/delete")
            assert refused.value.reason is Reason.ALREADY_IN_PROGRESS
            tasks.start_soon(prompt_in_vain, stage)
            may_answer.set()
        assert stage.codex.count("turn/start") == 0


async def prompt_in_vain(stage: Stage) -> None:
    with pytest.raises(Refusal) as refused:
        await stage.ask("turn/start", input=[{"type": "text", "text": "hello"}])
    assert refused.value.reason is Reason.THREAD_ARCHIVED


async def test_nothing_is_deleted_before_it_is_durable_that_it_shall_be() -> None:
    async with opened_stage() as stage:
        await stage.thread("T1")
        stage.disk.fill()
        with pytest.raises(ThreadError):
            await stage.ask("thread/delete")
        assert deleted(stage.codex) == []
        stage.disk.free()
        session = await stage.operations.sessions.ready(THREAD)
        assert session.writer.state.open_operation is None
