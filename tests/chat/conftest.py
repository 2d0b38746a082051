"""The fixture for tests that need a real daemon."""

from collections.abc import AsyncIterator

import pytest

from tests.cli.stage import CliHarness, opened_stage


@pytest.fixture
async def stage() -> AsyncIterator[CliHarness]:
    """Yields folders, a scripted model and the real Codex."""
    async with opened_stage() as opened:
        yield opened
