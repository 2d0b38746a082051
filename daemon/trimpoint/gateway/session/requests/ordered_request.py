"""Requests to Codex whose response is passed to the client in its place among Codex's other
messages.

Always true: a client receives Codex's messages in the order in which Codex sent them, such as the
response to `turn/start` before `turn/started`. So the response is handled in the reader, before
Codex's next line is read, and not in the task that awaits it.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from msgspec import Raw

from trimpoint.codex.appserver.errors import ProviderFailure
from trimpoint.codex.appserver.peer import Outcome
from trimpoint.codex.appserver.supervisor import CodexLink

Result = TypeVar("Result")

# For requests without a natural limit, such as a program, a tool, a download or a person's answer;
# the client sets its own limit.
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
    """Sends a request to Codex, and returns the result of `then` for its response.

    `then` runs in the reader, so it must be fast and must not wait. `on_sent` receives the id of
    the request to Codex. Cancelling only forgets the request; Codex may still act on it.

    :raises ProviderFailure: when there is no response; `then` was not called.
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
        ) as error:  # the boundary to the reader: the error belongs to the awaiting task
            settle(partial(arriving.set_exception, error))
        else:
            settle(partial(arriving.set_result, result))

    def settle(step: Callable[[], None]) -> None:
        # `then` may have cancelled the awaiting task: a client that cannot take its answer is
        # disconnected, and all its requests are cancelled.
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
