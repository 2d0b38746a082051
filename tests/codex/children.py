"""Children for the tests of this folder: a home for the real Codex, scripted stand-ins for it, and
a sink that records their output.
"""

import os
import shutil
import sys
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from textwrap import dedent

import anyio
from trimpoint.codex.appserver.launch import LaunchProfile
from trimpoint.codex.appserver.process import ChildExit, CodexChild, StopGrace

from tests.deadlines import STEP_S

# The package carries no types.
REAL_CODEX = Path(import_module("codex_cli_bin").bundled_codex_path())
INITIALIZE = b'{"id":1,"method":"initialize","params":{"clientInfo":{"name":"process-test","version":"0"}}}\n'
IMPATIENT = StopGrace(after_eof_s=0.05, after_term_s=0.05, after_kill_s=5)

# Bodies of scripted children.
SAY_PID = "print(os.getpid(), flush=True)\n"
WAIT_FOR_EVER = "while True: signal.pause()\n"
STUBBORN = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + SAY_PID + WAIT_FOR_EVER


class Recording:
    """A sink that records the child's output, and lets a test wait for it."""

    def __init__(self) -> None:
        self.data = b""
        self.exits: list[ChildExit] = []
        self._arrived = anyio.Event()

    def on_chunk(self, data: bytes) -> None:
        self.data += data
        self._arrived.set()
        self._arrived = anyio.Event()

    def on_exit(self, exit_: ChildExit) -> None:
        self.exits.append(exit_)

    async def line(self) -> str:
        while b"\n" not in self.data:
            await self._arrived.wait()
        return self.data.split(b"\n", 1)[0].decode()


def listen(child: CodexChild) -> Recording:
    sink = Recording()
    child.attach(sink)
    return sink


@contextmanager
def fresh_codex_home() -> Generator[Path]:
    """Yields a new `CODEX_HOME`, which is removed afterwards. It is not below /tmp, where Codex
    warns and does not install its helper programs.
    """
    home = Path.home() / ".cache" / "trimpoint-testkit" / f"codex-{os.getpid()}"
    home.mkdir(parents=True)
    try:
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)


def scripted(folder: Path, body: str) -> LaunchProfile:
    """Writes a Python program that stands in for Codex, and returns a launch profile for it."""
    path = folder / "codex"
    path.write_text(
        f"#!{sys.executable}\nimport json, os, signal, subprocess, sys\n{dedent(body)}\n"
    )
    path.chmod(0o755)
    return LaunchProfile(path)


@contextmanager
def ending_of(pid: int) -> Generator[int]:
    """Yields a file descriptor that becomes readable when the process ends. Open it before the
    process is asked to end.
    """
    pidfd = os.pidfd_open(pid)
    try:
        yield pidfd
    finally:
        os.close(pidfd)


async def group_has_ended(leader_pid: int) -> None:
    """Waits until no process of the group is running. Zombie processes do not count."""
    while _group_runs(leader_pid):
        await anyio.lowlevel.checkpoint()


def _group_runs(leader_pid: int) -> bool:
    return any(_runs_in(leader_pid, stat) for stat in Path("/proc").glob("[0-9]*/stat"))


def _runs_in(group: int, stat: Path) -> bool:
    try:
        state, _, its_group = stat.read_text().rpartition(")")[2].split()[:3]
    except OSError:
        return False
    return int(its_group) == group and state not in "ZX"


async def has_ended(pidfd: int) -> None:
    """Waits a bounded time until the process behind the file descriptor has ended."""
    with anyio.fail_after(STEP_S):
        await anyio.wait_readable(pidfd)
