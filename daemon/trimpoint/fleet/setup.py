"""Makes what a hub needs: its streams, and for a beginning its configuration and credentials."""

from trimpoint.fleet.hub import Hub
from trimpoint.fleet.names import Names
from trimpoint.fleet.presence import PRESENCE_TTL_S


async def make_streams(hub: Hub, names: Names, replicas: int) -> None:
    """Makes the stream and the buckets of a tenant where there are none.

    :raises HubFailed: they cannot be made.
    """
    await hub.make_stream(names.stream, names.all_events, replicas)
    await hub.make_bucket(names.threads_bucket, replicas)
    await hub.make_bucket(names.presence_bucket, replicas, PRESENCE_TTL_S)
