"""Real NATS servers for tests: started, killed, and restarted with an earlier copy of their
disk.
"""

import os
import shutil
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from anyio.abc import Process

from tests.deadlines import STEP_S
from tests.ports import free_port
from tests.tools import VENV, missing


def binary() -> str:
    if named := os.environ.get("TRIMPOINT_TEST_NATS"):
        return named
    found = shutil.which("nats-server", path=str(VENV / "bin")) or shutil.which("nats-server")
    return found or missing("nats-server")


class Server:
    """One server with JetStream, with its files below `folder`. `config` is additional
    configuration; `conf` is a file with the whole configuration except the port.
    """

    def __init__(
        self, folder: Path, config: str = "", name: str = "n1", conf: Path | None = None
    ) -> None:
        self.folder, self.name, self.port = folder, name, free_port()
        self.config, self.conf = config, conf
        self.keeps = True
        self.address, self.within = "127.0.0.1", tuple[str, ...]()
        self.process: Process | None = None

    @property
    def url(self) -> str:
        return f"nats://{self.address}:{self.port}"

    @property
    def store(self) -> Path:
        return self.folder / "store"

    async def start(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.conf or self.folder / "test.conf"
        if self.conf is None:
            jetstream = (
                f'jetstream {{ store_dir: "{self.store}", domain: hub }}\n' if self.keeps else ""
            )
            path.write_text(f"server_name: {self.name}\n{jetstream}{self.config}")
        listen = ["-a", self.address, "-p", str(self.port)]
        command = [*self.within, binary(), "-c", str(path), *listen]
        with (self.folder / "server.log").open("ab") as log:
            self.process = await anyio.open_process(
                command, stdout=log, stderr=log, cwd=self.folder
            )
        await self.listening()

    async def listening(self) -> None:
        with anyio.fail_after(STEP_S):
            while True:
                try:
                    async with await anyio.connect_tcp(self.address, self.port) as stream:
                        await stream.receive()
                        return
                except (OSError, anyio.EndOfStream):
                    assert self.process is not None
                    assert self.process.returncode is None, self.said()
                    await anyio.sleep(0.02)

    def said(self) -> str:
        return (self.folder / "server.log").read_text()

    def signal(self, number: signal.Signals) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    async def kill(self) -> None:
        if self.process is not None:
            with anyio.CancelScope(shield=True):
                if self.process.returncode is None:
                    self.process.kill()
                await self.process.wait()
                await self.process.aclose()
            self.process = None


@asynccontextmanager
async def running_server(
    folder: Path, config: str = "", conf: Path | None = None
) -> AsyncGenerator[Server]:
    server = Server(folder, config, conf=conf)
    await server.start()
    try:
        yield server
    finally:
        await server.kill()


class Cluster:
    """Three servers that keep each stream three times."""

    def __init__(self, folder: Path) -> None:
        ports = {name: free_port() for name in ("n1", "n2", "n3")}
        routes = ", ".join(f'"nats://127.0.0.1:{port}"' for port in ports.values())
        self.servers = [
            Server(
                folder / name,
                f'cluster {{ name: c, listen: "127.0.0.1:{port}", routes: [{routes}] }}',
                name,
            )
            for name, port in ports.items()
        ]

    @property
    def urls(self) -> tuple[str, ...]:
        return tuple(server.url for server in self.servers)

    def named(self, name: str) -> Server:
        return next(server for server in self.servers if server.name == name)


@asynccontextmanager
async def running_cluster(folder: Path) -> AsyncGenerator[Cluster]:
    cluster = Cluster(folder)
    try:
        for server in cluster.servers:
            await server.start()
        yield cluster
    finally:
        for server in cluster.servers:
            await server.kill()


@asynccontextmanager
async def running_leaf(folder: Path, hub_port: int) -> AsyncGenerator[Server]:
    """Yields a leaf server that stores nothing and passes everything on to the hub."""
    remote = (
        f'leafnodes {{ reconnect: 1, remotes: [{{ url: "nats-leaf://127.0.0.1:{hub_port}" }}] }}'
    )
    leaf = Server(folder, remote, "leaf")
    leaf.keeps = False
    await leaf.start()
    try:
        yield leaf
    finally:
        await leaf.kill()
