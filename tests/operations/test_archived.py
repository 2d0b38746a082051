"""A thread that was archived or deleted while something waited is not given to Codex again."""

from functools import partial
from typing import Any

import anyio
import pytest
from trimpoint.gateway.session.requests.errors import Refusal
from trimpoint.threads.errors import CommandRefused
from trimpoint_protocol.commands import ArchiveThread

from tests.operations.stage import Stage, opened_stage, refusal
from tests.threads.stage import THREAD


def no_longer_there(stage: Stage) -> None:
    """Has Codex not know the thread."""

    async def missing(_: dict[str, Any]) -> Any:
        raise refusal(f"no rollout found for thread id {THREAD}")

    stage.codex.answers["thread/resume"] = missing


async def test_a_prompt_that_waited_while_its_thread_was_deleted_makes_no_codex_thread() -> None:
    async with opened_stage() as stage:
        writer = await stage.thread("T1")
        asked, may_answer = anyio.Event(), anyio.Event()

        async def delete(params: dict[str, Any]) -> Any:
            asked.set()
            await may_answer.wait()
            no_longer_there(stage)
            return stage.codex.answer("thread/delete", params)

        stage.codex.answers["thread/delete"] = delete

        async def prompt() -> None:
            with pytest.raises((CommandRefused, Refusal)):
                await stage.ask("turn/start", input=[{"type": "text", "text": "hello"}])

        async with anyio.create_task_group() as asking:
            asking.start_soon(partial(stage.ask, "thread/delete"))
            await asked.wait()
            asking.start_soon(prompt)
            await anyio.wait_all_tasks_blocked()
            may_answer.set()
        assert stage.codex.count("thread/start") == 0
        assert (writer.state.archived, writer.state.session_stopped) == (True, True)


async def test_a_revert_loads_no_archived_thread() -> None:
    async with opened_stage() as stage:
        writer = await stage.thread("T1")
        await stage.operations.sessions.dispatch(ArchiveThread(command_id="a", thread_id=THREAD))
        await stage.codex.until(lambda: "thread/archive" in stage.codex.answered)
        with pytest.raises(CommandRefused):
            await stage.ask("thread/revert", beforeTurnId="T1")
        await writer.flush()
        assert writer.state.session_stopped


async def test_a_thread_that_is_archived_while_requests_wait_for_it_is_archived_in_codex() -> None:
    async with opened_stage() as stage:
        writer = await stage.thread("T1")
        asked, may_answer = stage.codex.hold("thread/resume")

        async def listed(_: dict[str, Any]) -> Any:
            return {"data": [{"id": "T1", "status": "completed"}]}

        async def ask(method: str, **params: Any) -> None:
            with pytest.raises(CommandRefused):
                await stage.ask(method, **params)

        stage.operations.threads.forget(THREAD)
        stage.codex.answers["thread/turns/list"] = listed
        async with anyio.create_task_group() as asking:
            asking.start_soon(partial(ask, "thread/resume"))
            await asked.wait()
            asking.start_soon(partial(ask, "thread/revert", beforeTurnId="T1"))
            archive = ArchiveThread(command_id="a", thread_id=THREAD)
            await stage.operations.sessions.dispatch(archive)
            may_answer.set()
        await stage.codex.until(lambda: "thread/archive" in stage.codex.answered)
        await writer.flush()
        assert writer.state.session_stopped
        assert stage.codex.count("thread/revert") == 0


async def test_a_queue_whose_thread_is_archived_keeps_no_request_waiting() -> None:
    async with opened_stage() as stage:
        writer = await stage.thread("T1")
        asked, may_answer = anyio.Event(), anyio.Event()

        async def refused(_: dict[str, Any]) -> Any:
            asked.set()
            await may_answer.wait()
            raise refusal("not now")

        stage.codex.answers["turn/start"] = refused
        text = [{"type": "text", "text": "hello"}]
        await stage.ask("thread/queue/add", input=text, clientUserMessageId="m")
        await asked.wait()
        may_answer.set()
        while writer.state.hold is None:
            await anyio.lowlevel.checkpoint()

        async def delete(params: dict[str, Any]) -> Any:
            return stage.codex.answer("thread/delete", params)

        stage.codex.answers["thread/delete"] = delete

        async def start() -> None:
            with pytest.raises((CommandRefused, Refusal)):
                await stage.ask("thread/queue/start")

        async with anyio.create_task_group() as asking:
            asking.start_soon(partial(stage.ask, "thread/delete"))
            asking.start_soon(start)
