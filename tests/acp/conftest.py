"""Fixtures with an editor and the real Codex behind it."""

from collections.abc import AsyncGenerator

import pytest

from tests.acp.editor import Editor, opened_editor
from tests.e2e.conftest import Harness, opened_harness
from tests.e2e.daemon_process import write_config


@pytest.fixture
async def harness() -> AsyncGenerator[Harness]:
    """Yields a harness with a running daemon and a scripted model."""
    async with opened_harness() as opened, opened.daemon():
        write_config(opened)
        yield opened


@pytest.fixture
async def editor(harness: Harness) -> AsyncGenerator[Editor]:
    """Yields an editor that supports compactions and, beyond the minimum, nothing else."""
    async with opened_editor(harness) as opened:
        await opened.introduce(session={"compaction": {}})
        yield opened
