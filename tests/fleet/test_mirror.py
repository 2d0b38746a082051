"""The mirror: the hub has the events of the journals, whatever happened to either."""

import shutil
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from trimpoint.fleet.hub.connection import LAST_SUBJECT_SEQUENCE, connected
from trimpoint.fleet.hub.errors import StaleWriter
from trimpoint.fleet.names import Names

from tests.fleet.servers import Server, running_server
from tests.fleet.stage import (
    HOST,
    OTHER,
    SECRET,
    THREAD,
    desk,
    make_streams,
    mirrored,
    place,
    places,
    section,
    until,
    until_mirrored,
)

pytestmark = pytest.mark.processes
NAMES = Names("default")


@pytest.fixture
async def hub(tmp_path: Path) -> AsyncGenerator[Server]:
    async with running_server(tmp_path / "hub") as server:
        await make_streams(server.url, NAMES)
        yield server


async def test_the_mirror_has_every_event_in_order(hub: Server, tmp_path: Path) -> None:
    async with desk(tmp_path / "state", section(hub.url)) as one:
        await one.begin()
        await one.begin(OTHER)
        await one.say("hello", times=5)
        await one.say("hello", OTHER)
        await until_mirrored(one, hub.url)
        await until_mirrored(one, hub.url, OTHER)
        await one.say("more")
        await until_mirrored(one, hub.url)


async def test_a_daemon_that_starts_again_sends_only_what_is_new(
    hub: Server, tmp_path: Path
) -> None:
    async with desk(tmp_path / "state", section(hub.url)) as one:
        await one.begin()
        await one.say("hello", times=3)
        await until_mirrored(one, hub.url)
    async with desk(tmp_path / "state", section(hub.url)) as one:
        await one.say("hello again")
        await until_mirrored(one, hub.url)
        assert one.mirror.counts.events == 3


async def test_events_recorded_without_a_hub_are_sent_once_it_is_there(
    hub: Server, tmp_path: Path
) -> None:
    await hub.kill()
    async with desk(tmp_path / "state", section(hub.url)) as one:
        await one.begin()
        await one.say("a" * 1000, times=2000)
        assert one.mirror.counts.events == 0
        await hub.start()
        found = await until_mirrored(one, hub.url)
        assert one.mirror.counts.events == len(found) > 6000
        assert one.mirror.counts.repairs == 0


async def test_the_tail_that_the_hub_lost_is_sent_again_and_nothing_twice(
    hub: Server, tmp_path: Path
) -> None:
    async with desk(tmp_path / "state", section(hub.url)) as one:
        await one.begin()
        await one.say("kept", times=4)
        kept = len(await until_mirrored(one, hub.url))
        await hub.kill()
        shutil.copytree(hub.store, tmp_path / "yesterday")
        await hub.start()
        await one.say("lost", times=5)
        await until_mirrored(one, hub.url)
        sent = one.mirror.counts.events
        await hub.kill()
        shutil.rmtree(hub.store)
        shutil.copytree(tmp_path / "yesterday", hub.store)
        await hub.start()
        found = await until_mirrored(one, hub.url)
        assert one.mirror.counts.events - sent == len(found) - kept == 15


async def test_a_writer_that_thinks_the_subject_ends_earlier_is_refused(
    hub: Server, tmp_path: Path
) -> None:
    async with desk(tmp_path / "state", section(hub.url)) as one:
        await one.begin()
        await until_mirrored(one, hub.url)
        async with connected(place(hub.url)) as other:
            with pytest.raises(StaleWriter):
                await other.store(NAMES.events(HOST, THREAD), b"{}", {LAST_SUBJECT_SEQUENCE: "0"})


async def test_two_daemons_of_one_name_do_not_mix_their_histories(
    hub: Server, tmp_path: Path
) -> None:
    async with desk(tmp_path / "state", section(hub.url)) as one:
        await one.begin()
        await until_mirrored(one, hub.url)
    shutil.copytree(tmp_path / "state", tmp_path / "clone")
    async with desk(tmp_path / "state", section(hub.url)) as one:
        await one.say("mine")
        mine = await until_mirrored(one, hub.url)
    async with desk(tmp_path / "clone", section(hub.url)) as clone:
        await clone.say("not mine")
        await until(lambda: THREAD in clone.mirror.refused)
    assert places(await mirrored(hub.url)) == places(mine)


@pytest.mark.parametrize(
    ("content", "is_sent"), [("none", False), ("titles", False), ("full", True)]
)
async def test_words_leave_only_where_it_is_configured(
    hub: Server, tmp_path: Path, content: str, is_sent: bool
) -> None:
    async with desk(tmp_path / "state", section(hub.url, content=content)) as one:
        await one.begin()
        await one.say(f"The {SECRET} is out of tune.")
        await until_mirrored(one, hub.url)
    await hub.kill()
    kept = b"".join(path.read_bytes() for path in hub.store.rglob("*") if path.is_file())
    assert (SECRET.encode() in kept) is is_sent
