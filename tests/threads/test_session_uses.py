"""Uses of a thread's session, and waiting for their end."""

import anyio
from trimpoint.operations.session_uses import SessionUses

from tests.deadlines import STEP_S


async def test_without_uses_nothing_is_waited_for() -> None:
    uses = SessionUses()
    with anyio.fail_after(STEP_S):
        await uses.ended("t1")
        async with uses.paused("t1"):
            assert uses.are_paused("t1")
            assert not uses.are_paused("t2")
    assert not uses.are_paused("t1")


async def test_a_pause_begins_when_the_last_use_has_ended() -> None:
    uses, steps = SessionUses(), list[str]()

    async def pause() -> None:
        async with uses.paused("t1"):
            steps.append("paused")

    with anyio.fail_after(STEP_S):
        async with anyio.create_task_group() as tasks:
            with uses.using("t2"):
                with uses.using("t1"):
                    with uses.using("t1"):
                        tasks.start_soon(pause)
                        await anyio.wait_all_tasks_blocked()
                        assert uses.are_paused("t1")
                    await anyio.wait_all_tasks_blocked()
                    steps.append("used")
                await anyio.wait_all_tasks_blocked()
    assert steps == ["used", "paused"]


async def test_a_cancelled_pause_keeps_no_use_from_beginning() -> None:
    uses = SessionUses()
    with uses.using("t1"), anyio.move_on_after(0):
        async with uses.paused("t1"):
            raise AssertionError("a use is under way")
    assert not uses.are_paused("t1")
