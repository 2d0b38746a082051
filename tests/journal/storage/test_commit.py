from __future__ import annotations

import asyncio
from collections.abc import Callable
from errno import EINTR, EIO
from pathlib import Path

import anyio
import pytest
from anyio import wait_all_tasks_blocked
from anyio.lowlevel import checkpoint
from trimpoint.journal import JournalWriteError
from trimpoint.journal.storage.commit import GroupCommit

PATH = Path("t.journal")


class Script:
    """A writer that records its batches. Each batch waits until `step` lets it end, or fails with
    `failure`.
    """

    def __init__(self, *, stepwise: bool = False) -> None:
        self.batches: list[list[bytes]] = []
        self.failure: Exception | None = None
        self._stepwise = stepwise
        self._steps = anyio.Semaphore(0)

    async def write(self, batch: list[bytes]) -> None:
        self.batches.append(batch)
        if self._stepwise:
            await self._steps.acquire()
        await checkpoint()
        if self.failure is not None:
            raise self.failure

    def step(self) -> None:
        self._steps.release()


async def append_and_commit(
    group: GroupCommit, payload: bytes, done: Callable[[bytes], None]
) -> None:
    group.append(payload)
    await group.commit()
    done(payload)


async def test_a_commit_without_records_writes_nothing() -> None:
    script = Script()
    await GroupCommit(PATH, script.write).commit()
    assert script.batches == []


async def test_sixty_four_callers_share_one_write() -> None:
    script = Script()
    group = GroupCommit(PATH, script.write)
    done: list[bytes] = []
    async with anyio.create_task_group() as tasks:
        for n in range(64):
            tasks.start_soon(append_and_commit, group, b"%d" % n, done.append)
    assert [len(batch) for batch in script.batches] == [64]
    assert len(done) == 64


async def test_callers_that_append_again_share_the_next_sync() -> None:
    script = Script()
    group = GroupCommit(PATH, script.write)

    async def committer() -> None:
        for _ in range(10):
            group.append(b"x")
            await group.commit()

    async with anyio.create_task_group() as tasks:
        for _ in range(64):
            tasks.start_soon(committer)
    assert [len(batch) for batch in script.batches] == [64] * 10


async def test_records_appended_during_a_write_form_the_next_batch() -> None:
    script = Script(stepwise=True)
    group = GroupCommit(PATH, script.write)
    done: list[bytes] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(append_and_commit, group, b"a", done.append)
        await wait_all_tasks_blocked()
        for payload in (b"b", b"c"):
            tasks.start_soon(append_and_commit, group, payload, done.append)
        await wait_all_tasks_blocked()
        assert script.batches == [[b"a"]]
        script.step()
        await wait_all_tasks_blocked()
        assert done == [b"a"]
        assert script.batches == [[b"a"], [b"b", b"c"]]
        script.step()
    assert sorted(done) == [b"a", b"b", b"c"]


async def test_a_commit_waits_for_no_more_than_what_was_appended_before_it() -> None:
    script = Script(stepwise=True)
    group = GroupCommit(PATH, script.write)
    done: list[bytes] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(append_and_commit, group, b"a", done.append)
        await wait_all_tasks_blocked()
        group.append(b"b")
        script.step()
        await wait_all_tasks_blocked()
        assert done == [b"a"]
    assert script.batches == [[b"a"]]


async def test_a_cancelled_leader_finishes_the_write_the_others_wait_for() -> None:
    script = Script(stepwise=True)
    group = GroupCommit(PATH, script.write)
    done: list[bytes] = []
    leader_scope = anyio.CancelScope()

    async def lead() -> None:
        with leader_scope:
            await append_and_commit(group, b"a", done.append)
            await checkpoint()
            done.append(b"not cancelled")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lead)
        await wait_all_tasks_blocked()
        group.append(b"b")
        leader_scope.cancel()
        await wait_all_tasks_blocked()
        tasks.start_soon(append_and_commit, group, b"c", done.append)
        script.step()
        script.step()
    assert script.batches == [[b"a"], [b"b", b"c"]]
    assert sorted(done) == [b"a", b"c"]


async def test_a_cancelled_follower_leaves_its_record_to_the_others() -> None:
    script = Script(stepwise=True)
    group = GroupCommit(PATH, script.write)
    done: list[bytes] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(append_and_commit, group, b"a", done.append)
        await wait_all_tasks_blocked()
        with anyio.CancelScope() as scope:
            scope.cancel()
            await append_and_commit(group, b"b", done.append)
        tasks.start_soon(append_and_commit, group, b"c", done.append)
        script.step()
        script.step()
    assert script.batches == [[b"a"], [b"b", b"c"]]
    assert sorted(done) == [b"a", b"c"]


async def test_a_failure_reaches_waiting_and_later_callers_but_not_those_already_durable() -> None:
    script = Script(stepwise=True)
    group = GroupCommit(PATH, script.write)
    outcome: dict[bytes, str] = {}

    async def committer(payload: bytes) -> None:
        try:
            await append_and_commit(
                group, payload, lambda payload: outcome.update({payload: "durable"})
            )
        except JournalWriteError:
            outcome[payload] = "refused"

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(committer, b"a")
        await wait_all_tasks_blocked()
        tasks.start_soon(committer, b"b")
        await wait_all_tasks_blocked()
        script.step()
        await wait_all_tasks_blocked()
        tasks.start_soon(committer, b"c")
        await wait_all_tasks_blocked()
        script.failure = JournalWriteError(PATH, EIO, "write")
        script.step()
        await wait_all_tasks_blocked()
        tasks.start_soon(committer, b"d")
    assert outcome == {b"a": "durable", b"b": "refused", b"c": "refused", b"d": "refused"}
    assert script.batches == [[b"a"], [b"b"]]


async def test_a_natively_cancelled_leader_fails_the_group_for_its_outcome_is_unknown() -> None:
    script = Script(stepwise=True)
    group = GroupCommit(PATH, script.write)
    group.append(b"a")
    leader = asyncio.ensure_future(group.commit())
    await wait_all_tasks_blocked()
    leader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leader
    with pytest.raises(JournalWriteError) as refused:
        group.append(b"b")
    assert refused.value.errno == EINTR


async def test_a_fault_of_the_writer_itself_is_raised_and_fails_the_group() -> None:
    script = Script()
    script.failure = ZeroDivisionError()
    group = GroupCommit(PATH, script.write)
    group.append(b"a")
    with pytest.raises(ZeroDivisionError):
        await group.commit()
    with pytest.raises(JournalWriteError):
        await group.commit()
