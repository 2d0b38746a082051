"""Codex's own terminal UI on the daemon's socket."""

from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from tests.deadlines import SCENARIO_S
from tests.e2e.conftest import Harness, opened_harness
from tests.tui.stage import BINARIES, attached

pytestmark = pytest.mark.codex


@pytest.fixture
async def harness() -> AsyncIterator[Harness]:
    async with opened_harness() as opened:
        yield opened


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
