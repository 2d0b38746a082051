"""Codex's own terminal UI beside a daemon with a scripted model."""

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from trimpoint.cli.thread_commands.codex_tui import command_line
from trimpoint.testkit import codex_environment

from tests.deadlines import SCENARIO_S
from tests.e2e.conftest import CODEX_BIN, Harness
from tests.tools import REQUIRED, VENV
from tests.tui.terminal import Terminal, program_in_terminal

# npm's newest, which `scripts/install-test-tools` puts there; Codex's own package is always there.
NEWEST = Path(
    os.environ.get("TRIMPOINT_TEST_TUI") or VENV / "npm" / "node_modules" / ".bin" / "codex"
)
BINARIES = [CODEX_BIN, *([NEWEST] if NEWEST.exists() or REQUIRED else [])]
SCREEN_READ_S = SCENARIO_S


@asynccontextmanager
async def terminal_ui(harness: Harness, codex: Path, *options: str) -> AsyncIterator[Terminal]:
    """Runs `codex` with these options, until its composer is ready."""
    config = [
        *harness.overrides,
        f'projects."{harness.worktree}".trust_level="trusted"',
        "check_for_update_on_startup=false",
    ]
    (harness.codex_home / "config.toml").write_text("\n".join(config) + "\n")
    environment = codex_environment(harness.codex_home) | {"HOME": str(harness.home)}
    command: Sequence[str] = [str(codex), *options]
    async with program_in_terminal([*command], environment, str(harness.worktree)) as terminal:
        await terminal.shows("gpt-5")  # the model, once it has a thread
        yield terminal


@asynccontextmanager
async def attached(harness: Harness, codex: Path, *more: str) -> AsyncIterator[Terminal]:
    """Runs the UI on the daemon's own socket, as `trimpoint tui` does.

    :param more: what else Codex is given, such as `resume` and an id.
    """
    words = command_line(harness.socket, str(harness.worktree), [*more])
    async with terminal_ui(harness, codex, *words) as terminal:
        yield terminal


async def has_feature(codex: Path, harness: Harness, name: str) -> bool:
    """Whether this version of Codex knows a feature."""
    environment = codex_environment(harness.codex_home) | {"HOME": str(harness.home)}
    listed = await anyio.run_process([str(codex), "features", "list"], env=environment)
    return any(line.split()[:1] == [name] for line in listed.stdout.decode().splitlines())
