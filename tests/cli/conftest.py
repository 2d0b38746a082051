"""The stage of each test that requests one, and commands that run in the test's own process."""

import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import anyio.to_thread
import pytest
from trimpoint.cli.main import main

from tests.cli.stage import CliHarness, Ended, Terminal, opened_stage

Typed = Callable[..., Awaitable[Ended]]
# The daemon of the test logs to the same stream.
LOG_LINE = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \[.*\n", re.MULTILINE)


@pytest.fixture
async def stage() -> AsyncIterator[CliHarness]:
    async with opened_stage() as opened:
        yield opened


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    opened = Terminal()
    yield opened
    opened.close()


@pytest.fixture
def typed(
    stage: CliHarness, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Typed:
    """Runs commands in this process, in a folder where no thread works."""
    for name in set(os.environ).difference(stage.environment, {"PYTEST_CURRENT_TEST"}):
        monkeypatch.delenv(name)
    for name, value in stage.environment.items():
        monkeypatch.setenv(name, value)
    elsewhere = stage.folder / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)

    async def run(*words: str) -> Ended:
        code = await anyio.to_thread.run_sync(main, list(words))
        captured = capsys.readouterr()
        return Ended(code, LOG_LINE.sub("", captured.out), captured.err)

    return run
