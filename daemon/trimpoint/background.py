"""Starts tasks in the background. This is the only way to start a task in a task group of others.

Always true: a failure in such a task costs its own work. It is logged once, and ends neither the
daemon nor the tasks beside it: a task group would cancel them all.
"""

from collections.abc import Awaitable, Callable
from typing import TypeVarTuple, Unpack

import anyio
import structlog
from anyio.abc import TaskGroup

log = structlog.get_logger()

Arguments = TypeVarTuple("Arguments")
# Before a task that works for as long as the daemon runs is started again after a failure.
AGAIN_AFTER_S = 1.0


def spawn(
    tasks: TaskGroup,
    step: Callable[[Unpack[Arguments]], Awaitable[object]],
    *arguments: *Arguments,
    lasting: bool = False,
) -> None:
    """Runs `step` in `tasks`. A `lasting` task is started again after a failure. If the task group
    has ended already, nothing is started.
    """

    async def guarded() -> None:
        while True:
            if await _succeeds(step, *arguments) or not lasting:
                return
            await anyio.sleep(AGAIN_AFTER_S)

    try:
        tasks.start_soon(guarded, name=_name_of(step))
    except RuntimeError:
        log.info("too_late_for_task", task=_name_of(step))


async def _succeeds(
    step: Callable[[Unpack[Arguments]], Awaitable[object]], *arguments: *Arguments
) -> bool:
    try:
        await step(*arguments)
    except Exception:  # the boundary of all tasks in the background
        log.exception("background_task_broke", task=_name_of(step))
        return False
    return True


def _name_of(step: Callable[..., object]) -> str:
    return getattr(step, "__qualname__", type(step).__name__)
