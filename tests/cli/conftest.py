"""One stage for each test that asks for it."""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.cli.stage import Stage, Terminal, opened_stage


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with opened_stage() as opened:
        yield opened


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    opened = Terminal()
    yield opened
    opened.close()
