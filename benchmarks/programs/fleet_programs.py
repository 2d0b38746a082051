"""The programs that `benchmarks/budgets/fleet.py` runs as separate processes. Each prints its time,
its processor time in seconds, its peak memory in MiB, and its own counts.
"""

import resource
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import quantiles
from typing import TYPE_CHECKING, Any

import anyio
from trimpoint.config.sections import FleetSection
from trimpoint.core.model import commands as internal
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Policy
from trimpoint.fleet.names import Names
from trimpoint.journal.storage.directory import StateDirectory
from trimpoint.threads.registry import ThreadRegistry

if TYPE_CHECKING:  # what a daemon without a fleet does not import, the program without one must not
    from trimpoint.fleet.service import Fleet

THREAD = "01900000-0000-7000-8000-000000000001"
NAMES = Names("default")
EVENT = b'{"events":[%b]}' % (b'{"sequence":1,"payload":{"text":"%b"}}' % (b"x" * 150))


def main() -> None:
    """Runs the program that the command line names."""
    programs: dict[str, Any] = {
        "write": write, "hosts": hosts, "fill": fill, "catch-up": catch_up,
    }  # fmt: skip
    began = time.perf_counter()
    extra, began_inside = anyio.run(programs[sys.argv[1]], *sys.argv[2:])
    seconds = time.perf_counter() - (began_inside or began)
    used = resource.getrusage(resource.RUSAGE_SELF)
    status = Path("/proc/self/status").read_text()
    peak_mib = int(status.partition("VmHWM:")[2].split()[0]) / 1024
    print(seconds, used.ru_utime + used.ru_stime, peak_mib, *extra)


@asynccontextmanager
async def _daemon(state: str, url: str) -> AsyncGenerator[tuple[ThreadRegistry, "Fleet | None"]]:
    """Yields a registry, and a fleet if a hub is named."""
    store = StateDirectory(Path(state))
    async with (
        ThreadRegistry.running(store, Policy()) as registry,
        anyio.create_task_group() as tasks,
    ):
        fleet = None
        if url:
            from trimpoint.fleet.service import Fleet, FleetDeps

            unused: Any = None
            deps = FleetDeps(registry, store.journal_path, unused, unused)
            fleet = Fleet(FleetSection(servers=(url,), host="bench"), "bench", deps, tasks)
            tasks.start_soon(fleet.run)
        yield registry, fleet
        registry.close()
        tasks.cancel_scope.cancel()


async def _speak(registry: ThreadRegistry, events: int) -> int:
    # With a provider thread it has no open operation, so the next daemon does not load it.
    writer = await registry.create(
        internal.CreateThread(
            thread_id=THREAD,
            cwd="/w",
            origin="adopted",
            settings=b"{}",
            provider_thread_id=THREAD,
        )
    )
    for number in range(events // 3):
        turn = f"turn-{number}"
        writer.record_facts(ev.TurnStarted(turn, 0))
        writer.record_facts(ev.EntryRecorded(turn, f"{turn}-e", "message", "user", "x" * 150))
        writer.record_facts(ev.TurnCompleted(turn, "completed"))
        if number % 100 == 99:
            await writer.flush()
    await writer.flush()
    return writer.state.thread_sequence


async def _sent(fleet: "Fleet") -> None:
    # Not until so many are counted: what was stored without an answer in time is not.
    while fleet.mirror.behind or not fleet.mirror.counts.events:  # noqa: ASYNC110
        await anyio.sleep(0.02)


async def write(state: str, url: str, events: str) -> tuple[list[float], float]:
    """Writes events; with a hub, waits until the hub has them all."""
    if url:
        await _make(url)
    began = time.perf_counter()
    async with _daemon(state, url) as (registry, fleet):
        await _speak(registry, int(events))
        if fleet is not None:
            await _sent(fleet)
    return [], began


async def fill(state: str, events: str) -> tuple[list[float], float]:
    """Writes a journal."""
    async with _daemon(state, "") as (registry, _):
        return [await _speak(registry, int(events))], 0.0


async def catch_up(state: str, url: str) -> tuple[list[float], float]:
    """Sends a journal to an empty hub."""
    await _make(url)
    began = time.perf_counter()
    async with _daemon(state, url) as (_, fleet):
        assert fleet is not None
        await _sent(fleet)
        return [fleet.mirror.counts.events], began


async def hosts(url: str, count: str, seconds: str) -> tuple[list[float], float]:
    """Sends events as mirrors do: those since the last acknowledgement, in one message."""
    from trimpoint.fleet.hub.connection import LAST_SUBJECT_SEQUENCE, Place, connected

    await _make(url)
    lags: list[float] = []
    began = time.perf_counter()

    async def host(number: int) -> None:
        place = Place((url,), None, f"_INBOX.h{number}", f"h{number}")
        subject, last = NAMES.events(f"h{number}", "t"), 0
        async with connected(place) as hub:
            due = time.perf_counter() + number / int(count) / 10
            end = due + float(seconds)
            while due < end:
                await anyio.sleep(max(0, due - time.perf_counter()))
                waiting: list[float] = []
                while due <= time.perf_counter():
                    waiting.append(due)
                    due += 0.1
                last = await hub.store(
                    subject, EVENT * len(waiting), {LAST_SUBJECT_SEQUENCE: str(last)}
                )
                lags.extend(1000 * (time.perf_counter() - one) for one in waiting)

    async with anyio.create_task_group() as tasks:
        for number in range(int(count)):
            tasks.start_soon(host, number)
            await anyio.sleep(0.005)
    cuts = quantiles(lags, n=100)
    return [cuts[49], cuts[98], len(lags)], began


async def _make(url: str) -> None:
    from trimpoint.fleet.hub.connection import Place, connected
    from trimpoint.fleet.setup import make_streams

    async with connected(Place((url,), None, "_INBOX.admin", "admin")) as hub:
        await make_streams(hub, NAMES, 1)
