"""The daemon works with the real Codex where the system has nothing but POSIX."""

import pytest

from tests.cli.stage import CODEX, CliHarness


@pytest.mark.codex
async def test_the_demo_runs_on_the_plain_system(stage: CliHarness) -> None:
    cache = stage.codex_home / "cache"
    done = await stage.run(
        "demo",
        "--plain",
        "--codex",
        str(CODEX),
        XDG_CACHE_HOME=str(cache),
        TRIMPOINT_PLATFORM="posix",
    )
    assert done.code == 0, done.out + done.err
    assert "✓ Pruned text in the model's input: none;" in done.out
