"""A stage of real parts for each test that needs one."""

from collections.abc import AsyncIterator

import pytest

from tests.cli.stage import CliHarness, opened_stage


@pytest.fixture
async def stage() -> AsyncIterator[CliHarness]:
    """Folders, a scripted model and the real Codex."""
    async with opened_stage() as opened:
        yield opened
