"""The command line as a person uses it: real processes, a real Codex, a scripted model, and none of
this machine's settings.
"""

import json
import os
import pty
import shlex
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import anyio
import anyio.abc
from trimpoint.app import running_daemon
from trimpoint.cli.connection.client import Client, connect
from trimpoint.codex.appserver.launch import LaunchProfile
from trimpoint.config.sections import CompactionSection, Config
from trimpoint.testkit import (
    Script,
    ScriptedModel,
    codex_environment,
    codex_overrides,
    config_flags,
)
from trimpoint.transport.listeners import serve_unix

from tests.codex_homes import BUNDLED_CODEX, used_codex_home
from tests.deadlines import SCENARIO_S

ROOT = Path(__file__).parents[2]
CODEX = BUNDLED_CODEX
# A command is several processes, each of which imports all of trimpoint.
DEADLINE_S = SCENARIO_S
SETTINGS = ("TRIMPOINT_", "XDG_", "NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES")


class Ended(NamedTuple):
    """The exit code and output of a command."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        """Returns stdout, decoded as one JSON document."""
        return json.loads(self.out)


class Running:
    """A running command. `out` and `err` grow; `said` waits for text in them."""

    def __init__(self, process: anyio.abc.Process) -> None:
        self.process = process
        self.out = ""
        self.err = ""
        self._changed = anyio.Event()

    async def read(self, tasks: anyio.abc.TaskGroup) -> None:
        """Starts to read its output."""
        for name, stream in (("out", self.process.stdout), ("err", self.process.stderr)):
            if stream is not None:
                tasks.start_soon(self._read_stream, name, stream)

    async def _read_stream(self, name: str, stream: anyio.abc.ByteReceiveStream) -> None:
        async for data in stream:
            setattr(self, name, getattr(self, name) + data.decode())
            self._changed.set()
            self._changed = anyio.Event()

    async def said(self, text: str, stream: str = "out") -> None:
        """Waits until it has written `text`."""
        with anyio.fail_after(DEADLINE_S):
            while text not in getattr(self, stream):
                await self._changed.wait()

    async def ended(self) -> int:
        """Waits for its end, and returns the exit code."""
        with anyio.fail_after(DEADLINE_S):
            return await self.process.wait()


class CliHarness:
    """The folders, environment and model that the commands and daemons of one test share."""

    def __init__(
        self, folder: Path, codex_home: Path, model: ScriptedModel, script: Script
    ) -> None:
        self.folder = folder
        self.state_dir = folder / "state"
        self.socket = folder / "run" / "t.sock"
        self.worktree = folder / "worktree"
        self.codex_home = codex_home
        self.model = model
        self.script = script
        self.overrides = codex_overrides(model)
        self.flags = config_flags(self.overrides)
        for name in ("worktree", "home"):
            (folder / name).mkdir()
        own = {
            name: value
            for name, value in codex_environment(codex_home).items()
            if not name.startswith(SETTINGS)
        }
        self.codex_environment = own | {"HOME": str(folder / "home")}
        self.environment = self.codex_environment | {
            "TRIMPOINT_SOCKET": str(self.socket),
            "TRIMPOINT_STATE_DIR": str(self.state_dir),
            "TRIMPOINT_CODEX": str(CODEX),
            "PYTHONPATH": os.pathsep.join([str(ROOT / "daemon"), str(ROOT / "protocol")]),
        }

    async def run(
        self, *words: str, stdin: bytes = b"", cwd: Path | None = None, **environment: str
    ) -> Ended:
        """Runs a command to its end, in the worktree unless another folder is given."""
        with anyio.fail_after(DEADLINE_S):
            done = await anyio.run_process(
                self.command(*words),
                input=stdin,
                env=self.environment | environment,
                check=False,
                cwd=cwd or self.worktree,
            )
        return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())

    async def shell(self, line: str, environment: dict[str, str]) -> Ended:
        """Runs a line of a shell to its end, in the worktree."""
        with anyio.fail_after(DEADLINE_S):
            done = await anyio.run_process(
                ["bash", "-c", line], env=environment, check=False, cwd=self.worktree
            )
        return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())

    def with_program_on_path(self) -> dict[str, str]:
        """Returns the environment, with a `trimpoint` on `PATH`."""
        folder = self.folder / "bin"
        folder.mkdir(exist_ok=True)
        program = folder / "trimpoint"
        program.write_text(f'#!/bin/sh\nexec {shlex.join(self.command())} "$@"\n')
        program.chmod(0o755)
        return self.environment | {"PATH": f"{folder}{os.pathsep}{self.environment['PATH']}"}

    def command(self, *words: str) -> list[str]:
        """Returns a command line of trimpoint."""
        return [sys.executable, "-m", "trimpoint", *words]

    @asynccontextmanager
    async def running(self, *words: str, **options: Any) -> AsyncGenerator[Running]:
        """Runs a command beside the test, and kills it at the end if it is still running."""
        options = {"env": self.environment, "cwd": self.worktree, **options}
        async with (
            await anyio.open_process(self.command(*words), **options) as process,
            anyio.create_task_group() as tasks,
        ):
            command = Running(process)
            await command.read(tasks)
            try:
                yield command
            finally:
                if process.returncode is None:
                    process.kill()

    @asynccontextmanager
    async def serving(self, *words: str) -> AsyncGenerator[Running]:
        """Runs `trimpoint serve` and yields it once it is ready; ends it with SIGTERM if the test
        has not ended it.
        """
        async with self.running("serve", *words, *self.flags) as serve:
            await serve.said("listens on")
            yield serve
            if serve.process.returncode is None:
                serve.process.send_signal(signal.SIGTERM)
                assert await serve.ended() == 0, serve.err

    async def codex(self, *words: str) -> Ended:
        """Runs Codex itself to its end, without trimpoint."""
        with anyio.fail_after(DEADLINE_S):
            done = await anyio.run_process(
                [str(CODEX), *self.flags, *words],
                input=b"",
                env=self.codex_environment,
                check=False,
                cwd=self.worktree,
            )
        return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())

    @asynccontextmanager
    async def daemon_alone(
        self, state_dir: str = "state", socket: str = "t.sock"
    ) -> AsyncGenerator[Path]:
        """Runs a daemon in the test's own process, which starts faster, and yields its socket."""
        config = Config(compaction=CompactionSection(min_messages=2, deadline_s=30.0))
        profile = LaunchProfile(
            CODEX, tuple(self.overrides), self.codex_home, tuple(self.codex_environment.items())
        )
        path = self.socket.with_name(socket)
        async with (
            running_daemon(config, self.folder / state_dir, profile) as daemon,
            anyio.create_task_group() as tasks,
        ):
            await tasks.start(partial(serve_unix, path, daemon.serve))
            yield path
            tasks.cancel_scope.cancel()

    @asynccontextmanager
    async def daemon(
        self, state_dir: str = "state", socket: str = "t.sock"
    ) -> AsyncGenerator[Client]:
        """Runs a daemon in the test's own process, and yields a client of it."""
        async with self.daemon_alone(state_dir, socket) as path, connect(path) as client:
            await client.initialize("test")
            yield client

    async def thread(self, client: Client, cwd: Path | None = None) -> str:
        """Starts a thread that needs no approvals, and returns its id."""
        answer = await client.request(
            "thread/start",
            cwd=str(cwd or self.worktree),
            approvalPolicy="never",
            sandbox="danger-full-access",
        )
        return str(answer["thread"]["id"])

    async def turn(self, client: Client, thread_id: str, text: str) -> None:
        """Runs one turn to its end."""
        with anyio.fail_after(DEADLINE_S):
            turn = await client.request(
                "turn/start", threadId=thread_id, input=[{"type": "text", "text": text}]
            )
            await client.expect(
                lambda message: (
                    message.get("method") == "turn/completed"
                    and message["params"]["turn"]["id"] == turn["turn"]["id"]
                )
            )

    def codex_children(self) -> list[int]:
        """Returns the process ids of this stage's running Codexes."""
        return [pid for pid in map(_pid, Path("/proc").glob("[0-9]*")) if self._is_codex(pid)]

    def background_daemons(self) -> list[int]:
        """Returns the process ids of this stage's daemons that were started in the background."""
        return [pid for pid in map(_pid, Path("/proc").glob("[0-9]*")) if self._is_background(pid)]

    def _is_background(self, pid: int) -> bool:
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        except OSError:
            return False
        return b"--background" in command and f"HOME={self.folder / 'home'}".encode() in environment

    async def end_background_daemons(self) -> None:
        """Sends SIGTERM to each background daemon, and waits for its end."""
        for pid in self.background_daemons():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        await self.background_daemons_ended()

    async def background_daemons_ended(self, *but: int) -> None:
        """Waits until each running background daemon has ended, except those with the process ids
        `but`.
        """
        for pid in set(self.background_daemons()).difference(but):
            with suppress(ProcessLookupError):
                descriptor = os.pidfd_open(pid)
                try:
                    with anyio.fail_after(DEADLINE_S):
                        await anyio.wait_readable(descriptor)
                finally:
                    os.close(descriptor)

    def configure(self, text: str) -> None:
        """Writes the configuration file that every command of this stage reads."""
        path = self.folder / "home" / ".config" / "trimpoint" / "config.toml"
        path.parent.mkdir(parents=True)
        path.write_text(text)

    def _is_codex(self, pid: int) -> bool:
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
            environment = Path(f"/proc/{pid}/environ").read_bytes()
        except OSError:
            return False
        return b"app-server" in command.split(
            b"\0"
        ) and f"CODEX_HOME={self.codex_home}".encode() in environment.split(b"\0")


