"""A client of the daemon inside the daemon's process. Its requests are handled like those of any
client.
"""

import socket
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

from anyio.abc import SocketStream, TaskGroup
from trimpoint_protocol.client import Client, ClientInfo, connect_stream

from trimpoint import __version__
from trimpoint.background import spawn
from trimpoint.fleet.commands.answering import LocalClient
from trimpoint.streams.ends import SocketEnd
from trimpoint.transport.client_stream import Transport

Serve: TypeAlias = Callable[[Transport], Coroutine[Any, Any, None]]


def local_client(serve: Serve, tasks: TaskGroup) -> LocalClient:
    """Returns a function that connects to the daemon; `serve` serves one client."""

    @asynccontextmanager
    async def connected() -> AsyncGenerator[Client]:
        ours, theirs = socket.socketpair()
        for end in (ours, theirs):
            end.setblocking(False)
        stream = await SocketStream.from_socket(ours)
        theirs_end = SocketEnd(theirs)
        spawn(tasks, serve, Transport(theirs_end, theirs_end, "fleet"))
        info = ClientInfo("trimpoint-fleet", __version__)
        async with stream, connect_stream(info, stream) as client:
            yield client

    return connected
