"""The fleet: the cost of the mirror for a daemon, the delay with 500 hosts, and the time to mirror
a million events. The NATS server runs on this machine.

Each measurement runs in a process of its own, so that memory and processor time are those of the
measurement.
"""

import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from benchmarks.measures import Figure, Outcome, Verdict, at_least, at_most
from benchmarks.stage import Bench

DEADLINE_S = 900
PROGRAM = "from benchmarks.programs.fleet_programs import main; main()"


class Ran(NamedTuple):
    """The measurements that a program printed."""

    seconds: float
    core_seconds: float
    peak_mib: float
    extra: list[float]


def run_cost(stage: Bench) -> Outcome:
    """Writes events to threads with and without the mirror."""
    events = stage.sized(100_000, 5_000)
    with _server(stage.room("fleet-cost")) as url:
        bare = _ran("write", str(stage.room("bare")), "", str(events))
        mirrored = _ran("write", str(stage.room("mirrored")), url, str(events))
    per_event = [1e6 * (mirrored.core_seconds - bare.core_seconds) / events]
    memory = [mirrored.peak_mib - bare.peak_mib]
    return Outcome(
        [
            Verdict("processor time", per_event[0], at_most(200, "µs an event"), "added by it"),
            Verdict("memory", memory[0], at_most(40, "MiB"), "added by it, nats included"),
        ],
        [
            Figure("processor time without the mirror", "s", [bare.core_seconds]),
            Figure("processor time with the mirror", "s", [mirrored.core_seconds]),
            Figure("most memory without the mirror", "MiB", [bare.peak_mib]),
            Figure("most memory with the mirror", "MiB", [mirrored.peak_mib]),
        ],
    )


def run_lag(stage: Bench) -> Outcome:
    """Has many hosts send ten events a second each, as mirrors do."""
    hosts, seconds = stage.sized(500, 50), stage.sized(20, 3)
    with _server(stage.room("fleet-lag")) as url:
        ran = _ran("hosts", url, str(hosts), str(seconds))
    p50, p99, sent = ran.extra
    figures = [
        Figure(f"{hosts} hosts: from event to acknowledgement, p50", "ms", [p50]),
        Figure("the same, p99", "ms", [p99]),
        Figure("events acknowledged", "events/s", [sent / ran.seconds]),
    ]
    return Outcome(
        [Verdict("lag", p99, at_most(5_000, "ms"), "p99, all hosts in one process")], figures
    )


def run_catch_up(stage: Bench) -> Outcome:
    """Sends a journal to a hub that has nothing of it."""
    events = stage.sized(1_000_000, 20_000)
    state = stage.room("fleet-catch-up")
    with _server(stage.room("fleet-hub")) as url:
        _ran("fill", str(state), str(events))
        ran = _ran("catch-up", str(state), url)
    rate = ran.extra[0] / ran.seconds
    figures = [
        Figure(f"{events:,} events of one thread", "s", [ran.seconds]),
        Figure("most memory", "MiB", [ran.peak_mib]),
    ]
    return Outcome(
        [
            Verdict("catching up", rate, at_least(5_000, "events/s"), "wall clock"),
            Verdict("memory", ran.peak_mib, at_most(120, "MiB"), "most that was resident"),
        ],
        figures,
    )


def _ran(*words: str) -> Ran:
    command = [sys.executable, "-c", PROGRAM, *words]
    done = subprocess.run(command, capture_output=True, check=True, text=True, timeout=DEADLINE_S)
    seconds, core_seconds, peak_mib, *extra = map(float, done.stdout.splitlines()[-1].split())
    return Ran(seconds, core_seconds, peak_mib, extra)


@contextmanager
def _server(folder: Path) -> Generator[str]:
    """Runs a NATS server with JetStream and yields its address.

    :raises FileNotFoundError: when there is no `nats-server`.
    """
    beside = Path(sys.executable).parent / "nats-server"
    binary = str(beside) if beside.exists() else shutil.which("nats-server")
    if binary is None:
        raise FileNotFoundError("nats-server")
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
    command = [binary, "-a", "127.0.0.1", "-p", str(port), "-js", "-sd", str(folder)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while True:
            with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.05)
        yield f"nats://127.0.0.1:{port}"
    finally:
        server.kill()
        server.wait()
