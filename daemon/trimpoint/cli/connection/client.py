"""A client of a running daemon: newline-delimited JSON-RPC over its Unix socket.

Notifications and questions of the agent are kept in order of arrival until somebody looks at them.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import orjson
from anyio.abc import SocketStream

from trimpoint import __version__
from trimpoint.cli.exits import sole_error

Message = dict[str, Any]
READ_CHUNK_BYTES = 256 * 1024


class RemoteError(Exception):
    """The daemon, or Codex behind it, refused. `data` has `reason` and `hint` where trimpoint
    itself refused.
    """

    def __init__(self, code: int, message: str, data: Any) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.data: dict[str, Any] = data if isinstance(data, dict) else {}

    def __str__(self) -> str:
        return self.message

    @property
    def reason(self) -> str | None:
        """The machine-readable reason, if it is an error of trimpoint's own."""
        return self.data.get("reason")


class ConnectionLost(Exception):
    """The daemon closed the connection."""

    def __str__(self) -> str:
        return "the daemon closed the connection"


class Client:
    """Made by `connect`."""

    def __init__(self, stream: SocketStream) -> None:
        self.messages: list[Message] = []
        self._stream = stream
        self._last_id = 0
        self._answers: dict[int, Message] = {}
        self._changed = anyio.Event()
        self._lost = False
        self.codex_home = ""
        """Where the daemon's Codex keeps its threads; known once initialized."""

    @property
    def notifications(self) -> list[Message]:
        """The notifications, oldest first."""
        return [message for message in self.messages if "id" not in message]

    @property
    def questions(self) -> list[Message]:
        """The requests of the agent, oldest first."""
        return [message for message in self.messages if "id" in message]

    async def initialize(self, name: str = "trimpoint-cli", **capabilities: Any) -> Message:
        """Shake hands; before anything else."""
        info = {"name": name, "title": name, "version": __version__}
        answer = await self.request(
            "initialize", clientInfo=info, capabilities={"experimentalApi": True, **capabilities}
        )
        await self.send({"method": "initialized"})
        self.codex_home = str(answer.get("codexHome") or "")
        return dict(answer)

    async def request(self, method: str, /, **params: Any) -> Any:
        """Ask and await the result.

        :raises RemoteError: it was refused.
        :raises ConnectionLost: the daemon is gone.
        """
        return await self.result_of(await self.begin(method, **params))

    async def begin(self, method: str, /, **params: Any) -> int:
        """Send a request and return its id, for `result_of`."""
        self._last_id += 1
        request_id = self._last_id
        await self.send({"id": request_id, "method": method, "params": params})
        return request_id

    async def result_of(self, request_id: int) -> Any:
        """Await the result of a request that was begun; it may be awaited again when that was
        cancelled.

        :raises RemoteError: it was refused.
        :raises ConnectionLost: the daemon is gone.
        """
        await self._until(lambda: request_id in self._answers)
        answer = self._answers.pop(request_id)
        if "error" in answer:
            error = answer["error"]
            raise RemoteError(error.get("code", 0), error.get("message", ""), error.get("data"))
        return answer.get("result")

    async def send(self, message: Message) -> None:
        """Send any message."""
        try:
            await self._stream.send(orjson.dumps(message) + b"\n")
        except (anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
            raise ConnectionLost from error

    async def expect(self, wanted: Callable[[Message], bool], after: int = 0) -> Message:
        """Returns the first message from position `after` on that is wanted, waiting for it if need
        be.
        """
        found: list[Message] = []

        def look() -> bool:
            found[:] = [message for message in self.messages[after:] if wanted(message)][:1]
            return bool(found)

        await self._until(look)
        return found[0]

    async def received(self, method: str, after: int = 0, **params: Any) -> Message:
        """Returns the first notification or question `method` whose parameters include `params`."""
        return await self.expect(
            lambda message: (
                message.get("method") == method
                and all(
                    message.get("params", {}).get(name) == value for name, value in params.items()
                )
            ),
            after,
        )

    async def stream(self) -> AsyncIterator[Message]:
        """Everything that arrives, in order, each once, given away: `messages` holds none of it
        afterwards.

        :raises ConnectionLost: nothing more will come.
        """
        while True:
            while self.messages:
                yield self.messages.pop(0)
            await self.next_change()

    async def next_change(self) -> None:
        """Wait until something arrives.

        :raises ConnectionLost: nothing will.
        """
        if self._lost:
            raise ConnectionLost
        await self._changed.wait()

    async def _until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            await self.next_change()

    async def read_forever(self) -> None:
        """Take in what arrives until the connection ends."""
        rest = b""
        try:
            while True:
                rest = self._read_lines(rest + await self._stream.receive(READ_CHUNK_BYTES))
        except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
            self._lost = True
            self._announce()

    def _read_lines(self, data: bytes) -> bytes:
        *lines, rest = data.split(b"\n")
        for line in lines:
            message: Message = orjson.loads(line)
            if "method" in message:
                self.messages.append(message)
            elif isinstance(message.get("id"), int):
                self._answers[message["id"]] = message
            else:
                self.messages.append(message)
        if lines:
            self._announce()
        return rest

    def _announce(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()


@asynccontextmanager
async def connect(path: Path) -> AsyncGenerator[Client]:
    """A connection to the daemon that listens on `path`.

    :raises OSError: nobody does.
    """
    async with await anyio.connect_unix(path) as stream:
        try:
            async with anyio.create_task_group() as tasks:
                client = Client(stream)
                tasks.start_soon(client.read_forever)
                yield client
                tasks.cancel_scope.cancel()
        except BaseExceptionGroup as group:
            # The block's own error, as if there were no task group.
            raise sole_error(group) from None
