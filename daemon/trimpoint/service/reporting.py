"""Reports the daemon's state to its service manager: ready, a status line, the watchdog's signals,
and the stop.
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import anyio

from trimpoint.service.notify import Notifier

# The status is for people, who need no shorter interval.
_STATUS_EVERY_S = 5.0


@asynccontextmanager
async def reported(notifier: Notifier, describe: Callable[[], str]) -> AsyncGenerator[None]:
    """Reports the daemon as ready, and keeps reporting its state until the block ends.

    The status line is the result of `describe()`. The watchdog's signals are sent from this event
    loop. Enter it once clients can connect.
    """
    if not notifier.has_receiver:
        yield
        return
    notifier.status(describe())
    notifier.ready()
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_keep_reporting, notifier, describe)
            yield
            tasks.cancel_scope.cancel()
    finally:
        notifier.stopping()
        notifier.status("Stopping.")


async def _keep_reporting(notifier: Notifier, describe: Callable[[], str]) -> None:
    every_s = min(_STATUS_EVERY_S, (notifier.watchdog_s or _STATUS_EVERY_S * 2) / 2)
    while True:
        notifier.alive()
        notifier.status(describe())
        await anyio.sleep(every_s)
