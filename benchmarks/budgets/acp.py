"""The agent for ACP editors with a running daemon: time until it has answered `initialize`, and its
memory.
"""

import json
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.daemons import daemon
from benchmarks.measures import Figure, Outcome, Verdict, at_most
from benchmarks.processes import rss_mib
from benchmarks.programs import flooding_codex
from benchmarks.stage import Bench


class Started(NamedTuple):
    """An initialized agent; `ready_s` is the time since its start, in seconds."""

    pid: int
    ready_s: float


def run(stage: Bench) -> Outcome:
    """Starts agents one after the other on one daemon."""
    room = stage.room("acp")
    ready_ms: list[float] = []
    weight_mib: list[float] = []
    with daemon(room, flooding_codex.launcher(room)) as running:
        for _ in range(stage.sized(15, 3)):
            with _agent(running.socket, room / "state") as started:
                ready_ms.append(started.ready_s * 1000)
                weight_mib.append(rss_mib(started.pid))
    ready, weight = (
        Figure("trimpoint acp, to initialize", "ms", ready_ms),
        Figure("trimpoint acp, memory", "MiB", weight_mib),
    )
    return Outcome(
        [
            Verdict(
                "an editor's agent is ready",
                ready.median,
                at_most(400, "ms"),
                "wall clock from spawn to the answer, median",
            ),
            Verdict(
                "memory of an editor's agent",
                weight.median,
                at_most(30, "MiB"),
                "resident set after initialize, median",
            ),
        ],
        [ready, weight],
    )


@contextmanager
def _agent(socket: Path, state_dir: Path) -> Generator[Started]:
    places = ["--socket", str(socket), "--state-dir", str(state_dir)]
    began = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-m", "trimpoint", "acp", *places],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        params: dict[str, Any] = {"protocolVersion": 1}
        asked = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
        process.stdin.write(json.dumps(asked).encode() + b"\n")
        process.stdin.flush()
        answer: dict[str, Any] = json.loads(process.stdout.readline())
        assert answer["result"]["protocolVersion"] == 1
        yield Started(process.pid, time.perf_counter() - began)
        process.stdin.close()
