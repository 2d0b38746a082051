"""Sessions are those of the shell's agents, whatever folders the daemon was started with."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from trimpoint.cli.connection.client import connect
from trimpoint_protocol.unified import Agent

from tests.cli.stage import CliHarness
from tests.sessionlogs.sessions import FIXTURES

pytestmark = pytest.mark.codex

CLAUDE = FIXTURES / "claude-code-2.1.332" / "cleared" / "projects"
CODEX = FIXTURES / "codex-0.163.0" / "forked" / "sessions"
AGENTS: dict[Agent, tuple[Path, str]] = {
    "claude": (CLAUDE, "CLAUDE_CONFIG_DIR"),
    "codex": (CODEX, "CODEX_HOME"),
}


@pytest.mark.each_case("the agents' folders have a variable each")
@pytest.mark.parametrize("agent", AGENTS)
async def test_every_command_finds_the_sessions_of_the_shells_agents(
    stage: CliHarness, agent: Agent
) -> None:
    sessions, variable = AGENTS[agent]
    elsewhere = stage.folder / "elsewhere"
    shutil.copytree(sessions, elsewhere / sessions.name)
    there: dict[str, Any] = {variable: str(elsewhere)}
    here: dict[str, Any] = {}
    cwd = str(stage.worktree)
    async with stage.serving():
        for shell in (here, there):
            listed = (await stage.run("sessions", "--json", **shell)).json()["sessions"]
            assert bool([one for one in listed if one["agent"] == agent]) is (shell is there)
        session_id = next(one["id"] for one in listed if one["agent"] == agent)
        for words in (
            ["sessions", "show", session_id],
            ["sessions", "export", session_id],
            ["sessions", "continue", session_id, "--agent", agent, "--cwd", cwd],
        ):
            done = await stage.run(*words, **there)
            assert done.code == 0, (words, done.err)
            assert (await stage.run(*words)).code != 0, "another shell has no such session"
        continued = await stage.run(*words, "--json", **there)
        async with connect(stage.socket) as client:
            await client.initialize()
            status = await client.request("sidecar/status")
        homes = {one["codexHome"] for one in status["profiles"]}
        assert (str(elsewhere) in homes) is (agent == "codex")
        thread_id = continued.json()["threadId"]
        assert (await stage.run("timeline", "-t", thread_id, **there)).code == 0
