"""The mirror on three servers, behind a leaf, and beside clients that do not read."""

import signal
import socket
from contextlib import aclosing
from pathlib import Path

import anyio
import pytest
from trimpoint.fleet.hub.connection import connected
from trimpoint.fleet.hub.errors import HubUnreachable
from trimpoint.fleet.reading import hosts, new_events

from tests.deadlines import STEP_S
from tests.fleet.cluster import NAMES, leader_of, says_all_the_time
from tests.fleet.servers import running_cluster, running_leaf, running_server
from tests.fleet.stage import desk, make_streams, place, section, until, until_mirrored
from tests.ports import free_port

pytestmark = pytest.mark.processes


async def test_no_event_is_missing_after_the_leader_was_killed_and_one_server_cut_off(
    tmp_path: Path,
) -> None:
    async with running_cluster(tmp_path / "hub") as cluster:
        await make_streams(cluster.urls, NAMES, 3)
        async with (
            desk(tmp_path / "state", section(cluster.urls)) as one,
            anyio.create_task_group() as tasks,
        ):
            await one.begin()
            stop = anyio.Event()
            tasks.start_soon(says_all_the_time, one, stop)
            await until(lambda: one.mirror.counts.messages > 5)
            leader = await leader_of(cluster)
            await leader.kill()
            sent = one.mirror.counts.messages
            await until(lambda: one.mirror.counts.messages > sent + 5)
            await leader.start()
            # One server hears nothing and says nothing, as behind a cut line.
            cut_off = next(server for server in cluster.servers if server is not leader)
            cut_off.signal(signal.SIGSTOP)
            sent = one.mirror.counts.messages
            await until(lambda: one.mirror.counts.messages > sent + 5)
            cut_off.signal(signal.SIGCONT)
            stop.set()
            await until_mirrored(one, cluster.urls)


async def test_a_reader_continues_when_the_server_that_counts_for_it_dies(tmp_path: Path) -> None:
    async with running_cluster(tmp_path / "hub") as cluster:
        await make_streams(cluster.urls, NAMES, 3)
        async with desk(tmp_path / "state", section(cluster.urls)) as one:
            await one.begin()
            await one.say("before", times=10)
            before = len(await until_mirrored(one, cluster.urls))
            counting = await leader_of(cluster)
            others = tuple(each.url for each in cluster.servers if each is not counting)
            seen: list[int] = []
            async with connected(place(others)) as hub:
                events = new_events(hub, NAMES)
                async with aclosing(events), anyio.create_task_group() as tasks:
                    stop = anyio.Event()
                    tasks.start_soon(says_all_the_time, one, stop)
                    with anyio.fail_after(2 * STEP_S):
                        async for found in events:
                            if not seen:
                                tasks.start_soon(counting.kill)
                            seen.append(found.event.thread_sequence)
                            if counting.process is None and len(seen) > 100:
                                break
                    stop.set()
            assert seen[0] > before
            assert seen == sorted(set(seen))


async def test_a_server_that_hangs_blocks_no_client_of_the_others(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as hanging:
        url = f"nats://127.0.0.1:{hanging.getsockname()[1]}"
        async with running_server(tmp_path / "hub") as hub:
            await make_streams(hub.url, NAMES)
            async with anyio.create_task_group() as tasks:
                for _ in range(6):  # each begins with one of the two, at random
                    tasks.start_soon(reads, (url, hub.url))
        with pytest.raises(HubUnreachable):
            async with connected(place(url)):
                pass


async def reads(urls: tuple[str, ...]) -> None:
    async with connected(place(urls)) as hub:
        assert await hosts(hub, NAMES) == []


async def test_behind_a_leaf_that_was_cut_off_everything_arrives_later(tmp_path: Path) -> None:
    leaf_port = free_port()
    async with (
        running_server(tmp_path / "hub", f'leafnodes {{ listen: "127.0.0.1:{leaf_port}" }}') as hub,
        running_leaf(tmp_path / "leaf", leaf_port) as leaf,
    ):
        await make_streams(hub.url, NAMES)
        async with desk(tmp_path / "state", section(leaf.url, domain="hub")) as one:
            await one.begin()
            await one.say("before")
            await until_mirrored(one, hub.url)
            await hub.kill()
            await one.say("while the leaf is alone", times=20)
            await hub.start()
            await until_mirrored(one, hub.url)


async def test_a_client_that_does_not_read_holds_nothing_up(tmp_path: Path) -> None:
    async with running_server(tmp_path / "hub") as hub:
        await make_streams(hub.url, NAMES)
        async with await anyio.connect_tcp("127.0.0.1", hub.port) as deaf:
            await deaf.send(b'CONNECT {"verbose":false}\r\nSUB fleet.> 1\r\nPING\r\n')
            async with desk(tmp_path / "state", section(hub.url, content="full")) as one:
                await one.begin()
                await one.say("x" * 100_000, times=400)
                with anyio.fail_after(STEP_S):
                    await until_mirrored(one, hub.url)
