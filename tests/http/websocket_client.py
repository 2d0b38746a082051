"""A client of the daemon over WebSocket, made of the library's own client."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import anyio
from trimpoint.cli.connection.client import Client
from trimpoint_protocol.client import open_connection
from websockets.asyncio.client import ClientConnection, unix_connect
from websockets.exceptions import ConnectionClosed

MAX_BYTES = 128 * 1024 * 1024


class _Lines:
    """Text frames as the lines that `Client` reads and writes."""

    def __init__(self, frames: ClientConnection) -> None:
        self._frames = frames

    async def send(self, lines: bytes) -> None:
        for line in lines.decode().splitlines():
            await self._frames.send(line)

    async def receive(self, max_bytes: int = 0) -> bytes:
        del max_bytes
        try:
            return str(await self._frames.recv()).encode() + b"\n"
        except ConnectionClosed:
            raise anyio.EndOfStream from None


@asynccontextmanager
async def websocket_client(socket: Path, name: str = "a browser") -> AsyncIterator[Client]:
    """Yields an initialized client at `/rpc`."""
    async with (
        unix_connect(str(socket), "ws://localhost/rpc", max_size=MAX_BYTES) as frames,
        open_connection(cast("Any", _Lines(frames))) as connection,
    ):
        client = Client(connection)
        await client.initialize(name)
        yield client
