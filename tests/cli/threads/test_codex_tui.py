"""`trimpoint tui` before it becomes Codex's own terminal UI."""

from pathlib import Path

import pytest

from tests.cli.stage import CliHarness

pytestmark = pytest.mark.processes


async def test_another_home_than_the_daemons_is_refused(stage: CliHarness, tmp_path: Path) -> None:
    async with stage.daemon():
        refused = await stage.run("tui", CODEX_HOME=str(tmp_path))
    assert refused.code == 1
    assert str(tmp_path) in refused.err
    assert str(stage.codex_home) in refused.err
    assert "trimpoint chat" in refused.err
