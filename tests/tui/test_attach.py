"""Codex's own terminal UI on the daemon's socket."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from trimpoint.testkit import codex_environment

from tests.deadlines import SCENARIO_S
from tests.e2e.conftest import CODEX_BIN, Harness, opened_harness
from tests.tui.terminal import Terminal, program_in_terminal

pytestmark = pytest.mark.codex

# npm's newest, where it is installed; Codex's own package is always there.
BINARIES = [CODEX_BIN, *map(Path, filter(None, [os.environ.get("TRIMPOINT_TEST_TUI")]))]


@pytest.fixture
async def harness() -> AsyncIterator[Harness]:
    async with opened_harness() as opened:
        yield opened


@asynccontextmanager
async def attached(harness: Harness, codex: Path) -> AsyncIterator[Terminal]:
    """The TUI, with its composer ready."""
    config = [
        *harness.overrides,
        f'projects."{harness.worktree}".trust_level="trusted"',
        "check_for_update_on_startup=false",
    ]
    (harness.codex_home / "config.toml").write_text("\n".join(config) + "\n")
    command = [str(codex), "--remote", f"unix://{harness.socket}", "-C", str(harness.worktree)]
    environment = codex_environment(harness.codex_home) | {"HOME": str(harness.home)}
    async with program_in_terminal(command, environment, str(harness.worktree)) as terminal:
        await terminal.shows("›")
        yield terminal


@pytest.mark.parametrize("codex", BINARIES, ids=lambda path: "/".join(path.parts[-3:]))
async def test_codexs_own_terminal_ui_attaches_to_the_socket(harness: Harness, codex: Path) -> None:
    with anyio.fail_after(SCENARIO_S):
        async with harness.daemon(), attached(harness, codex) as terminal:
            await terminal.types("Say one thing.")
            await terminal.shows("• reply")
            await terminal.types("Say another thing.")
            await terminal.shows(lambda text: text.count("• reply") == 2)
            await terminal.types(" /clear 1")
            await terminal.shows("Context cleared")
