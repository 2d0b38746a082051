"""A daemon that is started by a connection: systemd's own `systemd-socket-activate` opens the
socket and passes it on.
"""

import json
import signal
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import anyio
import pytest
from trimpoint.cli.connection.client import connect

from tests.cli.stage import DEADLINE_S, CliHarness, Running
from tests.service.service_manager import Manager
from tests.service.systemd import tool

pytestmark = pytest.mark.codex


@asynccontextmanager
async def activating(
    stage: CliHarness, *words: str, names: str = "trimpoint", **environment: str
) -> AsyncGenerator[Running]:
    """Yields a command that starts the daemon when the first client connects to its socket."""
    stage.socket.parent.mkdir(mode=0o700, exist_ok=True)
    activate = [tool("systemd-socket-activate"), f"--listen={stage.socket}", f"--fdname={names}"]
    passed = [
        f"--setenv={name}={value}" for name, value in (stage.environment | environment).items()
    ]
    command = [*activate, *passed, *stage.command("serve", *words, *stage.flags)]
    process = await anyio.open_process(command, env=stage.environment, cwd=stage.worktree)
    async with process, anyio.create_task_group() as tasks:
        running = Running(process)
        await running.read(tasks)
        await running.said("Listening on", "err")
        try:
            yield running
        finally:
            if process.returncode is None:
                process.kill()


async def test_a_connection_starts_it_and_is_served_by_it(stage: CliHarness) -> None:
    async with activating(stage) as command:
        assert not stage.state_dir.exists()
        inode = stage.socket.stat().st_ino
        async with connect(stage.socket) as client:
            with anyio.fail_after(DEADLINE_S):
                await client.initialize()
                status = await client.request("sidecar/status")
            assert status["pid"] == command.process.pid
            assert stage.socket.stat().st_ino == inode
        assert f"listens on {stage.socket}" in command.out
        command.process.send_signal(signal.SIGTERM)
        assert await command.ended() == 0
    assert stage.codex_children() == []
    assert stage.socket.stat().st_ino == inode, "the socket is systemd's, who goes on listening"


async def test_children_inherit_neither_the_socket_nor_the_variables(stage: CliHarness) -> None:
    async with activating(stage) as command:
        async with connect(stage.socket) as client:
            with anyio.fail_after(DEADLINE_S):
                await client.initialize()
                await client.request("thread/list")
            [child] = stage.codex_children()
            assert b"LISTEN_" not in _environment_of(child)
            assert not any(str(stage.socket) in line for line in _sockets_of(child))
        command.process.send_signal(signal.SIGTERM)
        assert await command.ended() == 0


def _environment_of(pid: int) -> bytes:
    return Path(f"/proc/{pid}/environ").read_bytes()


def _sockets_of(pid: int) -> list[str]:
    """Returns the lines of the kernel's table of Unix sockets for the sockets of a process."""
    held = {str(link.readlink()) for link in Path(f"/proc/{pid}/fd").iterdir()}
    table = Path("/proc/net/unix").read_text().splitlines()[1:]
    return [line for line in table if f"socket:[{line.split()[6]}]" in held]


async def test_the_socket_it_was_given_counts_whatever_it_is_told(stage: CliHarness) -> None:
    elsewhere = stage.folder / "elsewhere.sock"
    async with activating(stage, "--socket", str(elsewhere)) as command:
        async with connect(stage.socket) as client:
            with anyio.fail_after(DEADLINE_S):
                await client.initialize()
                await client.request("thread/list")
        assert "socket_not_used" in command.err
        assert not elsewhere.exists()
        found = await stage.run(
            "status", "--json", TRIMPOINT_SOCKET="", XDG_RUNTIME_DIR=str(stage.folder)
        )
        assert found.code == 0, "it is found by its state directory"
        command.process.send_signal(signal.SIGTERM)
        assert await command.ended() == 0


async def test_a_socket_that_is_another_services_is_refused_with_what_to_do(
    stage: CliHarness,
) -> None:
    async with activating(stage, names="http") as command:
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(stage.socket))
            assert await command.ended() == 1
    assert "which to serve is not clear" in command.err
    assert "FileDescriptorName=trimpoint" in command.err
    assert "Traceback" not in command.err


async def test_a_client_on_stdio_joins_the_daemon_that_its_question_starts(
    stage: CliHarness,
) -> None:
    async with activating(stage) as command:
        hello = {
            "id": 1,
            "method": "initialize",
            "params": {"clientInfo": {"name": "shell", "version": "1"}},
        }
        done = await stage.run("stdio", stdin=json.dumps(hello).encode() + b"\n")
        assert done.code == 0, done.err
        assert json.loads(done.out.splitlines()[0])["result"]["userAgent"].startswith("shell/")
        assert f'"daemon_pid": {command.process.pid}' in done.err
        command.process.send_signal(signal.SIGTERM)
        assert await command.ended() == 0


async def test_the_service_manager_is_notified_of_readiness_status_and_end(
    stage: CliHarness,
) -> None:
    with closing(Manager(str(stage.folder / "n"))) as manager:
        environment = {"NOTIFY_SOCKET": manager.address, "WATCHDOG_USEC": "200000"}
        async with stage.running(
            "serve", *stage.flags, env=stage.environment | environment
        ) as serve:
            assert await manager.hears() == "STATUS=0 threads, 0 clients; Codex idle"
            assert await manager.hears() == "READY=1"
            async with connect(stage.socket) as client:
                await client.initialize()
                await client.request("thread/list")
                await stage.thread(client)
                with anyio.fail_after(DEADLINE_S):
                    while (
                        "1 thread, 1 client; Codex 0." not in (said := await manager.hears())
                        or "connected" not in said
                    ):
                        pass
                [child] = stage.codex_children()
                assert b"NOTIFY_SOCKET" not in _environment_of(child)
            while await manager.hears() != "WATCHDOG=1":
                pass
            serve.process.send_signal(signal.SIGTERM)
            assert await serve.ended() == 0
        assert manager.heard()[-2:] == ["STOPPING=1", "STATUS=Stopping."]
