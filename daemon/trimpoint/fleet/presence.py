"""Publishes that this host is connected, and an overview of each of its threads.

A presence entry expires some seconds after the host stopped writing it. An overview stays; it is
written when the thread has changed.
"""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

import anyio
import msgspec
import structlog
from trimpoint_protocol.methods import ThreadOverview
from trimpoint_protocol.shapes.fleet import FleetThread, HostPresence

from trimpoint import __version__
from trimpoint.core.model import events as ev
from trimpoint.fleet.content import Content
from trimpoint.fleet.hub.connection import Hub
from trimpoint.fleet.hub.errors import HubFailed
from trimpoint.fleet.mirror import Mirror, Threads
from trimpoint.fleet.names import Names, token_of

log = structlog.get_logger()

HEARTBEAT_S = 10.0
PRESENCE_TTL_S = 30.0
OVERVIEWS_S = 1.0
"""How often the overviews of changed threads are written."""


class Host(NamedTuple):
    """The name of this host, and the content that it may publish. `since` is the time when the
    daemon started.
    """

    name: str
    names: Names
    content: Content
    since: str


class Presence:
    """Publishes presence and overviews. `on_record` is a listener of the registry; `run` works
    while a connection lasts.
    """

    def __init__(
        self,
        host: Host,
        threads: Threads,
        overview: Callable[[str], Awaitable[ThreadOverview | None]],
        mirror: Mirror,
        now: Callable[[], str],
    ) -> None:
        self._host = host
        self._threads = threads
        self._overview = overview
        self._mirror = mirror
        self._now = now
        self._changed: dict[str, None] = {}
        self._busy: set[str] = set()

    def on_record(self, thread_id: str, record: ev.Record) -> None:
        """Marks a thread that has changed."""
        self._changed[thread_id] = None

    async def run(self, hub: Hub) -> None:
        """Writes presence and overviews until it is cancelled."""
        self._changed.update(dict.fromkeys(self._threads.summaries))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._beat, hub)
            tasks.start_soon(self._write_overviews, hub)

    async def _beat(self, hub: Hub) -> None:
        host = self._host
        while True:
            present = HostPresence(
                host=host.name,
                version=__version__,
                since=host.since,
                at=self._now(),
                content=host.content,
                threads=len(self._threads.summaries),
                busy=len(self._busy),
                behind=self._mirror.behind,
                not_mirrored=len(self._mirror.refused),
            )
            await _store(hub, host.names.presence(host.name), msgspec.json.encode(present))
            await anyio.sleep(HEARTBEAT_S)

    async def _write_overviews(self, hub: Hub) -> None:
        host = self._host
        while True:
            for thread_id in list(self._changed):
                self._changed.pop(thread_id, None)
                overview = await self._overview(thread_id)
                if overview is None:
                    continue
                subject = host.names.overview(host.name, token_of(thread_id))
                line = msgspec.json.encode(self._line(overview))
                if not await _store(hub, subject, line):
                    self._changed[thread_id] = None
                    break
            await anyio.sleep(OVERVIEWS_S)

    def _line(self, overview: ThreadOverview) -> FleetThread:
        if overview.busy is None:
            self._busy.discard(overview.id)
        else:
            self._busy.add(overview.id)
        context, with_titles = overview.context, self._host.content != "none"
        return FleetThread(
            id=overview.id,
            archived=overview.archived,
            updated_at=overview.updated_at,
            generation=overview.generation,
            # "turn: running"; what follows the kind can name a method or a command.
            busy=None if overview.busy is None else overview.busy.partition(":")[0],
            level=context.level if context is not None else None,
            used_tokens=context.used_tokens if context is not None else None,
            window_tokens=context.window_tokens if context is not None else None,
            percent=context.percent if context is not None else None,
            turns=overview.turns,
            trims=overview.trims,
            compactions=overview.compactions,
            title=overview.name if with_titles else None,
            cwd=overview.cwd if with_titles else None,
            asks=overview.asks is not None,
        )


async def _store(hub: Hub, subject: str, data: bytes) -> bool:
    try:
        await hub.store(subject, data)
    except HubFailed as error:
        log.debug("presence_delayed", subject=subject, detail=error.detail)
        return False
    return True
