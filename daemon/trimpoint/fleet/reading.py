"""Reads hosts, threads and events from the hub, as a person. Needs no daemon."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import NamedTuple

import msgspec
from trimpoint_protocol.readmodel import EventEnvelope
from trimpoint_protocol.shapes.fleet import FleetThread, HostPresence

from trimpoint.fleet.batches import Message
from trimpoint.fleet.hub.connection import Hub
from trimpoint.fleet.hub.messages import Stored
from trimpoint.fleet.names import Names, bucket_stream, host_and_thread, token_of


class ThreadOfHost(NamedTuple):
    """A thread and its host."""

    host: str
    thread: FleetThread


class EventOfHost(NamedTuple):
    """An event, its host and its thread."""

    host: str
    thread_id: str
    event: EventEnvelope


async def hosts(hub: Hub, names: Names) -> list[HostPresence]:
    """Returns the connected hosts, ordered by name.

    :raises HubFailed: when they cannot be read.
    """
    found: dict[str, HostPresence] = {}
    async for stored in _latest(hub, bucket_stream(names.presence_bucket), names.presence("*")):
        one = msgspec.json.decode(stored.data, type=HostPresence)
        found[one.host] = one
    return [found[name] for name in sorted(found)]


async def threads(hub: Hub, names: Names, host: str = "*") -> list[ThreadOfHost]:
    """Returns the overviews of all threads, including those of hosts that are not connected, the
    newest first.

    :raises HubFailed: when they cannot be read.
    """
    subject = names.overview(host, "*")
    found: dict[str, ThreadOfHost] = {}
    async for stored in _latest(hub, bucket_stream(names.threads_bucket), subject):
        of_host, _ = host_and_thread(stored.subject)
        found[stored.subject] = ThreadOfHost(
            of_host, msgspec.json.decode(stored.data, type=FleetThread)
        )
    return sorted(found.values(), key=lambda one: one.thread.updated_at, reverse=True)


async def events_of(
    hub: Hub, names: Names, host: str, thread_id: str
) -> AsyncGenerator[EventEnvelope]:
    """Yields the events of one thread, the oldest first.

    :raises HubFailed: when they cannot be read.
    """
    subject, last = names.events(host, token_of(thread_id)), 0
    async with aclosing(hub.existing(names.stream, subject)) as messages:
        async for stored in messages:
            for event in decode(stored.data):
                if event.thread_sequence > last:
                    last = event.thread_sequence
                    yield event


async def new_events(hub: Hub, names: Names, host: str = "*") -> AsyncGenerator[EventOfHost]:
    """Yields events as they arrive, without end.

    :raises HubFailed: when they can no longer be read.
    """
    async with aclosing(hub.coming(names.stream, names.events(host, "*"))) as messages:
        async for stored in messages:
            of_host, thread_id = host_and_thread(stored.subject)
            for event in decode(stored.data):
                yield EventOfHost(of_host, thread_id, event)


def decode(data: bytes) -> list[EventEnvelope]:
    """Decodes the events of a message."""
    return msgspec.json.decode(data, type=Message).events


def _latest(hub: Hub, stream: str, subject: str) -> AsyncGenerator[Stored]:
    return hub.existing(stream, subject, "last_per_subject")
