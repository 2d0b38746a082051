"""A client over a stream whose other side is the test."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import msgspec
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from trimpoint_protocol.client import (
    Client,
    ClientInfo,
    Connection,
    connect_stream,
    open_connection,
)

from tests.deadlines import STEP_S


class MemoryStream:
    """A byte stream in memory; `other` is its other end."""

    def __init__(
        self,
        sent: MemoryObjectSendStream[bytes],
        received: MemoryObjectReceiveStream[bytes],
    ) -> None:
        self._sent = sent
        self._received = received

    async def send(self, item: bytes) -> None:
        await self._sent.send(item)

    async def receive(self, max_bytes: int = 65536) -> bytes:
        return await self._received.receive()

    def close(self) -> None:
        self._sent.close()
        self._received.close()


class Server:
    """The daemon's end, played by the test."""

    def __init__(self, stream: MemoryStream) -> None:
        self._stream = stream
        self._buffered = b""

    async def read(self) -> dict[str, Any]:
        """Returns the next message of the client."""
        with anyio.fail_after(STEP_S):
            while b"\n" not in self._buffered:
                self._buffered += await self._stream.receive()
        line, _, self._buffered = self._buffered.partition(b"\n")
        message: dict[str, Any] = msgspec.json.decode(line)
        return message

    async def send(self, *messages: Any) -> None:
        await self._stream.send(b"".join(msgspec.json.encode(one) + b"\n" for one in messages))

    async def answer(self, method: str, result: Any) -> dict[str, Any]:
        """Answers the next request, which must be `method`; returns its parameters."""
        message = await self.read()
        assert message["method"] == method
        await self.send({"id": message["id"], "result": result})
        return dict(message.get("params") or {})

    def close(self) -> None:
        self._stream.close()


def stream_pair() -> tuple[MemoryStream, MemoryStream]:
    """Two ends of one stream."""
    to_server, from_client = anyio.create_memory_object_stream[bytes](100)
    to_client, from_server = anyio.create_memory_object_stream[bytes](100)
    return MemoryStream(to_server, from_server), MemoryStream(to_client, from_client)


@asynccontextmanager
async def conversation() -> AsyncGenerator[tuple[Connection, Server], None]:
    ours, theirs = stream_pair()
    try:
        with anyio.fail_after(STEP_S * 2):
            async with open_connection(ours) as connection:
                yield connection, Server(theirs)
    finally:
        ours.close()
        theirs.close()


@asynccontextmanager
async def initialized() -> AsyncGenerator[tuple[Client, Server], None]:
    ours, theirs = stream_pair()
    server = Server(theirs)
    try:
        with anyio.fail_after(STEP_S * 2):
            await server.send({"id": 1, "result": {"userAgent": "x/1", "codexHome": "/c"}})
            async with connect_stream(ClientInfo("test", "1"), ours) as client:
                assert (await server.read())["method"] == "initialize"
                assert await server.read() == {"method": "initialized"}
                yield client, server
    finally:
        ours.close()
        theirs.close()
