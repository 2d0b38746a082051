"""Collects the daemon's metrics, with the names and kinds that Prometheus uses. No metric names a
thread or a client.

Each part of the daemon keeps its own counters, which are read when a client asks for the metrics.
"""

import os
import time
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from trimpoint_protocol.methods import MetricFamily, MetricKind, MetricSample

from trimpoint.gateway.profiles import RunningProfiles
from trimpoint.gateway.session.clients import Clients
from trimpoint.journal.storage.instrumented_files import InstrumentedFiles
from trimpoint.system import SYSTEM
from trimpoint.threads.activity import BOUNDS_S, Activity, Durations
from trimpoint.threads.registry import ThreadRegistry


class MetricSources(NamedTuple):
    """The parts of the daemon whose counters are collected."""

    registry: ThreadRegistry
    activity: Activity
    clients: Clients
    profiles: RunningProfiles
    files: InstrumentedFiles


class Metrics:
    """Collects the counters of `parts`."""

    def __init__(self, parts: MetricSources) -> None:
        self._parts = parts
        self._began = time.monotonic()

    def families(self) -> list[MetricFamily]:
        """Returns all metric families with their present values."""
        return [
            *self._clients(),
            *self._threads(),
            *self._journal(),
            *self._codex(),
            *self._process(),
        ]

    def _clients(self) -> Iterator[MetricFamily]:
        clients = self._parts.clients
        yield _gauge("trimpoint_clients", "Clients connected now.", len(clients))
        yield _counter(
            "trimpoint_clients_connected_total",
            "Clients connected since the start.",
            clients.roster.connected,
        )
        yield _counter(
            "trimpoint_clients_dropped_total",
            "Clients dropped because they did not read.",
            clients.roster.dropped,
        )
        yield _counter(
            "trimpoint_requests_total", "Requests from clients.", clients.roster.requests
        )
        yield _counter("trimpoint_sent_bytes_total", "Bytes sent to clients.", clients.sent_bytes)
        yield _gauge(
            "trimpoint_outbox_bytes",
            "Bytes queued for clients.",
            clients.queued_bytes,
        )
        yield _gauge(
            "trimpoint_questions_open",
            "Open questions of agents.",
            sum(len(profile.server_requests) for profile in self._parts.profiles),
        )

    def _threads(self) -> Iterator[MetricFamily]:
        registry, activity = self._parts.registry, self._parts.activity
        yield _gauge("trimpoint_threads", "Threads known.", len(registry.summaries))
        yield _gauge(
            "trimpoint_threads_loaded",
            "Threads in memory.",
            len(registry.loaded_writers()),
        )
        turns: dict[Labels, float] = {
            (("status", status),): count for status, count in activity.turns.items()
        }
        yield _family("trimpoint_turns_total", "counter", "Turns ended.", turns)
        ended: dict[Labels, float] = {
            (("kind", kind), ("outcome", outcome)): count
            for (kind, outcome), count in activity.operations.items()
        }
        yield _family("trimpoint_operations_total", "counter", "Operations ended.", ended)
        yield _phases(activity.phases)

    def _journal(self) -> Iterator[MetricFamily]:
        files = self._parts.files
        yield _counter("trimpoint_journal_syncs_total", "Waits for the disk.", files.syncs)
        yield _counter(
            "trimpoint_journal_sync_seconds_total",
            "Seconds spent waiting for the disk.",
            files.sync_s,
        )
        yield _counter(
            "trimpoint_journal_written_bytes_total",
            "Bytes written to the state directory.",
            files.written_bytes,
        )

    def _codex(self) -> Iterator[MetricFamily]:
        profiles = self._parts.profiles
        connected = [profile for profile in profiles if profile.link.peer is not None]
        totals = profiles.totals()
        yield _gauge("trimpoint_codex_up", "Whether Codex is connected.", bool(connected))
        yield _gauge(
            "trimpoint_codex_profiles",
            "Codex processes connected, one for each launch profile.",
            len(connected),
        )
        yield _counter("trimpoint_codex_starts_total", "Starts of Codex.", totals.starts)
        yield _counter("trimpoint_codex_messages_total", "Messages from Codex.", totals.messages)
        yield _counter("trimpoint_codex_bytes_total", "Bytes from Codex.", totals.size_bytes)

    def _process(self) -> Iterator[MetricFamily]:
        times = os.times()
        yield _gauge(
            "trimpoint_uptime_seconds",
            "Seconds since the daemon started.",
            time.monotonic() - self._began,
        )
        yield _counter(
            "process_cpu_seconds_total",
            "Processor seconds of the daemon.",
            times.user + times.system,
        )
        if (resident := SYSTEM.resident_bytes()) is not None:
            yield _gauge(
                "process_resident_memory_bytes",
                "Resident memory of the daemon, in bytes.",
                resident,
            )
        if (descriptors := SYSTEM.open_descriptors()) is not None:
            yield _gauge("process_open_fds", "Open file descriptors.", descriptors)


Labels = tuple[tuple[str, str], ...]


def _gauge(name: str, description: str, value: float) -> MetricFamily:
    return _family(name, "gauge", description, {(): value})


def _counter(name: str, description: str, value: float) -> MetricFamily:
    return _family(name, "counter", description, {(): value})


def _family(
    name: str, kind: MetricKind, description: str, values: Mapping[Labels, float]
) -> MetricFamily:
    samples = [_sample(name, labels, value) for labels, value in values.items()]
    return MetricFamily(name=name, kind=kind, help=description, samples=samples)


def _sample(name: str, labels: Labels, value: float) -> MetricSample:
    return MetricSample(name=name, labels=dict(labels), value=float(value))


def _phases(phases: Mapping[tuple[str, str], Durations]) -> MetricFamily:
    name = "trimpoint_operation_phase_seconds"
    samples: list[MetricSample] = []
    for (kind, phase), durations in phases.items():
        labels = (("kind", kind), ("phase", phase))
        for bound, count in zip((*map(str, BOUNDS_S), "+Inf"), durations.cumulative, strict=True):
            samples.append(_sample(f"{name}_bucket", (*labels, ("le", bound)), count))
        samples.append(_sample(f"{name}_count", labels, durations.cumulative[-1]))
        samples.append(_sample(f"{name}_sum", labels, durations.total_s))
    return MetricFamily(
        name=name,
        kind="histogram",
        help="Duration of each phase of an operation.",
        samples=samples,
    )
