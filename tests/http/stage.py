"""A daemon's HTTP, with requests in raw bytes."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple, cast

import anyio
from anyio.abc import ByteStream
from anyio.streams.buffered import BufferedByteReceiveStream
from trimpoint.app import Daemon, running_daemon
from trimpoint.codex.appserver.launch import LaunchProfile
from trimpoint.config.sections import Config, HttpSection, LimitsSection
from trimpoint.http.access.token_file import token_at
from trimpoint.transport.listeners import serve_unix
from trimpoint_protocol.client.unix import UnixStream, connect_unix

from tests.codex.children import REAL_CODEX
from tests.deadlines import SCENARIO_S

KEY = "dGhlIHNhbXBsZSBub25jZQ=="
UPGRADE = {
    "Upgrade": "websocket",
    "Connection": "Upgrade",
    "Sec-WebSocket-Key": KEY,
    "Sec-WebSocket-Version": "13",
}
MAX_BYTES = 128 * 1024 * 1024


class Answer(NamedTuple):
    """A response; names of headers are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class Wire:
    """One connection."""

    def __init__(self, stream: ByteStream | UnixStream) -> None:
        self.stream = cast("ByteStream", stream)
        self.buffered = BufferedByteReceiveStream(self.stream)

    async def ask(
        self,
        method: str,
        target: str,
        headers: dict[str, str] | None = None,
        body: bytes | None = None,
    ) -> Answer:
        given = {"Host": "localhost", **(headers or {})}
        if body is not None:
            given["Content-Length"] = str(len(body))
        head = f"{method} {target} HTTP/1.1\r\n" + "".join(
            f"{k}: {v}\r\n" for k, v in given.items() if v
        )
        await self.stream.send(f"{head}\r\n".encode() + (body or b""))
        return await self.answer(with_body=method != "HEAD")

    async def answer(self, *, with_body: bool = True) -> Answer:
        head = (await self.buffered.receive_until(b"\r\n\r\n", 65_536)).decode("latin-1")
        line, *rest = head.split("\r\n")
        headers = {
            name.lower(): value.strip() for name, _, value in (one.partition(":") for one in rest)
        }
        size = int(headers.get("content-length", "0")) if with_body else 0
        body = await self.buffered.receive_exactly(size) if size else b""
        return Answer(int(line.split(" ")[1]), headers, body)

    async def event(self) -> dict[str, str]:
        """Returns the next server-sent event; comments are skipped."""
        while True:
            lines = (await self.buffered.receive_until(b"\n\n", MAX_BYTES)).decode().split("\n")
            fields = {k: v for k, _, v in (line.partition(": ") for line in lines) if k}
            if fields:
                return fields

    async def rest(self) -> bytes:
        data = b""
        try:
            while True:
                data += await self.buffered.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            return data


class Stage(NamedTuple):
    """A daemon that listens at both kinds of sockets."""

    daemon: Daemon
    socket: Path
    port: int
    token: str
    state_dir: Path

    @asynccontextmanager
    async def unix(self) -> AsyncGenerator[Wire, None]:
        async with await connect_unix(self.socket) as stream:
            yield Wire(stream)

    @asynccontextmanager
    async def tcp(self) -> AsyncGenerator[Wire, None]:
        async with await anyio.connect_tcp("127.0.0.1", self.port) as stream:
            yield Wire(stream)

    @property
    def bearer(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    async def asked(
        self, method: str, target: str, headers: dict[str, str] | None = None
    ) -> Answer:
        """Sends one request over TCP, with the token unless `headers` say otherwise, and returns
        the response.
        """
        async with self.tcp() as wire:
            return await wire.ask(method, target, {**self.bearer, **(headers or {})})


@asynccontextmanager
async def staged(folder: Path, limits: LimitsSection | None = None) -> AsyncGenerator[Stage, None]:
    """Yields a daemon without a thread, whose Codex is never needed."""
    config = Config(
        http=HttpSection(listen="127.0.0.1:0", hosts=("trim.example",)),
        limits=limits or LimitsSection(),
    )
    profile = LaunchProfile(REAL_CODEX, (), folder / "codex")
    state_dir, path = folder / "state", folder / "s" / "t.sock"
    with anyio.fail_after(SCENARIO_S):
        async with (
            running_daemon(config, state_dir, profile) as daemon,
            anyio.create_task_group() as tasks,
        ):
            await tasks.start(serve_unix, path, daemon.serve)
            [address] = daemon.http.addresses.known
            yield Stage(
                daemon, path, int(address.rpartition(":")[2]), token_at(state_dir), state_dir
            )
            tasks.cancel_scope.cancel()
