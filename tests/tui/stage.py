"""Codex's own terminal UI beside a daemon with a scripted model."""

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from trimpoint.testkit import codex_environment

from tests.e2e.conftest import CODEX_BIN, Harness
from tests.tui.terminal import Terminal, program_in_terminal

# npm's newest, where it is installed; Codex's own package is always there.
BINARIES = [CODEX_BIN, *map(Path, filter(None, [os.environ.get("TRIMPOINT_TEST_TUI")]))]
SCREEN_READ_S = 120.0


@asynccontextmanager
async def terminal_ui(harness: Harness, codex: Path, *options: str) -> AsyncIterator[Terminal]:
    """Run `codex` with these options, until its composer is ready."""
    config = [
        *harness.overrides,
        f'projects."{harness.worktree}".trust_level="trusted"',
        "check_for_update_on_startup=false",
    ]
    (harness.codex_home / "config.toml").write_text("\n".join(config) + "\n")
    environment = codex_environment(harness.codex_home) | {"HOME": str(harness.home)}
    command: Sequence[str] = [str(codex), *options]
    async with program_in_terminal([*command], environment, str(harness.worktree)) as terminal:
        await terminal.shows("›")
        yield terminal


@asynccontextmanager
async def attached(harness: Harness, codex: Path) -> AsyncIterator[Terminal]:
    """Run the UI on the daemon's own socket."""
    async with terminal_ui(
        harness, codex, "--remote", f"unix://{harness.socket}", "-C", str(harness.worktree)
    ) as terminal:
        yield terminal
