"""Requests to Codex whose answer a client gets at its very place in the stream.

Always true: Codex answers first and speaks of it afterwards ("turn/start" before "turn/started"),
and a client of ours receives it in that order too. So the answer goes out in the reader, before the
next line of Codex's is looked at, and not in the task that awaits it.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from msgspec import Raw

from trimpoint.codex.appserver.peer import Outcome, ProviderFailure
from trimpoint.codex.appserver.supervisor import CodexLink

Result = TypeVar("Result")

# For what takes as long as it takes, with a limit that its sender sets: a program, a tool, a
# download, a person.
LONG_DEADLINE_S = 24 * 3600.0


async def request_in_order(
    link: CodexLink,
    method: str,
    params: Any,
    then: Callable[[Raw], Result],
    *,
    deadline_s: float | None = None,
    on_sent: Callable[[int], None] | None = None,
) -> Result:
    """Ask, and return what `then` made of the answer; it runs in the reader, must be cheap and must
    not wait.

    Cancelling forgets the request; Codex may still act on it. `on_sent` is told Codex's id of it.

    :raises ProviderFailure: there is no answer; `then` was not called.
    """
    peer = await link.connected()
    arriving: asyncio.Future[Result] = asyncio.get_running_loop().create_future()

    def arrived(outcome: Outcome) -> None:
        if arriving.done():
            return
        if isinstance(outcome, ProviderFailure):
            arriving.set_exception(outcome)
            return
        try:
            result = then(outcome)
        except (
            Exception
        ) as error:  # the boundary to the reader: what goes wrong belongs to the one who asked
            settle(partial(arriving.set_exception, error))
        else:
            settle(partial(arriving.set_result, result))

    def settle(step: Callable[[], None]) -> None:
        # `then` may have ended the one who asked: a client that cannot take its answer is gone with
        # all its requests.
        if not arriving.done():
            step()

    request_id = peer.begin(
        method, params, deadline_s=deadline_s or link.request_deadline_s, on_outcome=arrived
    )
    try:
        if on_sent is not None:
            on_sent(request_id)
        return await arriving
    finally:
        peer.abandon(request_id)
