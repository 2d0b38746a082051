"""An editor with the real Codex behind it."""

from collections.abc import AsyncGenerator

import pytest

from tests.acp.editor import Editor, opened_editor
from tests.e2e.conftest import Harness, opened_harness
from tests.e2e.daemon_process import write_config


@pytest.fixture
async def harness() -> AsyncGenerator[Harness]:
    """A daemon that runs in this process, with a scripted model."""
    async with opened_harness() as opened, opened.daemon():
        write_config(opened)
        yield opened


@pytest.fixture
async def editor(harness: Harness) -> AsyncGenerator[Editor]:
    """An editor that shows trims as what they are, and nothing else beyond the minimum."""
    async with opened_editor(harness) as opened:
        await opened.introduce(session={"compaction": {}})
        yield opened
