"""Plain `codex`, without an option, where the daemon listens in the place of Codex's background
server.
"""

import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest
from trimpoint.cli.connection.client import connect
from trimpoint.testkit import codex_environment

from tests.e2e.conftest import CODEX_BIN, Harness, opened_harness
from tests.e2e.daemon_process import daemon_process
from tests.e2e.worktree import with_repository
from tests.tui.stage import BINARIES, SCREEN_READ_S, terminal_ui
from tests.tui.terminal import Terminal

pytestmark = [
    pytest.mark.codex,
    pytest.mark.parametrize("codex", BINARIES[-1:], ids=lambda path: "/".join(path.parts[-3:])),
]


@pytest.fixture
async def harness() -> AsyncIterator[Harness]:
    async with opened_harness() as opened:
        yield opened


async def test_plain_codex_attaches_and_has_the_commands(harness: Harness, codex: Path) -> None:
    place = harness.codex_home / "app-server-control" / "app-server-control.sock"
    with anyio.fail_after(SCREEN_READ_S):
        async with daemon_process(harness, "--as-codex-daemon") as daemon:
            async with terminal_ui(harness, codex) as terminal:
                await terminal.types("Say one thing.")
                await terminal.shows("• reply")
                await terminal.types(":clear")
                await terminal.shows("Context cleared")
            daemon.send_signal(signal.SIGTERM)
            await daemon.wait()
    assert not place.exists()


async def test_plain_codex_waits_for_a_codex_that_starts_slowly(
    harness: Harness, codex: Path
) -> None:
    """Its probe gives up after two seconds, and then it would end."""
    slow = harness.home / "slow-codex"
    slow.write_text(f'#!/bin/sh\n[ "$1" != app-server ] || sleep 4\nexec {CODEX_BIN} "$@"\n')
    slow.chmod(0o755)
    with anyio.fail_after(SCREEN_READ_S):
        async with (
            daemon_process(harness, "--as-codex-daemon", "--codex", str(slow)),
            terminal_ui(harness, codex) as terminal,
        ):
            await terminal.types("Say one thing.")
            await terminal.shows("• reply")


@pytest.mark.parametrize(
    ("trim", "said"), [(":clear 0", "Context cleared"), (":compact --force", "Context compacted")]
)
async def test_a_thread_that_was_trimmed_can_be_forked_into_a_worktree(
    harness: Harness, codex: Path, trim: str, said: str
) -> None:
    """In the session of the trim, and in a later one. Codex's UI looks for the thread's file."""
    with_repository(harness.worktree)
    with anyio.fail_after(2 * SCREEN_READ_S):
        async with daemon_process(harness, "--as-codex-daemon"):
            async with terminal_ui(harness, codex) as terminal:
                await terminal.types("Say one thing.")
                await terminal.shows("• reply")
                await terminal.types(trim)
                await terminal.shows(said)
                assert [*(harness.worktree / ".git" / "trimpoint").glob("sharedindex.*")]
                await terminal.types("@sharedindex", enter=False)
                await terminal.shows("no matches")
                terminal.presses(b"\x15")
                async with connect(harness.socket) as client:
                    await client.initialize()
                    [thread] = (await client.request("orchestration/snapshot"))["threads"]
                await forks_into_a_worktree(terminal)
            async with terminal_ui(harness, codex, "resume", thread["id"]) as terminal:
                await forks_into_a_worktree(terminal)


async def forks_into_a_worktree(terminal: Terminal) -> None:
    await terminal.types("/fork")
    await terminal.shows("Create new Git worktree")
    await terminal.types("2", enter=False)
    await terminal.shows("Working directory changed to")


async def test_a_live_server_of_codex_keeps_its_place(harness: Harness, codex: Path) -> None:
    del codex
    with anyio.fail_after(SCREEN_READ_S):
        async with daemon_process(harness, "--as-codex-daemon"):
            # The same place, another state: what listens there first stays.
            environment = codex_environment(harness.codex_home) | {"HOME": str(harness.home)}
            command = [
                "--state-dir",
                str(harness.home / "other"),
                "--socket",
                str(harness.home / "o.sock"),
            ]
            second = await anyio.to_thread.run_sync(
                _serve, [*command, "--as-codex-daemon"], environment
            )
            async with harness.client() as client:
                assert await client.request("sidecar/status")
    assert second.returncode == 1
    assert "codex app-server daemon stop" in second.stderr


def _serve(options: list[str], environment: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    path = {"PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
    return subprocess.run(
        [sys.executable, "-m", "trimpoint", "serve", *options],
        capture_output=True,
        text=True,
        timeout=60,
        env=environment | path,
        check=False,
    )