def _pid(folder: Path) -> int:
    return int(folder.name)


@asynccontextmanager
async def opened_stage() -> AsyncGenerator[CliHarness]:
    """Yields a new stage."""
    script = Script(summary="The gist of it all.")
    with TemporaryDirectory(prefix="tpcli", ignore_cleanup_errors=True) as folder:
        async with used_codex_home(CODEX) as codex_home, ScriptedModel(script) as model:
            opened = CliHarness(Path(folder), codex_home, model, script)
            try:
                yield opened
            finally:
                with anyio.CancelScope(shield=True):
                    await opened.end_background_daemons()


class Terminal:
    """A person's terminal: its screen, and keys to press. `fd` is the end that commands get."""

    def __init__(self) -> None:
        self._ours, self.fd = pty.openpty()
        self.screen = ""

    async def shows(self, text: str) -> None:
        """Waits until `text` is on the screen."""
        with anyio.fail_after(DEADLINE_S):
            while text not in self.screen:
                await anyio.wait_readable(self._ours)
                self.screen += os.read(self._ours, 65536).decode(errors="replace")

    async def rest(self) -> str:
        """Returns the whole output, once no other process has the terminal open."""
        os.close(self.fd)
        self.fd = -1
        with anyio.fail_after(DEADLINE_S):
            while True:
                await anyio.wait_readable(self._ours)
                try:
                    self.screen += os.read(self._ours, 65536).decode(errors="replace")
                except OSError:
                    return self.screen

    def press(self, keys: str) -> None:
        """Types keys."""
        os.write(self._ours, keys.encode())

    def hang_up(self) -> None:
        """Closes the terminal, like its window."""
        os.close(self._ours)
        self._ours = -1

    def close(self) -> None:
        """Closes the file descriptors that are open."""
        for fd in (self._ours, self.fd):
            if fd >= 0:
                os.close(fd)
