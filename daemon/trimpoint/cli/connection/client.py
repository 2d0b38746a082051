"""The command line's client of a running daemon: a connection of the protocol library that keeps
all incoming messages as decoded JSON, in order of arrival, until they are read.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import anyio
import msgspec
from trimpoint_protocol import client as library
from trimpoint_protocol.client import Connection, ConnectionLost, PendingAnswer, RemoteError
from trimpoint_protocol.client.unix import connect_unix

from trimpoint import __version__
from trimpoint.cli.exits import sole_error

__all__ = [
    "Client",
    "ConnectionLost",
    "Message",
    "PendingAnswer",
    "RemoteError",
    "ask",
    "connect",
]

T = TypeVar("T")

Message = dict[str, Any]


class Client:
    """A client of the daemon, made by `connect`. Implements `MessageSink`."""

    def __init__(self, connection: Connection) -> None:
        self.messages: list[Message] = []
        self.codex_home = ""
        """Where the daemon's Codex keeps its threads; known once initialized."""
        self._connection = connection
        self._questions: dict[Any, library.ServerRequest] = {}
        self._changed = anyio.Event()
        self._is_ended = False
        connection.attach(self)

    @property
    def notifications(self) -> list[Message]:
        """Returns the notifications, oldest first."""
        return [message for message in self.messages if "id" not in message]

    @property
    def questions(self) -> list[Message]:
        """Returns the requests of the agent, oldest first."""
        return [message for message in self.messages if "id" in message]

    async def initialize(self, name: str = "trimpoint-cli", **capabilities: Any) -> Message:
        """Sends `initialize` and `initialized` and returns the daemon's answer. Must come before
        any other request.
        """
        info = {"name": name, "title": name, "version": __version__}
        answer = await self.request(
            "initialize",
            clientInfo=info,
            capabilities={"experimentalApi": True, **capabilities},
        )
        self._connection.notify("initialized")
        self.codex_home = str(answer.get("codexHome") or "")
        return dict(answer)

    async def request(self, method: str, /, **params: Any) -> Any:
        """Sends a request, waits for the response and returns its result.

        :raises RemoteError: when the daemon refused the request.
        :raises ConnectionLost: when the connection has ended.
        """
        return await self._connection.request(method, params)

    def begin(self, method: str, /, **params: Any) -> PendingAnswer:
        """Sends a request and returns its pending answer without waiting for it.

        :raises ConnectionLost: when the connection has ended.
        """
        return self._connection.begin(method, params)

    def answer(self, question: Message, result: Any) -> None:
        """Answers a request of the agent, unless this client has answered it before."""
        if (request := self._questions.pop(question["id"], None)) is not None:
            request.answer(result)

    def refuse(self, question: Message, reason: str) -> None:
        """Declines a request of the agent with an error, so that other clients can answer it."""
        if (request := self._questions.pop(question["id"], None)) is not None:
            request.refuse(reason)

    async def expect(self, wanted: Callable[[Message], bool], after: int = 0) -> Message:
        """Returns the first message from position `after` on for which `wanted` is true, and waits
        for it if necessary.

        :raises ConnectionLost: when the connection ended before such a message arrived.
        """
        while True:
            for message in self.messages[after:]:
                if wanted(message):
                    return message
            await self._next_change()

    async def received(self, method: str, after: int = 0, **params: Any) -> Message:
        """Returns the first notification or request `method` from position `after` on whose
        parameters include `params`; waits for it.
        """
        return await self.expect(
            lambda message: (
                message["method"] == method
                and all(
                    message.get("params", {}).get(name) == value for name, value in params.items()
                )
            ),
            after,
        )

    async def stream(self) -> AsyncIterator[Message]:
        """Yields every message once, in order of arrival, and removes it from `messages`.

        :raises ConnectionLost: when the connection has ended and all messages were yielded.
        """
        while True:
            while self.messages:
                yield self.messages.pop(0)
            await self._next_change()

    def deliver(self, message: library.Message) -> None:
        """Stores a message of the connection and wakes those who wait for one."""
        decoded: Message = {"method": message.method}
        if message.raw:
            decoded["params"] = message.params
        if isinstance(message, library.ServerRequest):
            decoded["id"] = message.id
            self._questions[message.id] = message
        self.messages.append(decoded)
        self._announce()

    def end(self) -> None:
        """Marks the connection as ended and wakes those who wait for a message."""
        self._is_ended = True
        self._announce()

    async def _next_change(self) -> None:
        if self._is_ended:
            raise ConnectionLost
        await self._changed.wait()

    def _announce(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()


@asynccontextmanager
async def connect(path: Path) -> AsyncGenerator[Client]:
    """Yields a client that is connected to the daemon at the Unix socket `path`; it is not
    initialized yet.

    :raises OSError: when no daemon listens there.
    """
    try:
        async with (
            await connect_unix(path) as stream,
            library.open_connection(stream) as connection,
        ):
            yield Client(connection)
    except BaseExceptionGroup as group:
        # The block's own error, as if there were no task group.
        raise sole_error(group) from None


async def ask(client: Client, result: type[T], method: str, **params: Any) -> T:
    """Sends a request of trimpoint's own methods and returns its answer, decoded as `result`.

    :raises RemoteError: when the daemon refused the request.
    """
    return msgspec.convert(await client.request(method, **params), result)
