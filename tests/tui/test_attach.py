"""Codex's own terminal UI on the daemon's socket."""

from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest
from trimpoint.cli.connection.client import connect

from tests.deadlines import SCENARIO_S
from tests.e2e.conftest import CODEX_BIN, Harness, opened_harness
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


async def test_it_goes_on_in_the_thread_that_is_named(harness: Harness) -> None:
    with anyio.fail_after(SCENARIO_S):
        async with harness.daemon():
            async with attached(harness, CODEX_BIN) as terminal:
                await terminal.types("Mend the parser.")
                await terminal.shows("• reply")
            async with connect(harness.socket) as client:
                await client.initialize()
                [thread] = (await client.request("orchestration/snapshot"))["threads"]
            async with attached(harness, CODEX_BIN, "resume", thread["id"]) as terminal:
                await terminal.shows("Mend the parser.")
                await terminal.types("Say another thing.")
                await terminal.shows(lambda text: text.count("• reply") == 2)
