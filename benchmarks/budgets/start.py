"""The start of a daemon with ten thousand idle threads compared with none: time until it is ready,
and memory.
"""

import anyio

from benchmarks.daemons import Daemon, daemon
from benchmarks.measures import Figure, Outcome, Verdict, at_most
from benchmarks.processes import rss_mib
from benchmarks.programs import flooding_codex
from benchmarks.stage import Bench
from benchmarks.threads import fill_with_idle

IDLE, IDLE_QUICK = 10_000, 1_000


def run(stage: Bench) -> Outcome:
    """Starts both kinds of daemon alternately."""
    idle, repeats = stage.sized(IDLE, IDLE_QUICK), stage.sized(7, 2)
    full, empty = stage.room("full"), stage.room("empty")
    anyio.run(fill_with_idle, full / "state", idle)
    ready_s: dict[int, list[float]] = {0: [], idle: []}
    weight_mib: dict[int, list[float]] = {0: [], idle: []}
    for _ in range(repeats):
        for room, threads in ((empty, 0), (full, idle)):
            with daemon(room, flooding_codex.launcher(room)) as running:
                ready_s[threads].append(running.ready_s)
                weight_mib[threads].append(_settled_mib(running))
    starts = [
        Figure(f"start with {_threads(threads)}", "ms", [s * 1000 for s in taken])
        for threads, taken in ready_s.items()
    ]
    weights = [
        Figure(f"memory with {_threads(threads)}", "MiB", taken)
        for threads, taken in weight_mib.items()
    ]
    each_kib = (weights[1].median - weights[0].median) * 1024 / idle
    return Outcome(
        [
            Verdict(
                f"start with {_threads(idle)} : with none",
                starts[1].median / starts[0].median,
                at_most(2, "×"),
                _FROM_SPAWN,
            ),
            Verdict(
                "memory, idle",
                weights[0].median,
                at_most(60, "MiB"),
                "resident set, one client and Codex connected",
            ),
            Verdict(
                "memory of an idle thread on disk",
                each_kib,
                at_most(4, "KiB"),
                "resident set, the difference of the two",
            ),
        ],
        [*starts, *weights],
    )


_FROM_SPAWN = "wall clock from spawn to listening, medians"


def _settled_mib(running: Daemon) -> float:
    """Returns the memory in MiB after a client has connected and Codex has answered it."""
    with running.client() as client:
        client.request("thread/loaded/list")
        client.request("sidecar/status")
        return rss_mib(running.pid)


def _threads(how_many: int) -> str:
    return f"{how_many:,} threads" if how_many else "no threads"
