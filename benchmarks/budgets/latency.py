"""The additional latency of a request through the daemon, compared with a request to Codex
directly.
"""

import time

from benchmarks.daemons import real_codex
from benchmarks.measures import Figure, Outcome, Verdict, at_most
from benchmarks.stage import Bench
from benchmarks.wire import JsonRpcClient

# Answered out of Codex's memory, so that what is measured is the way there and back.
METHOD = "collaborationMode/list"
BLOCK = 100
SHARES = {"p50": 0.50, "p99": 0.99}


def run(stage: Bench) -> Outcome:
    """Sends blocks of requests both ways, alternately."""
    blocks = stage.sized(20, 4)
    connect_to_codex: list[list[float]] = []
    through: list[list[float]] = []
    with (
        real_codex() as codex,
        codex.app_server() as bare,
        codex.daemon(stage.room("latency")) as running,
        running.client() as client,
    ):
        for _ in range(blocks + 1):
            connect_to_codex.append(_timed(bare))
            through.append(_timed(client))
    # The first block of each warms up.
    figures = [
        *_figures("straight", connect_to_codex[1:]),
        *_figures("through the daemon", through[1:]),
    ]
    by = f"wall clock, {blocks * BLOCK:,} requests each way in turns of {BLOCK}"
    p50, p99 = (figures[2].median - figures[0].median, figures[3].median - figures[1].median)
    return Outcome(
        [
            Verdict("added latency, p50", p50, at_most(1, "ms"), by),
            Verdict("added latency, p99", p99, at_most(5, "ms"), by),
        ],
        figures,
    )


def _figures(way: str, blocks: list[list[float]]) -> list[Figure]:
    taken_ms = [sample for block in blocks for sample in block]
    return [
        Figure(f"{METHOD}, {way}, {name}", "ms", [_percentile(taken_ms, share)])
        for name, share in SHARES.items()
    ]


def _timed(wire: JsonRpcClient) -> list[float]:
    taken_ms: list[float] = []
    for _ in range(BLOCK):
        began = time.perf_counter()
        wire.request(METHOD)
        taken_ms.append((time.perf_counter() - began) * 1000)
    return taken_ms


def _percentile(samples: list[float], share: float) -> float:
    return sorted(samples)[min(int(len(samples) * share), len(samples) - 1)]
