"""Presence: a machine that has died is no longer listed, and its threads can still be read."""

import os
import sys
from pathlib import Path

import anyio
import pytest
from trimpoint.fleet import presence, setup
from trimpoint.fleet.hub.connection import connected
from trimpoint.fleet.names import Names
from trimpoint.fleet.reading import events_of, hosts, threads

from tests.deadlines import STEP_S
from tests.fleet.chaos import ROOT, THREADS, thread_of
from tests.fleet.servers import running_server
from tests.fleet.stage import make_streams, place

pytestmark = pytest.mark.processes
NAMES = Names("default")


async def test_a_machine_that_was_killed_is_gone_and_its_threads_are_still_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(setup, "PRESENCE_TTL_S", 3.0)
    async with running_server(tmp_path / "hub") as server:
        await make_streams(server.url, NAMES)
        words = ("--live", str(tmp_path / "state"), "cloud", "is quiet", server.url)
        command = [sys.executable, "-m", "tests.fleet.chaos", *words]
        async with (
            await anyio.open_process(command, cwd=ROOT, env=dict(os.environ)) as process,
            connected(place(server.url)) as hub,
        ):
            with anyio.fail_after(2 * STEP_S):
                seen = list[str]()
                while not seen or len(await threads(hub, NAMES)) < THREADS:
                    await anyio.sleep(0.1)
                    seen = seen or [one.host for one in await hosts(hub, NAMES)]
                process.kill()
                await process.wait()
                while await hosts(hub, NAMES):  # noqa: ASYNC110
                    await anyio.sleep(0.1)
            assert seen == ["cloud"]
            left = await threads(hub, NAMES)
            assert sorted(one.thread.id for one in left) == [*map(thread_of, range(THREADS))]
            events = [one async for one in events_of(hub, NAMES, "cloud", thread_of(0))]
            assert events[0].type == "thread.created"


def test_a_machine_is_gone_within_a_minute_and_not_while_it_beats() -> None:
    assert 2 * presence.HEARTBEAT_S < presence.PRESENCE_TTL_S <= 60 - presence.HEARTBEAT_S
