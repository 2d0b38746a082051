"""Reads the messages of a stream in order and without gaps."""

# nats gives some of its types without their parameters.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false

from contextlib import suppress
from typing import NamedTuple, TypeAlias

import anyio
import nats.errors
import nats.js.api as js_api
import nats.js.errors
from nats.aio.msg import Msg
from nats.js.client import JetStreamContext

from trimpoint.fleet.hub.errors import HubFailed, failures

Subscription: TypeAlias = JetStreamContext.PushSubscription


class Stored(NamedTuple):
    """A message of a stream."""

    subject: str
    data: bytes
    headers: dict[str, str]


class Reading:
    """A subscription to a stream. `waiting` is the number of messages when it began,
    `begins_behind` the sequence number of the last message before them.
    """

    def __init__(
        self,
        subscription: Subscription,
        js: JetStreamContext,
        found: js_api.ConsumerInfo,
        closed: anyio.Event,
    ) -> None:
        self._subscription = subscription
        self._js = js
        self._found = found
        self._closed = closed
        delivered = found.delivered
        self.waiting = (found.num_pending or 0) + (delivered.consumer_seq if delivered else 0)
        self.begins_behind = delivered.stream_seq if delivered else 0

    async def __aenter__(self) -> None: ...

    async def __aexit__(self, *error: object) -> None:
        await end(self._subscription)
        # Else the server keeps it for some seconds, and of those there may be only so many.
        with suppress(Exception):  # the boundary of an end: the server forgets it anyway
            await self._js.delete_consumer(self._found.stream_name, self._found.name)

    async def next(self, silence_s: float) -> Msg | None:
        """Returns the next message; None if none arrives within `silence_s` seconds.

        :raises HubFailed: when the connection is lost.
        """
        ends_at = anyio.current_time() + silence_s
        while not self._closed.is_set():
            with failures():
                try:
                    return await self._subscription.next_msg(timeout=1.0)
                except nats.errors.TimeoutError:
                    if anyio.current_time() >= ends_at:
                        return None
        raise HubFailed("the connection to the hub is lost")

    async def has_sent(self, count: int) -> bool:
        """Returns whether the server has delivered `count` messages and has no more.

        :raises HubFailed: when the server does not answer.
        """
        with failures():
            try:
                found = await self._subscription.consumer_info()
            except nats.js.errors.NotFoundError:
                return False  # the client makes another
        sent = found.delivered.consumer_seq if found.delivered else 0
        return found.num_pending == 0 and sent == count


async def end(subscription: Subscription) -> None:
    """Unsubscribes."""
    with suppress(Exception):  # the boundary of an end: the server forgets it anyway
        await subscription.unsubscribe()


def stored(message: Msg) -> Stored:
    """Returns the subject, data and headers of a message."""
    return Stored(message.subject, message.data, dict(message.headers or {}))
