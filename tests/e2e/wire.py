"""A client in raw bytes, of the daemon or of Codex itself. `received` holds everything that it was
sent, in order.
"""

import asyncio
import os
import subprocess
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import msgspec
from anyio.streams.stapled import StapledByteStream
from trimpoint.codex.appserver.launch import child_environment, launch_command
from trimpoint_protocol.jsonrpc.framing import LineFramer

from tests.deadlines import STEP_S
from tests.e2e.conftest import Harness

Message = dict[str, Any]
DEADLINE_S = STEP_S
READ_CHUNK_BYTES = 256 * 1024
MAX_LINE_BYTES = 512 * 1024 * 1024


class Socket:
    """A Unix socket of asyncio; anyio's may fail in the event loop if it is closed while data
    arrives (measured: 4.16).
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def receive(self, max_bytes: int) -> bytes:
        try:
            data = await self._reader.read(max_bytes)
        except ConnectionError:
            data = b""
        if not data:
            raise anyio.EndOfStream
        return data

    async def send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def aclose(self) -> None:
        self._writer.close()


class JsonRpcClient:
    """A client made by `connect_socket` or `connect_to_codex`."""

    def __init__(self, stream: Socket | StapledByteStream) -> None:
        self.received: list[Any] = []
        self.is_closed = False
        self._stream = stream
        self._numbers = 0
        self._changed = anyio.Event()
        self._reading = anyio.CancelScope()

    async def send_bytes(self, data: bytes) -> None:
        """Sends bytes unchanged."""
        await self._stream.send(data)

    async def send(self, message: Any) -> None:
        """Sends one JSON value as a line."""
        await self.send_bytes(msgspec.json.encode(message) + b"\n")

    async def ask(self, method: str, /, **params: Any) -> Message:
        """Sends a request, and returns the whole answer, also if it is an error."""
        self._numbers += 1
        request_id = f"w{self._numbers}"
        await self.send({"id": request_id, "method": method, "params": params})
        return await self.answer_to(request_id)

    async def answer_to(self, request_id: Any) -> Message:
        """Waits for the answer with this id, and returns it."""
        return await self.until(lambda message: _is_answer(message) and message["id"] == request_id)

    async def result(self, method: str, /, **params: Any) -> Any:
        """Sends a request, and returns its result; an error fails the test."""
        answer = await self.ask(method, **params)
        assert "error" not in answer, answer
        return answer["result"]

    async def initialize(self, name: str = "test", **capabilities: Any) -> Message:
        """Sends `initialize` and `initialized`, and returns the answer."""
        info = {"name": name, "title": None, "version": "1"}
        answer = await self.ask(
            "initialize", clientInfo=info, capabilities={"experimentalApi": True, **capabilities}
        )
        await self.send({"method": "initialized"})
        return answer

    async def until(self, wanted: Callable[[Any], bool], after: int = 0) -> Any:
        """Waits for the first message from position `after` on for which `wanted` is true, and
        returns it.
        """
        # Each message is looked at once: after ten thousand deltas, looking at all of them again
        # with each one takes long.
        position = after
        with anyio.fail_after(DEADLINE_S):
            while True:
                while position < len(self.received):
                    position += 1
                    if wanted(self.received[position - 1]):
                        return self.received[position - 1]
                assert not self.is_closed, f"the connection was closed after {self.received[-3:]}"
                await self._changed.wait()

    async def received_after(self, method: str, after: int = 0, **params: Any) -> Message:
        """Waits for the first notification or request `method` whose parameters include `params`,
        and returns it.
        """

        def fits(message: Any) -> bool:
            match message:
                case {"method": str(sent)} if sent == method:
                    held: Message = message.get("params") or {}
                    return params.items() <= held.items()
                case _:
                    return False

        return dict(await self.until(fits, after))

    async def until_closed(self) -> None:
        """Waits until the other side has closed the connection."""
        with anyio.fail_after(DEADLINE_S):
            while not self.is_closed:
                await self._changed.wait()

    async def settled(self) -> None:
        """Waits until all earlier messages have been handled, by a request whose answer comes after
        them.
        """
        answer = await self.ask("thread/loaded/list")
        assert "error" not in answer, answer

    def methods(self, after: int = 0) -> list[str]:
        """Returns the methods of the received messages, with "answer" for an answer."""
        return [message.get("method", "answer") for message in self.received[after:]]

    async def abort(self) -> None:
        """Closes the connection at once, and reads nothing more."""
        self._reading.cancel()
        with anyio.CancelScope(shield=True):
            await anyio.lowlevel.checkpoint()
            await self._stream.aclose()

    async def read_forever(self) -> None:
        framer = LineFramer(MAX_LINE_BYTES)
        try:
            with self._reading:
                while True:
                    for frame in framer.feed(await self._stream.receive(READ_CHUNK_BYTES)):
                        assert isinstance(frame, bytes), frame
                        self.received.append(msgspec.json.decode(frame))
                    self._announce()
        except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
            self.is_closed = True
            self._announce()

    def _announce(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()


@asynccontextmanager
async def connect_socket(socket: Path) -> AsyncGenerator[JsonRpcClient, None]:
    """Yields a connection to the daemon that is not initialized."""
    stream = Socket(*await asyncio.open_unix_connection(socket, limit=READ_CHUNK_BYTES))
    async with anyio.create_task_group() as tasks:
        wire = JsonRpcClient(stream)
        tasks.start_soon(wire.read_forever)
        try:
            yield wire
        finally:
            tasks.cancel_scope.cancel()
            await stream.aclose()


@asynccontextmanager
async def connect_to_codex(harness: Harness) -> AsyncGenerator[JsonRpcClient, None]:
    """Yields a connection to a Codex of the test's own, in the harness's home and without a daemon.
    It is not initialized.
    """
    environment = child_environment(harness.profile, os.environ)
    command = launch_command(harness.profile)
    process = await anyio.open_process(
        command, stderr=subprocess.DEVNULL, env=environment, start_new_session=True
    )
    async with process, anyio.create_task_group() as tasks:
        assert process.stdin is not None
        assert process.stdout is not None
        wire = JsonRpcClient(StapledByteStream(process.stdin, process.stdout))
        tasks.start_soon(wire.read_forever)
        try:
            yield wire
        finally:
            await process.stdin.aclose()
            tasks.cancel_scope.cancel()


def without_paths(value: Any) -> Any:
    """Returns messages without the `path` of a thread: the file of its present Codex thread, whose
    id is in the file's name.
    """
    if isinstance(value, dict):
        return {key: without_paths(one) for key, one in value.items() if key != "path"}
    return [without_paths(one) for one in value] if isinstance(value, list | tuple) else value


def _is_answer(message: Any) -> bool:
    return isinstance(message, dict) and "method" not in message and "id" in message
