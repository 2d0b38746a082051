"""Connects a daemon to its fleet, and reconnects while the daemon runs.

Always true: no other part of the daemon waits for the hub. Whatever the hub misses is in the
journals.
"""

import socket
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import anyio
import structlog
from anyio.abc import TaskGroup
from trimpoint_protocol.methods import ThreadOverview

from trimpoint.config.sections import FLEET_NAME, FleetSection, is_loopback
from trimpoint.core.model import events as ev
from trimpoint.core.model.clock import rfc3339
from trimpoint.fleet.batches import BatchReader
from trimpoint.fleet.commands.answering import Answering, LocalClient, Methods
from trimpoint.fleet.hub.connection import Hub, Place, connected
from trimpoint.fleet.hub.errors import HubFailed
from trimpoint.fleet.mirror import Mirror, Threads
from trimpoint.fleet.names import Names, inbox_of
from trimpoint.fleet.presence import Host, Presence
from trimpoint.gateway.methods.extension.thread_overviews import ThreadOverviews
from trimpoint.threads.registry import ThreadRegistry

log = structlog.get_logger()

PAUSES_S = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
"""Between attempts to connect; the last one again and again."""


class FleetDeps(NamedTuple):
    """The parts of the daemon that the fleet uses. `path_of` returns the path of a thread's
    journal.
    """

    registry: ThreadRegistry
    path_of: Callable[[str], Path]
    methods: Methods
    local_client: LocalClient


class Fleet:
    """A daemon's connection to its fleet; `run` works until it is cancelled."""

    def __init__(self, section: FleetSection, name: str, deps: FleetDeps, tasks: TaskGroup) -> None:
        registry = deps.registry
        names = Names(section.tenant)
        threads = Threads(registry.summaries, deps.path_of)
        self._section = section
        self._place = place_of(section, name, section.credentials)
        self._tasks = tasks
        self.mirror = Mirror(name, names, threads, BatchReader(section.content))
        overviews = ThreadOverviews(registry)

        async def overview(thread_id: str) -> ThreadOverview | None:
            summary = registry.summaries.get(thread_id)
            return None if summary is None else await overviews.of(summary)

        host = Host(name, names, section.content, _now())
        self._presence = Presence(host, threads, overview, self.mirror, _now)
        self._answering = Answering(name, names, deps.methods, registry, deps.local_client)
        registry.subscribe(self._on_record)

    async def run(self) -> None:
        """Connects, and reconnects after each failure, until it is cancelled."""
        if servers := unencrypted(self._section):
            log.warning("fleet_content_not_encrypted", servers=servers)
        attempt, said = 0, ""
        while True:
            try:
                async with connected(self._place) as hub:
                    log.info("fleet_connected", host=self._place.name)
                    attempt, said = 0, ""
                    await self._serve(hub)
                log.warning("fleet_disconnected", host=self._place.name)
            except Exception as error:
                # The boundary of one connection: whatever the hub sends, the daemon goes on.
                cause = _cause_of(error)
                if str(cause) != said:
                    said = str(cause)
                    is_expected = isinstance(cause, HubFailed | OSError | ValueError)
                    log.warning("fleet_not_connected", detail=said, exc_info=not is_expected)
            await anyio.sleep(PAUSES_S[min(attempt, len(PAUSES_S) - 1)])
            attempt += 1

    async def _serve(self, hub: Hub) -> None:
        async with anyio.create_task_group() as tasks:
            await self._answering.run(hub, self._tasks)
            tasks.start_soon(self.mirror.run, hub)
            tasks.start_soon(self._presence.run, hub)
            await hub.closed.wait()
            tasks.cancel_scope.cancel()

    def _on_record(self, thread_id: str, record: ev.Record) -> None:
        self.mirror.on_record(thread_id, record)
        self._presence.on_record(thread_id, record)


def _cause_of(error: Exception) -> Exception:
    """Returns the first error of those that a task group raised together."""
    raised: Sequence[Exception] = getattr(error, "exceptions", ())
    return _cause_of(raised[0]) if raised else error


def host_name(section: FleetSection) -> str:
    """Returns the configured name of this host, or that of the machine.

    :raises ValueError: when the machine's name contains characters that a subject must not have.
    """
    name = section.host or socket.gethostname().partition(".")[0]
    if not FLEET_NAME.fullmatch(name):
        raise ValueError(f"{name!r} cannot be a host's name in a fleet; set host in [fleet]")
    return name


def place_of(section: FleetSection, name: str, credentials: str | None) -> Place:
    """Returns the servers to connect to and the identity to use."""
    return Place(
        section.servers,
        credentials_path(credentials),
        inbox_of(name),
        name,
        Path(section.ca).expanduser() if section.ca is not None else None,
        section.domain,
    )


def credentials_path(configured: str | None) -> Path | None:
    """Returns the path of the configured credentials, or None."""
    return Path(configured).expanduser() if configured is not None else None


def unencrypted(section: FleetSection) -> list[str]:
    """Returns the servers of other machines to which conversations are sent and whose address does
    not have the connection encrypted.
    """
    if section.content != "full":
        return []
    return [server for server in section.servers if not _is_safe(server)]


def _is_safe(server: str) -> bool:
    url = urlsplit(server if "://" in server else f"nats://{server}")
    return url.scheme in ("tls", "wss") or is_loopback(url.hostname or "")


def _now() -> str:
    return rfc3339(time.time_ns() // 1_000_000)
