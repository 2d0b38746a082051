"""The client programs in docs/connect.md and in the library's README, run exactly as printed, with
a real daemon and the real Codex.
"""

import os
import re
import shutil
import sys
from pathlib import Path

import anyio
import pytest
from trimpoint.testkit import say

from tests.deadlines import SCENARIO_S
from tests.e2e.conftest import Harness, opened_harness

pytestmark = pytest.mark.codex

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "connect.md").read_text()
README = (ROOT / "protocol" / "README.md").read_text()
RUNNERS = {
    "Python": [sys.executable, "client"],
    "Python, without a package": ["python3", "client"],
    "Node": ["node", "client"],
    "Lua, in Neovim": ["nvim", "--headless", "-u", "NONE", "-c", "luafile client", "-c", "qa"],
}


@pytest.mark.each_case(reason="each is another program")
@pytest.mark.parametrize("heading", RUNNERS)
async def test_a_printed_client_prompts_reads_the_answer_and_clears(heading: str) -> None:
    command = RUNNERS[heading]
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    async with opened_harness() as harness:
        harness.socket = harness.home / "trimpoint" / "trimpoint.sock"
        harness.script.then(say("a greeting in a file"))
        async with harness.daemon():
            printed = await _run(harness, _code_under(heading, GUIDE), command)
    assert "a greeting in a file" in printed
    assert "Context cleared: 2 messages in 1 turn left it" in printed


async def test_the_client_in_the_readme_of_the_library_does_as_it_says() -> None:
    async with opened_harness() as harness:
        harness.socket = harness.home / "trimpoint" / "trimpoint.sock"
        harness.script.then(say("a greeting in a file"))
        async with harness.daemon():
            code = _code_under("A client", README)
            printed = await _run(harness, code, [sys.executable, "client"])
    assert printed.startswith("a greeting in a filecompleted Context cleared")


async def _run(harness: Harness, code: str, command: list[str]) -> str:
    (harness.worktree / "client").write_text(code)
    environment = {
        **os.environ,
        "HOME": str(harness.home),
        "XDG_RUNTIME_DIR": str(harness.home),
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
    }
    with anyio.fail_after(SCENARIO_S):
        done = await anyio.run_process(command, cwd=harness.worktree, env=environment, stderr=-2)
    return done.stdout.decode()


def _code_under(heading: str, page: str) -> str:
    section = rf"\n## {re.escape(heading)}\n.*?\n```\w+\n(.*?)```"
    return str(re.findall(section, page, re.DOTALL)[0])
