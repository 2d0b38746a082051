"""Real NATS servers for tests: started, killed, and given back the disk of yesterday."""

import shutil
import signal
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from anyio.abc import Process

from tests.deadlines import STEP_S
from tests.tools import VENV, missing


def binary() -> str:
    found = shutil.which("nats-server", path=str(VENV / "bin")) or shutil.which("nats-server")
    return found or missing("nats-server")


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


class Server:
    """One server with JetStream, its files below `folder`. `config` is more of its configuration;
    `conf` is a file that has all of it, but for the port.
    """

    def __init__(
        self, folder: Path, config: str = "", name: str = "n1", conf: Path | None = None
    ) -> None:
        self.folder, self.name, self.port = folder, name, free_port()
        self.config, self.conf = config, conf
        self.process: Process | None = None

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    @property
    def store(self) -> Path:
        return self.folder / "store"

    async def start(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.conf or self.folder / "test.conf"
        if self.conf is None:
            path.write_text(
                f'server_name: {self.name}\njetstream {{ store_dir: "{self.store}" }}\n{self.config}'
            )
        command = [binary(), "-c", str(path), "-a", "127.0.0.1", "-p", str(self.port)]
        with (self.folder / "server.log").open("ab") as log:
            self.process = await anyio.open_process(
                command, stdout=log, stderr=log, cwd=self.folder
            )
        await self.listening()

    async def listening(self) -> None:
        with anyio.fail_after(STEP_S):
            while True:
                try:
                    async with await anyio.connect_tcp("127.0.0.1", self.port) as stream:
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
