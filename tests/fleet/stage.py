"""A daemon's threads without Codex, and their mirror on the hub."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import anyio
from trimpoint.config.sections import FleetSection
from trimpoint.core.model import commands as internal
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Policy
from trimpoint.fleet import setup
from trimpoint.fleet.hub.connection import Place, connected
from trimpoint.fleet.hub.errors import HubFailed
from trimpoint.fleet.mirror import Mirror
from trimpoint.fleet.names import Names
from trimpoint.fleet.reading import events_of
from trimpoint.fleet.service import Fleet, FleetDeps
from trimpoint.journal.codec.records import decode_record
from trimpoint.journal.storage.directory import StateDirectory
from trimpoint.threads.registry import ThreadRegistry
from trimpoint_protocol.readmodel import EventEnvelope

from tests.deadlines import STEP_S

HOST = "desk"
THREAD = "01900000-0000-7000-8000-000000000001"
OTHER = "01900000-0000-7000-8000-000000000002"
SECRET = "xylophone"


class IdleGateway:
    """A gateway that has nothing to cancel, and is not called for anything else."""

    async def call_extension(self, method: str, params: object, call: object) -> bytes:
        assert method == "commands/cancel", method
        return b'{"cancelled":false}'


def section(url: str | tuple[str, ...], host: str = HOST, **settings: object) -> FleetSection:
    servers = (url,) if isinstance(url, str) else url
    return FleetSection(servers=servers, host=host, **settings)  # type: ignore[arg-type]


def place(
    url: str | tuple[str, ...], name: str = "admin", credentials: Path | None = None
) -> Place:
    servers = (url,) if isinstance(url, str) else url
    return Place(servers, credentials, f"_INBOX.{name}", name)


async def make_streams(
    url: str | tuple[str, ...],
    names: Names,
    replicas: int = 1,
    credentials: Path | None = None,
) -> None:
    """Makes the streams as `trimpoint fleet setup` does. A new cluster is not ready for some
    seconds.
    """
    async with connected(place(url, "admin", credentials)) as hub:
        with anyio.fail_after(STEP_S):
            while True:
                try:
                    return await setup.make_streams(hub, names, replicas)
                except HubFailed:
                    await anyio.sleep(0.1)


class Desk(NamedTuple):
    """A registry on disk with a running fleet service."""

    registry: ThreadRegistry
    store: StateDirectory
    fleet: Fleet

    @property
    def mirror(self) -> Mirror:
        return self.fleet.mirror

    async def begin(self, thread_id: str = THREAD) -> None:
        await self.registry.create(
            internal.CreateThread(thread_id=thread_id, cwd="/w", origin="started", settings=b"{}")
        )

    async def say(self, text: str, thread_id: str = THREAD, times: int = 1) -> None:
        """Records turns with a prompt each; they are durable on return."""
        writer = await self.registry.thread(thread_id)
        for number in range(times):
            turn = f"turn-{writer.state.thread_sequence}-{number}"
            writer.record_facts(ev.TurnStarted(turn, 0))
            writer.record_facts(ev.EntryRecorded(turn, f"{turn}-e", "message", "user", text))
            writer.record_facts(ev.TurnCompleted(turn, "completed"))
        await writer.flush()

    async def journaled(self, thread_id: str = THREAD) -> list[tuple[int, int, str]]:
        """Returns the number in the thread, the number in the daemon, and the type of each
        event.
        """
        records = [decode_record(one) for one in await self.store.read_journal(thread_id)]
        return [
            (record.thread_sequence + at, record.sequence + at, str(event.__struct_config__.tag))
            for record in records
            for at, event in enumerate(record.events)
        ]


@asynccontextmanager
async def desk(state_dir: Path, settings: FleetSection) -> AsyncGenerator[Desk]:
    store = StateDirectory(state_dir)
    with store.lock():
        async with (
            ThreadRegistry.running(store, Policy()) as registry,
            anyio.create_task_group() as tasks,
        ):
            deps = FleetDeps(registry, store.journal_path, IdleGateway(), no_client)  # type: ignore[arg-type]
            fleet = Fleet(settings, str(settings.host), deps, tasks)
            tasks.start_soon(fleet.run)
            yield Desk(registry, store, fleet)
            registry.close()
            tasks.cancel_scope.cancel()


def no_client() -> object:
    raise AssertionError


async def mirrored(
    url: str | tuple[str, ...], thread_id: str = THREAD, host: str = HOST, tenant: str = "default"
) -> list[EventEnvelope]:
    """Returns the hub's events of a thread, in stored order."""
    async with connected(place(url)) as hub:
        return [event async for event in events_of(hub, Names(tenant), host, thread_id)]


def places(events: list[EventEnvelope]) -> list[tuple[int, int, str]]:
    return [(event.thread_sequence, event.sequence, event.type) for event in events]


async def until(is_so: Callable[[], bool]) -> None:
    """Waits until a condition is true that sends no notification."""
    with anyio.fail_after(STEP_S):
        while not is_so():  # noqa: ASYNC110
            await anyio.sleep(0.02)


async def until_mirrored(
    desk: Desk, url: str | tuple[str, ...], thread_id: str = THREAD, host: str = HOST
) -> list[EventEnvelope]:
    """Waits until the mirror equals the journal, which may still grow, and returns the mirror."""
    expected, found = list[tuple[int, int, str]](), list[EventEnvelope]()
    try:
        with anyio.fail_after(STEP_S):
            while True:
                try:
                    found = await mirrored(url, thread_id, host)
                except HubFailed:
                    found = []
                expected = await desk.journaled(thread_id)
                if places(found) == expected:
                    return found
                await anyio.sleep(0.05)
    except TimeoutError:
        problem = f"{len(expected)} events in the journal, {len(found)} on the hub"
        raise AssertionError(f"{problem}; {desk.mirror.behind} threads behind") from None
