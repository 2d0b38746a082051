"""The clients in docs/connect.md, run exactly as they are printed, against a real daemon on the
real Codex.
"""

import os
import re
import shutil
from pathlib import Path

import anyio
import pytest
from trimpoint.testkit import say

from tests.deadlines import SCENARIO_S
from tests.e2e.conftest import Harness, opened_harness

pytestmark = pytest.mark.codex

GUIDE = Path(__file__).parents[2] / "docs" / "connect.md"
RUNNERS = {
    "python": ["python3", "client"],
    "javascript": ["node", "client"],
    "lua": ["nvim", "--headless", "-u", "NONE", "-c", "luafile client", "-c", "qa"],
}


@pytest.mark.parametrize("language", RUNNERS)
async def test_a_printed_client_asks_hears_the_answer_and_clears(language: str) -> None:
    command = RUNNERS[language]
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    async with opened_harness() as harness:
        harness.socket = harness.home / "trimpoint" / "trimpoint.sock"
        harness.script.then(say("a greeting in a file"))
        async with harness.daemon():
            printed = await _run(harness, language, command)
    assert "a greeting in a file" in printed
    assert "Context cleared: 2 messages in 1 turn left it" in printed


async def _run(harness: Harness, language: str, command: list[str]) -> str:
    [code] = re.findall(rf"```{language}\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    (harness.worktree / "client").write_text(code)
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(harness.home)}
    with anyio.fail_after(SCENARIO_S):
        done = await anyio.run_process(command, cwd=harness.worktree, env=environment, stderr=-2)
    return done.stdout.decode()
