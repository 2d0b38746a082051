"""The stage of each test that requests one."""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.cli.stage import CliHarness, Terminal, opened_stage


@pytest.fixture
async def stage() -> AsyncIterator[CliHarness]:
    async with opened_stage() as opened:
        yield opened


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    opened = Terminal()
    yield opened
    opened.close()
