"""`trimpoint chat` as a person runs it: in a terminal, with a real daemon."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

from tests.cli.stage import CliHarness
from tests.tui.terminal import COLUMNS, ROWS, Terminal, program_in_terminal


@asynccontextmanager
async def chat(
    stage: CliHarness, *words: str, size: tuple[int, int] = (ROWS, COLUMNS), **environment: str
) -> AsyncIterator[Terminal]:
    """Runs the program, and yields its terminal once the screen is shown."""
    command = stage.command("chat", *words)
    async with program_in_terminal(
        command, stage.environment | environment, str(stage.worktree), size
    ) as terminal:
        await terminal.shows("Ask, / for commands")
        yield terminal


async def in_git(stage: CliHarness) -> None:
    """Makes the worktree a git repository, so that its files can be reverted."""
    identity = ["-c", "user.name=n", "-c", "user.email=n@example.com"]
    for words in (["init", "-q"], [*identity, "commit", "-q", "--allow-empty", "-m", "first"]):
        await anyio.run_process(["git", *words], cwd=stage.worktree, env=stage.environment)
