"""Connections to a recording handler, and the client at their other end."""

import asyncio
import json
import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import msgspec
from trimpoint.streams.ends import SocketEnd
from trimpoint.transport.client_stream import Transport
from trimpoint.transport.connection import Connection, Limits
from trimpoint.transport.inbox import ClientMessage
from trimpoint_protocol import jsonrpc
from trimpoint_protocol.peer import Asked, Unreadable

from tests.deadlines import STEP_S

MIB = 1024 * 1024


# Tests end by events; this is only for those that would otherwise never end.
NEVER_S = 3600.0


PATIENT = Limits(half_close_grace_s=NEVER_S, close_grace_s=NEVER_S)


class Client:
    """The client's end of a connection, in raw bytes."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._loop = asyncio.get_running_loop()
        self._unread = b""

    async def say(self, data: bytes) -> None:
        await self._loop.sock_sendall(self._socket, data)

    async def receive(self, size_bytes: int) -> bytes:
        while len(self._unread) < size_bytes:
            self._unread += await self._chunk()
        data, self._unread = self._unread[:size_bytes], self._unread[size_bytes:]
        return data

    async def message(self) -> Any:
        while b"\n" not in self._unread:
            self._unread += await self._chunk()
        line, _, self._unread = self._unread.partition(b"\n")
        return json.loads(line)

    async def rest(self) -> bytes:
        while chunk := await self._loop.sock_recv(self._socket, MIB):
            self._unread += chunk
        return self._unread

    def stop_writing(self) -> None:
        self._socket.shutdown(socket.SHUT_WR)

    def vanish(self) -> None:
        self._socket.close()

    async def _chunk(self) -> bytes:
        chunk = await self._loop.sock_recv(self._socket, MIB)
        assert chunk, f"the connection ended after {self._unread[-200:]!r}"
        return chunk


@dataclass
class Recorder:
    """An `on_message` that records messages, and can be waited for."""

    got: list[ClientMessage] = field(default_factory=list[ClientMessage])
    _news: anyio.Event = field(default_factory=anyio.Event)

    def __call__(self, connection: Connection, message: ClientMessage) -> None:
        self.got.append(message)
        self._news.set()
        self._news = anyio.Event()

    async def until(self, count: int) -> None:
        while len(self.got) < count:
            await self._news.wait()

    @property
    def methods(self) -> list[str]:
        methods: list[str] = []
        for one in self.got:
            match one:
                case Asked(request):
                    methods.append(request.method)
                case jsonrpc.Notification():
                    methods.append(one.method)
                case _:
                    pass
        return methods


def answer_everything(connection: Connection, message: ClientMessage) -> None:
    match message:
        case Asked(request):
            connection.answer(message, request.method)
        case Unreadable(problem):
            error = {"code": problem.code, "message": problem.message}
            connection.refuse(message, msgspec.json.encode(error))
        case _:
            pass


@dataclass
class Talk:
    client: Client
    connection: Connection
    ended: anyio.Event


@asynccontextmanager
async def connected(
    on_message: Callable[[Connection, ClientMessage], None] = answer_everything,
    limits: Limits = PATIENT,
) -> AsyncGenerator[Talk, None]:
    ours, theirs = socket.socketpair()
    with theirs:
        theirs.setblocking(False)
        end = SocketEnd(ours)
        talk = Talk(
            Client(theirs),
            Connection(Transport(end, end, "a test"), limits, on_message),
            anyio.Event(),
        )
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_run, talk)
            with anyio.fail_after(STEP_S):
                yield talk
            tasks.cancel_scope.cancel()


async def _run(talk: Talk) -> None:
    await talk.connection.run()
    talk.ended.set()


def request(number: int, method: str = "m") -> bytes:
    return jsonrpc.encode_request(b"%d" % number, method, versioned=False) + b"\n"


class RecordingEnd:
    def __init__(self, fd: int = 0) -> None:
        self.fd = fd
        self.written: list[bytes | memoryview] = []

    def fileno(self) -> int:
        return self.fd

    def read(self, max_bytes: int) -> bytes:
        raise BlockingIOError

    def write(self, data: bytes | memoryview) -> int:
        self.written.append(data)
        return len(data)

    def finish(self) -> None:
        pass

    def close(self) -> None:
        pass
