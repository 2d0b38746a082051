"""A daemon in its own process, as a person starts it, so that it can be killed; and the Codex
processes that it leaves behind.
"""

import os
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import msgspec
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream
from trimpoint.testkit import codex_environment, config_flags

from tests.deadlines import STEP_S
from tests.e2e.conftest import CODEX_BIN, Harness

START_DEADLINE_S = STEP_S
MAX_LINE_BYTES = 65_536


@asynccontextmanager
async def daemon_process(harness: Harness, *options: str) -> AsyncGenerator[Process]:
    """Runs `trimpoint serve` with these options on the harness's state. Yields the process once
    clients can connect, and kills it at the end of the block.
    """
    log = harness.home / "daemon.log"
    with log.open("ab") as stderr:
        process = await anyio.open_process(
            [*_command(harness), *options], stdin=None, stderr=stderr, env=_environment(harness)
        )
    try:
        assert process.stdout is not None
        with anyio.fail_after(START_DEADLINE_S):
            # The one line it prints says that it listens.
            await BufferedByteReceiveStream(process.stdout).receive_until(b"\n", MAX_LINE_BYTES)
        yield process
    except anyio.IncompleteRead as error:
        error.add_note(log.read_text()[-2000:])
        raise
    finally:
        await kill(process)


async def kill(process: Process) -> None:
    """Sends SIGKILL, and waits until the process has ended."""
    with anyio.CancelScope(shield=True):
        if process.returncode is None:
            process.send_signal(signal.SIGKILL)
        await process.wait()
        await process.aclose()


def write_config(harness: Harness) -> Path:
    """Write the harness's configuration as a file; returns where it is."""
    config = harness.home / "config.toml"
    context = harness.config.context
    config.write_text(
        f"[compaction]\nmin_messages = {harness.config.compaction.min_messages}\ndeadline_s = 30.0\n"
        f'[context]\nauto = "{context.auto}"\n'
        f"preserve_recent_turns = {context.preserve_recent_turns}\n"
        f"mid_turn = {str(context.mid_turn).lower()}\nmin_freed = {context.min_freed}\n"
        f'[log]\nlevel = "{harness.config.log.level}"\n'
        f"[discard]\nfloor_tokens = {harness.config.discard.floor_tokens}\n"
        f"target_tokens = {harness.config.discard.target_tokens}\n"
        "[limits]\n"
        + "".join(
            f"{name} = {value}\n"
            for name, value in msgspec.to_builtins(harness.config.limits).items()
        )
    )
    return config


def _command(harness: Harness) -> list[str]:
    places = [
        "--socket",
        str(harness.socket),
        "--state-dir",
        str(harness.state_dir),
        "--config",
        str(write_config(harness)),
    ]
    codex = ["--codex", str(CODEX_BIN), *config_flags(harness.overrides)]
    return [sys.executable, "-m", "trimpoint", "serve", "--json", *places, *codex]


def _environment(harness: Harness) -> dict[str, str]:
    own = codex_environment(harness.codex_home) | {"HOME": str(harness.home)}
    return own | {"PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}


def codex_processes(codex_home: Path) -> dict[int, int]:
    """Returns the parents of all app-servers that run with this `CODEX_HOME`, by process id."""
    mark = f"CODEX_HOME={codex_home}".encode()
    found: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            is_ours = mark in (folder / "environ").read_bytes().split(b"\0")
            words = (folder / "cmdline").read_bytes().split(b"\0")
            if is_ours and words[1:2] == [b"app-server"]:
                found[int(folder.name)] = int(
                    (folder / "stat").read_text().rpartition(")")[2].split()[1]
                )
        except OSError:
            continue  # it has just ended, or is somebody else's
    return found
