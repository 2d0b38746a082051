"""Starts daemons and app-servers, each as a process of its own."""

import os
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from anyio.from_thread import start_blocking_portal
from trimpoint.codex.appserver.locate import find_codex
from trimpoint.testkit import (
    Script,
    ScriptedModel,
    codex_environment,
    codex_overrides,
    config_flags,
    throwaway_codex_home,
)

from benchmarks.wire import JsonRpcClient, connected

STOP_DEADLINE_S = 20.0


class Daemon(NamedTuple):
    """A running `trimpoint serve`. `ready_s` is the time until it listened, in seconds."""

    pid: int
    socket: Path
    ready_s: float

    @contextmanager
    def client(self) -> Generator[JsonRpcClient]:
        """Yields an initialized client."""
        wire, sock = connected(self.socket)
        with sock:
            yield wire


@contextmanager
def daemon(
    folder: Path,
    codex: Path,
    *,
    overrides: Sequence[str] = (),
    environment: dict[str, str] | None = None,
    config: str = "",
) -> Generator[Daemon]:
    """Runs a daemon with its state in `folder` while the block runs."""
    config_file = folder / "config.toml"
    config_file.write_text(f'[log]\nlevel = "warning"\n{config}')
    socket = folder / "s" / "t.sock"
    command = [
        sys.executable,
        "-m",
        "trimpoint",
        "serve",
        "--json",
        "--socket",
        str(socket),
        "--state-dir",
        str(folder / "state"),
    ]
    command += ["--config", str(config_file), "--codex", str(codex), *config_flags(overrides)]
    began = time.perf_counter()
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=log, env=environment or dict(os.environ)
        )
    try:
        assert process.stdout is not None
        if not process.stdout.readline():
            raise RuntimeError(f"the daemon did not start: {(folder / 'log').read_text()[-2000:]}")
        yield Daemon(process.pid, socket, time.perf_counter() - began)
    finally:
        _end(process)


class RealCodex(NamedTuple):
    """The real Codex, configured for a scripted model."""

    binary: Path
    overrides: list[str]
    environment: dict[str, str]
    model: ScriptedModel

    @contextmanager
    def daemon(self, folder: Path, config: str = "") -> Generator[Daemon]:
        """Runs a daemon with this Codex."""
        with daemon(
            folder,
            self.binary,
            overrides=self.overrides,
            environment=self.environment,
            config=config,
        ) as running:
            yield running

    @contextmanager
    def app_server(self) -> Generator[JsonRpcClient]:
        """Runs `codex app-server` itself and yields an initialized client."""
        command = [str(self.binary), "app-server", *config_flags(self.overrides)]
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=self.environment,
        )
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            fd = process.stdin.fileno()
            wire = JsonRpcClient(cast("BinaryIO", process.stdout), partial(os.write, fd))
            wire.initialize()
            yield wire
            process.stdin.close()
        finally:
            _end(process)


@contextmanager
def real_codex() -> Generator[RealCodex]:
    """Yields the Codex that trimpoint would find on this machine, with a home of its own."""
    # The model answers in a thread of this process: no figure is taken while it has anything to do.
    with start_blocking_portal() as portal:
        model = ScriptedModel(Script())
        with (
            portal.wrap_async_context_manager(model),
            portal.wrap_async_context_manager(throwaway_codex_home()) as home,
        ):
            yield RealCodex(
                find_codex().path, codex_overrides(model), codex_environment(home), model
            )


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_DEADLINE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
