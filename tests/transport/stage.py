"""A daemon that listens on a Unix socket, and its clients."""

import asyncio
import os
import socket
import stat
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from trimpoint.transport import listeners
from trimpoint.transport.client_stream import Transport
from trimpoint.transport.connection import Connection
from trimpoint.transport.inbox import ClientMessage
from trimpoint.transport.limits import Limits
from trimpoint.transport.listeners import (
    Accept,
    serve_unix,
)
from trimpoint_protocol.peer import Asked

from tests.deadlines import STEP_S

REQUEST = b'{"id":1,"method":"m"}\n'
ANSWER = b'{"id":1,"result":"m"}\n'


def answer(connection: Connection, message: ClientMessage) -> None:
    assert isinstance(message, Asked)
    connection.answer(message, message.request.method)


async def serve_answers(transport: Transport) -> None:
    await Connection(transport, Limits(), answer).run()


@asynccontextmanager
async def serving(
    place: Path | socket.socket,
    accept: Accept = serve_answers,
    *,
    max_clients: int = 256,
    accept_retry_s: float = 3600,
) -> AsyncGenerator[None, None]:
    async def serve(*, task_status: anyio.abc.TaskStatus[None]) -> None:
        await serve_unix(
            place,
            accept,
            max_clients=max_clients,
            accept_retry_s=accept_retry_s,
            task_status=task_status,
        )

    async with anyio.create_task_group() as tasks:
        with anyio.fail_after(STEP_S):
            await tasks.start(serve)
            yield
        tasks.cancel_scope.cancel()


@asynccontextmanager
async def client_of(path: Path) -> AsyncGenerator[socket.socket, None]:
    with socket.socket(socket.AF_UNIX) as sock:
        sock.setblocking(False)
        await asyncio.get_running_loop().sock_connect(sock, os.fspath(path))
        yield sock


async def asked(sock: socket.socket) -> bytes:
    loop = asyncio.get_running_loop()
    await loop.sock_sendall(sock, REQUEST)
    return await loop.sock_recv(sock, 1000)


async def received(sock: socket.socket) -> bytes:
    data = b""
    while chunk := await asyncio.get_running_loop().sock_recv(sock, 10_000):
        data += chunk
    return data


async def refusal_of(place: Path | socket.socket) -> listeners.ListenError:
    with pytest.raises(listeners.ListenError) as caught, anyio.fail_after(STEP_S):
        await serve_unix(place, serve_answers)
    assert caught.value.hint
    return caught.value


def leave_a_stale_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(os.fspath(path))
        sock.listen()


def is_there(path: Path) -> bool:
    return os.path.lexists(path)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)
