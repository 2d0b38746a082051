"""`trimpoint fleet` as a team uses it from the beginning: `init`, a server, `setup`, a daemon, and
the commands of persons.
"""

import json
import signal
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import NamedTuple

import anyio
import pytest
from trimpoint.cli.connection.client import connect

from tests.cli.stage import CliHarness, opened_stage
from tests.deadlines import SCENARIO_S
from tests.fleet.servers import Server, running_server

pytestmark = pytest.mark.codex


async def seen(stage: CliHarness, *words: str) -> str:
    ended = await stage.run("fleet", *words)
    assert ended.code == 0, ended
    return ended.out


class Team(NamedTuple):
    """A hub from `fleet init`, and the options with which each command finds it."""

    stage: CliHarness
    ours: tuple[str, str]


@pytest.fixture
async def team(tmp_path: Path) -> AsyncGenerator[Team]:
    root = tmp_path / "hub"
    async with opened_stage() as stage:
        members = ("--tenant", "team", "--host", "desk", "--operator", "alice")
        assert "server.conf" in await seen(stage, "init", str(root), *members)
        async with running_server(root, conf=root / "server.conf") as server:
            ours = ("--config", str(_configured(stage, root, server)))
            admin = root / "credentials" / "team" / "admin-admin.creds"
            await seen(stage, "setup", *ours, "--credentials", str(admin))
            yield Team(stage, ours)


def _configured(stage: CliHarness, root: Path, server: Server) -> Path:
    of_team, config = root / "credentials" / "team", stage.folder / "config.toml"
    config.write_text(
        f'[fleet]\nservers = ["{server.url}"]\ntenant = "team"\nhost = "desk"\ncontent = "titles"\n'
        f'credentials = "{of_team / "host-desk.creds"}"\n'
        f'person_credentials = "{of_team / "operator-alice.creds"}"\n'
    )
    return config


async def test_a_team_begins_from_nothing_and_sees_and_commands_a_machine(team: Team) -> None:
    with anyio.fail_after(SCENARIO_S):
        await _begun(*team)


async def _begun(stage: CliHarness, ours: tuple[str, str]) -> None:
    assert "No machine is connected." in await seen(stage, "hosts", *ours)
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


async def test_fleet_watch_shows_events_and_compact_passes_its_guidance(team: Team) -> None:
    stage, ours = team
    with anyio.fail_after(SCENARIO_S):
        async with stage.serving(*ours), connect(stage.socket) as client:
            await client.initialize("test")
            thread_id = await stage.thread(client)
            end = thread_id[-8:]
            while end not in await seen(stage, "threads", *ours):
                pass
            for _ in range(3):  # a compaction needs so many
                await stage.turn(client, thread_id, "One.")
            watching = ("fleet", "watch", "--json", *ours)
            async with stage.running(*watching) as watch:
                while "turn-completed" not in watch.out:  # it may have begun after the turn
                    await stage.turn(client, thread_id, "One more.")
                event = json.loads(watch.out.splitlines()[0])
                assert (event["host"], event["threadId"]) == ("desk", thread_id)
                guidance = "Keep the xylophone."
                words = ("compact", end, "--keep", "1", "--guidance", guidance, "--host", "desk")
                await seen(stage, *words, *ours)
                await watch.said("thread.context-summarized")
                watch.process.send_signal(signal.SIGINT)
                assert await watch.ended() == -signal.SIGINT
            assert any(guidance in str(request.body) for request in stage.model.requests)
            shown = await seen(stage, "timeline", end, *ours)
            assert "asked by alice" in shown
            assert "The gist of it all." not in shown
            told = json.loads(await seen(stage, "timeline", end, "--json", "-n", "2", *ours))
            assert len(told["events"]) == 2
