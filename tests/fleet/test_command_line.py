"""`trimpoint fleet` as a team uses it, from nothing: `init`, a server, `setup`, a daemon, and what
people see and do.
"""

from pathlib import Path

import anyio
import pytest
from trimpoint.cli.connection.client import connect

from tests.cli.stage import CliHarness, opened_stage
from tests.deadlines import SCENARIO_S
from tests.fleet.servers import Server

pytestmark = pytest.mark.codex


async def seen(stage: CliHarness, *words: str) -> str:
    ended = await stage.run("fleet", *words)
    assert ended.code == 0, ended
    return ended.out


async def test_a_team_begins_from_nothing_and_sees_and_commands_a_machine(tmp_path: Path) -> None:
    root = tmp_path / "hub"
    with anyio.fail_after(SCENARIO_S):
        async with opened_stage() as stage:
            members = ("--tenant", "team", "--host", "desk", "--operator", "alice")
            assert "server.conf" in await seen(stage, "init", str(root), *members)
            server = Server(root, conf=root / "server.conf")
            await server.start()
            try:
                await _begun(stage, root, server)
            finally:
                await server.kill()


async def _begun(stage: CliHarness, root: Path, server: Server) -> None:
    of_team = root / "credentials" / "team"
    config = stage.folder / "config.toml"
    config.write_text(
        f'[fleet]\nservers = ["{server.url}"]\ntenant = "team"\nhost = "desk"\ncontent = "titles"\n'
        f'credentials = "{of_team / "host-desk.creds"}"\n'
        f'person_credentials = "{of_team / "operator-alice.creds"}"\n'
    )
    ours = ("--config", str(config))
    await seen(stage, "setup", *ours, "--credentials", str(of_team / "admin-admin.creds"))
    assert "No machine is there." in await seen(stage, "hosts", *ours)
    async with stage.serving(*ours):
        async with connect(stage.socket) as client:
            await client.initialize("test")
            begun = await client.request("thread/start", cwd=str(stage.worktree))
            thread_id = begun["thread"]["id"]
        while thread_id[-8:] not in await seen(stage, "threads", *ours):
            pass
        assert "desk" in await seen(stage, "hosts", *ours)
        assert "created" in await seen(stage, "timeline", thread_id[-8:], *ours)
        skipped = await stage.run("fleet", "clear", thread_id[-8:], *ours)
        assert skipped.code == 3, skipped
        unknown = await stage.run("fleet", "clear", "no-such-thread", *ours)
        assert unknown.code == 1
        assert "trimpoint fleet threads" in unknown.err
    away = await stage.run("fleet", "clear", thread_id[-8:], *ours)
    assert away.code == 1
    assert "The machine desk is offline; nothing was done." in away.err
    assert "created" in await seen(stage, "timeline", thread_id[-8:], *ours)
