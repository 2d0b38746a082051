"""A real partition: three servers, each in its own network namespace, whose connections are cut.

Runs only with `TRIMPOINT_TEST_NAMESPACES=1`, and beside no other test: when the machine's addresses
change, Chromium aborts all its requests (ERR_NETWORK_CHANGED).
"""

import os
import shutil
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from trimpoint.fleet.names import Names

from tests.fleet.cluster import leader_of, says_all_the_time
from tests.fleet.servers import Cluster, Server
from tests.fleet.stage import desk, make_streams, section, until, until_mirrored

pytestmark = pytest.mark.processes
NAMES = Names("default")


def ip(words: str) -> None:
    subprocess.run(["ip", *words.split()], check=True, capture_output=True)


class Network:
    """A bridge with a connection to each of three namespaces; this machine is connected to the
    bridge.
    """

    def __init__(self) -> None:
        mark = os.getpid() % 10_000
        self._bridge = f"tpf{mark}"
        self._namespaces = [f"tpf{mark}-{number}" for number in (1, 2, 3)]
        self._net = f"10.{200 + mark % 50}.{mark // 50}"

    def address(self, number: int) -> str:
        return f"{self._net}.{10 + number}"

    def within(self, number: int) -> tuple[str, ...]:
        """Returns the beginning of a command line that runs in a namespace."""
        return ("ip", "netns", "exec", self._namespaces[number])

    def make(self) -> None:
        ip(f"link add {self._bridge} type bridge")
        ip(f"addr add {self._net}.1/24 dev {self._bridge}")
        ip(f"link set {self._bridge} up")
        for number, name in enumerate(self._namespaces):
            ip(f"netns add {name}")
            ip(f"link add {name} type veth peer name eth0 netns {name}")
            ip(f"link set {name} master {self._bridge} up")
            ip(f"-n {name} addr add {self.address(number)}/24 dev eth0")
            ip(f"-n {name} link set eth0 up")
            ip(f"-n {name} link set lo up")

    def cut(self, number: int) -> None:
        ip(f"link set {self._namespaces[number]} down")

    def mend(self, number: int) -> None:
        ip(f"link set {self._namespaces[number]} up")

    def remove(self) -> None:
        for name in (*[f"netns del {one}" for one in self._namespaces], f"link del {self._bridge}"):
            subprocess.run(["ip", *name.split()], check=False, capture_output=True)


@pytest.fixture
async def network() -> AsyncGenerator[Network]:
    if not os.environ.get("TRIMPOINT_TEST_NAMESPACES"):
        pytest.skip("changes the addresses of this machine: TRIMPOINT_TEST_NAMESPACES=1 allows it")
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("network namespaces need root and iproute2")
    made = Network()
    try:
        try:
            made.make()
        except subprocess.CalledProcessError as error:
            pytest.skip(f"no network namespace can be made here: {error.stderr.decode().strip()}")
        yield made
    finally:
        made.remove()


@asynccontextmanager
async def cluster_in(network: Network, folder: Path) -> AsyncGenerator[Cluster]:
    cluster = Cluster(folder)
    routes = ", ".join(f'"nats://{network.address(number)}:6222"' for number in range(3))
    for number, server in enumerate(cluster.servers):
        server.address, server.port = network.address(number), 4222
        server.within = network.within(number)
        listen = f"{server.address}:6222"
        server.config = f'cluster {{ name: c, listen: "{listen}", routes: [{routes}] }}'
    try:
        for server in cluster.servers:
            await server.start()
        yield cluster
    finally:
        for server in cluster.servers:
            await server.kill()


def number_of(cluster: Cluster, server: Server) -> int:
    return cluster.servers.index(server)


async def test_no_event_is_missing_after_the_leader_and_then_another_were_cut_off(
    network: Network, tmp_path: Path
) -> None:
    async with cluster_in(network, tmp_path / "hub") as cluster:
        await make_streams(cluster.urls, NAMES, 3)
        async with (
            desk(tmp_path / "state", section(cluster.urls)) as one,
            anyio.create_task_group() as tasks,
        ):
            await one.begin()
            stop = anyio.Event()
            tasks.start_soon(says_all_the_time, one, stop)
            await until(lambda: one.mirror.counts.messages > 5)
            leader = number_of(cluster, await leader_of(cluster))
            for number in (leader, (leader + 1) % 3):
                network.cut(number)
                sent = one.mirror.counts.messages
                await until(lambda sent=sent: one.mirror.counts.messages > sent + 5)
                network.mend(number)
            stop.set()
            await until_mirrored(one, cluster.urls)


async def test_without_a_majority_nothing_is_taken_and_all_of_it_comes_later(
    network: Network, tmp_path: Path
) -> None:
    async with cluster_in(network, tmp_path / "hub") as cluster:
        await make_streams(cluster.urls, NAMES, 3)
        async with desk(tmp_path / "state", section(cluster.urls)) as one:
            await one.begin()
            await until_mirrored(one, cluster.urls)
            for number in (0, 1):
                network.cut(number)
            await one.say("to a minority", times=10)
            await until(lambda: one.mirror.behind > 0)
            sent = one.mirror.counts.events
            await anyio.sleep(3)
            assert one.mirror.counts.events == sent
            for number in (0, 1):
                network.mend(number)
            await until_mirrored(one, cluster.urls)
