"""A folder of trimpoint that a client starts."""

import gc
from collections.abc import AsyncIterator

import pytest

from tests.cli.stage import CliHarness, opened_stage


@pytest.fixture
async def stage() -> AsyncIterator[CliHarness]:
    async with opened_stage() as opened:
        yield opened
        gc.collect()
