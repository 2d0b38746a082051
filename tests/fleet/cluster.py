"""What tests of several servers ask of them."""

import anyio
from trimpoint.fleet.hub.connection import connected
from trimpoint.fleet.names import Names

from tests.fleet.servers import Cluster, Server
from tests.fleet.stage import Desk, place

NAMES = Names("default")


async def leader_of(cluster: Cluster) -> Server:
    """Returns the server that leads the stream of events."""
    async with connected(place(cluster.urls)) as hub:
        info = await vars(hub)["_js"].stream_info(NAMES.stream)
    assert info.cluster is not None
    return cluster.named(str(info.cluster.leader))


async def says_all_the_time(one: Desk, stop: anyio.Event) -> None:
    while not stop.is_set():
        await one.say("on and on", times=3)
        await anyio.sleep(0.005)
