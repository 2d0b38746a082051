"""What an operation does at Codex happens once, whatever fails or is killed between two steps."""

from dataclasses import dataclass
from typing import Any

import anyio
import pytest
from trimpoint.codex.appserver.errors import ProviderTimeout
from trimpoint.core.model.operations import Phase
from trimpoint.operations import runner
from trimpoint.threads.errors import JournalRefuses, OperationDelayed
from trimpoint_protocol.commands import RevertToCheckpoint, TrimContext
from trimpoint_protocol.errors import Reason

from tests.operations.stage import opened_stage, refusal
from tests.threads.stage import THREAD, Disk

CLEAR = TrimContext(command_id="c", thread_id=THREAD, keep_last_n_turns=1)


@pytest.fixture(autouse=True)
def retries_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "RETRY_WRITE_S", 0.001)


async def test_a_disk_that_fills_during_a_clear_does_not_make_codex_threads_without_end() -> None:
    async with opened_stage() as stage:
        writer = await stage.thread("T1", "T2")
        stage.codex.queue("deploy")
        await stage.operations.sessions.dispatch(CLEAR)
        stage.disk.fill()
        await stage.refusals(5)
        assert stage.codex.count("thread/start") <= 1
        assert stage.codex.begun == []
        stage.disk.free()
        await stage.ended(writer)
        await stage.codex.until(lambda: not stage.codex.queues[THREAD])
        assert stage.codex.begun == [("deploy", writer.state.generation.provider_thread_id)]
        deleted = {p["threadId"] for method, p in stage.codex.asked if method == "thread/delete"}
        started = stage.codex.count("thread/start")
        assert started == len(deleted) + 1, "what was started is used or deleted"


async def test_who_waits_for_an_operation_is_told_of_a_full_disk() -> None:
    async with opened_stage() as stage:
        writer = await stage.thread("T1", "T2")
        await stage.operations.sessions.dispatch(CLEAR)
        stage.disk.fill()
        with pytest.raises(OperationDelayed) as refused:
            await stage.ended(writer)
        assert refused.value.reason is Reason.JOURNAL_READ_ONLY
        stage.disk.free()
        await stage.ended(writer)
        assert writer.state.generation.ready


async def test_a_queued_prompt_is_begun_only_when_the_operation_is_durably_ready() -> None:
    async with opened_stage() as stage:
        phases: list[Phase] = []

        async def add(params: dict[str, Any]) -> Any:
            operation = stage.disk.written().operation
            assert operation is not None
            phases.append(operation.phase)
            return stage.codex.answer("thread/queue/add", params)

        stage.codex.answers["thread/queue/add"] = add
        writer = await stage.thread("T1", "T2")
        stage.codex.queue("deploy")
        await stage.operations.sessions.dispatch(CLEAR)
        await stage.ended(writer)
        await stage.codex.until(lambda: "thread/archive" in stage.codex.answered)
    assert phases == [Phase.READY]
    assert stage.codex.queues[THREAD] == []


async def test_a_queued_prompt_is_not_begun_when_another_property_cannot_be_carried_over() -> None:
    async with opened_stage() as stage:

        async def never(_: dict[str, Any]) -> Any:
            raise ProviderTimeout("thread/attachment/list", 30.0)

        stage.codex.answers["thread/attachment/list"] = never
        writer = await stage.thread("T1", "T2")
        stage.codex.queue("deploy")
        await stage.operations.sessions.dispatch(CLEAR)
        await stage.ended(writer)
        assert stage.codex.begun == []
        del stage.codex.answers["thread/attachment/list"]
        await stage.operations.sessions.ready(THREAD)
        await stage.codex.until(lambda: bool(stage.codex.begun))
    assert stage.codex.begun == [("deploy", writer.state.generation.provider_thread_id)]


async def test_a_prompt_whose_copy_was_acknowledged_is_not_copied_again_by_the_next_daemon() -> (
    None
):
    async with opened_stage() as stage:
        killed = anyio.Event()

        async def die(_: dict[str, Any]) -> Any:
            killed.set()
            await anyio.sleep_forever()

        stage.codex.answers["thread/queue/delete"] = die
        await stage.thread("T1", "T2")
        stage.codex.queue("deploy")
        stage.codex.queue("test")
        await stage.operations.sessions.dispatch(CLEAR)
        await killed.wait()
        codex, disk = stage.codex, stage.disk
    del codex.answers["thread/queue/delete"]
    async with opened_stage(codex, disk) as stage:
        await stage.operations.sessions.ready(THREAD)
        await codex.until(lambda: not codex.queues[THREAD])
    assert [prompt for prompt, _ in codex.begun] == ["deploy", "test"]


@dataclass
class HeldDisk(Disk):
    """`held` keeps accesses waiting until it is set."""

    held: anyio.Event | None = None

    async def wait(self) -> None:
        await super().wait()
        if self.held is not None:
            await self.held.wait()


async def test_no_session_is_ready_before_the_end_of_its_operation_is_durable() -> None:
    disk = HeldDisk()
    async with opened_stage(disk=disk) as stage:
        writer = await stage.thread("T1", "T2")
        held = anyio.Event()

        async def last_step(params: dict[str, Any]) -> Any:
            disk.held = held
            return stage.codex.answer("thread/attachment/list", params)

        stage.codex.answers["thread/attachment/list"] = last_step
        await stage.operations.sessions.dispatch(CLEAR)
        while writer.state.open_operation is not None:
            await anyio.lowlevel.checkpoint()

        async def refused() -> None:
            with pytest.raises(JournalRefuses):
                await stage.operations.sessions.ready(THREAD)

        async with anyio.create_task_group() as asking:
            asking.start_soon(refused)
            await anyio.wait_all_tasks_blocked()
            disk.fill()
            held.set()
        disk.free()
        session = await stage.operations.sessions.ready(THREAD)
        await stage.ended(writer)
        assert session.provider_thread_id == writer.state.generation.provider_thread_id


REVERT = RevertToCheckpoint(command_id="r", thread_id=THREAD, turn_count=1, scope="context")


@pytest.mark.parametrize("command", [CLEAR, REVERT], ids=["clear", "revert"])
async def test_no_codex_thread_is_given_anything_before_its_id_is_durable(
    command: TrimContext | RevertToCheckpoint,
) -> None:
    async with opened_stage() as stage:
        known: list[bool] = []

        async def no_fork(_: dict[str, Any]) -> Any:
            raise refusal("it cannot be forked")

        async def inject(params: dict[str, Any]) -> Any:
            journal = b"".join(stage.disk.records[THREAD])
            known.append(str(params["threadId"]).encode() in journal)
            return {}

        stage.codex.answers |= {"thread/fork": no_fork, "thread/inject_items": inject}
        writer = await stage.thread("T1", "T2")
        await stage.operations.sessions.dispatch(command)
        await stage.ended(writer)
    assert known == [True]
