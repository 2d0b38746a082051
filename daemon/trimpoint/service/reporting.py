"""The daemon's side of its service manager: ready, a status line that follows what happens, signs
of life, the end.
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import anyio

from trimpoint.service.notify import Notifier

# A status is read by people, who do not look more often.
_STATUS_EVERY_S = 5.0


@asynccontextmanager
async def reported(notifier: Notifier, describe: Callable[[], str]) -> AsyncGenerator[None]:
    """Calls it once clients can connect. While the block lasts, the status is `describe()` and the
    watchdog is fed from this loop.
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
