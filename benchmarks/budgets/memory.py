"""The memory that a client costs when it stops reading, and proof that other clients lose
nothing.
"""

import json
import socket
from collections.abc import Generator
from contextlib import contextmanager

from benchmarks.budgets.relay import receive_until_end
from benchmarks.daemons import Daemon, daemon
from benchmarks.measures import Figure, Outcome, Verdict, at_most
from benchmarks.processes import peak_rss_mib, reset_peak
from benchmarks.programs import flooding_codex
from benchmarks.stage import Bench
from benchmarks.wire import connected

OUTBOX_MIB = 16
STREAM_MIB, STREAM_MIB_QUICK = 100, 40


def run(stage: Bench) -> Outcome:
    """Alternates between a stream to one reading client, and the same stream with a second client
    that does not read.
    """
    deltas = (
        stage.sized(STREAM_MIB, STREAM_MIB_QUICK) * 1024 * 1024 // len(flooding_codex.delta_line())
    )
    room = stage.room("stalled")
    without: list[float] = []
    stalled: list[float] = []
    with daemon(room, flooding_codex.launcher(room), config=_CONFIG) as running:
        wire, reader = connected(running.socket)
        with reader:
            wire.request("thread/start", cwd="/tmp")
            for _ in range(stage.sized(5, 2)):
                without.append(_peak_mib(running, reader, deltas))
                with _stalled_client(running):
                    stalled.append(_peak_mib(running, reader, deltas))
    figures = [
        Figure("memory at most while one client reads", "MiB", without),
        Figure("… and another does not", "MiB", stalled),
    ]
    why = f"peaks of the resident set, the largest of each; the client's limit is {OUTBOX_MIB} MiB"
    growth_mib = figures[1].most - figures[0].most
    return Outcome(
        [Verdict("growth through a stalled client", growth_mib, at_most(OUTBOX_MIB, "MiB"), why)],
        figures,
    )


_CONFIG = f"[limits]\nmax_outbox_bytes = {OUTBOX_MIB * 1024 * 1024}\n"


@contextmanager
def _stalled_client(running: Daemon) -> Generator[None]:
    wire, sock = connected(running.socket)
    with sock:
        wire.request("thread/resume", threadId=flooding_codex.THREAD_ID)
        yield


def _peak_mib(running: Daemon, reader: socket.socket, deltas: int) -> float:
    reset_peak(running.pid)
    _stream(reader, deltas)
    return peak_rss_mib(running.pid)


def _stream(reader: socket.socket, deltas: int) -> None:
    params = {
        "threadId": flooding_codex.THREAD_ID,
        "input": [{"type": "text", "text": str(deltas)}],
    }
    reader.sendall(
        json.dumps({"id": "turn", "method": "turn/start", "params": params}).encode() + b"\n"
    )
    receive_until_end([reader])
