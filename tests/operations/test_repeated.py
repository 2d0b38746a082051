"""A command that is sent again is carried out once, and a request that waited looks again."""

from typing import Any

import anyio
from trimpoint.core.model import events as ev
from trimpoint_protocol.commands import TrimContext

from tests.operations.stage import opened_stage, refusal
from tests.threads.stage import THREAD

CLEAR = TrimContext(command_id="c", thread_id=THREAD, keep_last_n_turns=1)


async def test_a_repeated_command_gets_its_stored_answer_whatever_has_become_of_the_thread() -> (
    None
):
    async with opened_stage() as stage:
        writer = await stage.thread("T1", "T2")
        first = await stage.operations.sessions.dispatch(CLEAR)
        await stage.ended(writer)

        async def archived(_: dict[str, Any]) -> Any:
            raise refusal(f"session {THREAD} is archived.")

        stage.codex.answers["thread/resume"] = archived
        stage.operations.threads.forget(str(writer.state.generation.provider_thread_id))
        again = await stage.operations.sessions.dispatch(CLEAR)
        assert again.operation_id == first.operation_id
        assert len(writer.state.trim_points) == 1


async def test_a_typed_command_that_is_sent_again_is_carried_out_once() -> None:
    async with opened_stage() as stage:
        writer = await stage.thread("T1", "T2", "T3")
        for times in (1, 2):
            await stage.ask(
                "turn/start",
                input=[{"type": "text", "text": "/clear 1"}],
                clientUserMessageId="the prompt of a client",
            )
            await stage.hears("turn/completed", times)
        assert len(writer.state.trim_points) == 1
        await stage.ask("turn/start", input=[{"type": "text", "text": "/clear 0"}])
        await stage.hears("turn/completed", 3)
        assert len(writer.state.trim_points) == 2


async def test_a_read_that_waited_for_an_operation_does_not_read_back_beside_the_next_one() -> None:
    async with opened_stage() as stage:
        writer = await stage.thread("T1")
        stage.operations.threads.forget(THREAD)
        asked = stage.codex.count("thread/turns/list")
        async with anyio.create_task_group() as tasks, stage.operations.sessions.lock(THREAD):
            tasks.start_soon(stage.operations.sessions.take_in, writer)
            await anyio.wait_all_tasks_blocked()
            writer.record_facts(ev.OperationStarted("O", "clear"))
        assert stage.codex.count("thread/turns/list") == asked
