"""The load of the soak: conversations that are cleared, compacted, replaced and abandoned, a Codex
that is killed, clients that connect and disconnect.
"""

import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from benchmarks.daemons import Daemon, RealCodex
from benchmarks.processes import open_files, rss_mib
from benchmarks.soak.samples import Sample
from benchmarks.wire import JsonRpcClient, Refused

# So that threads which are left leave memory within a round or two.
MAX_IDLE = 4
CONFIG = f"[threads]\nevict_after_s = 1.0\nmax_idle = {MAX_IDLE}\n"
REQUESTS_A_SAMPLE = 20
KILL_EVERY, NEW_EVERY, SAMPLE_EVERY = 4, 3, 2


class Life:
    """The load on one daemon. `lived` counts what was done."""

    def __init__(self, daemon: Daemon, codex: RealCodex, room: Path) -> None:
        self.lived: Counter[str] = Counter()
        self.samples: list[Sample] = []
        self._daemon = daemon
        self._codex = codex
        self._room = room
        self._turn_ms: list[float] = []
        self._clear_ms: list[float] = []

    def live(self, goes_on: Callable[["Life"], bool]) -> None:
        """Runs rounds, each with a client of its own, while `goes_on` returns true."""
        while goes_on(self):
            with self._daemon.client() as client:
                self._round(client)
            self.lived["clients"] += 1
            self.lived["rounds"] += 1
            # What the model was asked is of no use any more.
            self._codex.model.requests.clear()
            if self.lived["rounds"] % SAMPLE_EVERY == 0:
                self._sample()

    def _round(self, client: JsonRpcClient) -> None:
        thread_id = client.start_thread(self._room)["id"]
        self._turns(client, thread_id, 5)
        self._command(client, thread_id, "/clear 2")
        self._turns(client, thread_id, 2)
        self._command(client, thread_id, "/compact --force")
        with self._second_client(thread_id):
            self._turns(client, thread_id, 2)
        if self.lived["rounds"] % KILL_EVERY == KILL_EVERY - 1:
            self._kill_codex(client)
            self._turns(client, thread_id, 1)
        self._command(client, thread_id, "/clear")
        if self.lived["rounds"] % NEW_EVERY == NEW_EVERY - 1:
            thread_id = self._command(client, thread_id, "/new")["newThreadId"]
            self._turns(client, thread_id, 1)
        client.request("thread/unsubscribe", threadId=thread_id)

    def _turns(self, client: JsonRpcClient, thread_id: str, how_many: int) -> None:
        for _ in range(how_many):
            began = time.perf_counter()
            client.turn(thread_id, "What does this do?")
            self._turn_ms.append((time.perf_counter() - began) * 1000)
            self.lived["turns"] += 1

    def _command(self, client: JsonRpcClient, thread_id: str, text: str) -> dict[str, Any]:
        began = time.perf_counter()
        outcome = client.request("commands/execute", threadId=thread_id, text=text)
        if outcome["status"] != "completed":
            raise RuntimeError(f"{text} was not carried out: {outcome}")
        name = text.split()[0]
        if name == "/clear":
            self._clear_ms.append((time.perf_counter() - began) * 1000)
        self.lived[name] += 1
        return outcome

    @contextmanager
    def _second_client(self, thread_id: str) -> Generator[None]:
        with self._daemon.client() as other:
            other.request("thread/resume", threadId=thread_id)
            other.request("orchestration/subscribeThread", threadId=thread_id)
            self.lived["clients"] += 1
            yield

    def _kill_codex(self, client: JsonRpcClient) -> None:
        os.kill(self._codex_pid(), signal.SIGKILL)
        self.lived["deaths of Codex"] += 1
        while True:
            try:
                client.request("thread/loaded/list")
            except Refused:
                continue
            return

    def _codex_pid(self) -> int:
        [record] = (self._room / "state").glob("child-*")
        return int(msgspec.json.decode(record.read_bytes())["pid"])

    def _sample(self) -> None:
        with self._daemon.client() as client:
            loaded = int(_metric(client, "trimpoint_threads_loaded"))
            taken_ms = [_timed(client) for _ in range(REQUESTS_A_SAMPLE)]
        pid = self._daemon.pid
        self.samples.append(
            Sample(
                turns=self.lived["turns"],
                rss_mib=rss_mib(pid),
                open_files=open_files(pid) - loaded,
                request_ms=median(taken_ms),
                turn_ms=median(self._turn_ms),
                clear_ms=median(self._clear_ms),
                threads_loaded=loaded,
                codex_rss_mib=rss_mib(self._codex_pid()),
            )
        )
        self._turn_ms.clear()
        self._clear_ms.clear()


def _timed(client: JsonRpcClient) -> float:
    began = time.perf_counter()
    client.request("collaborationMode/list")
    return (time.perf_counter() - began) * 1000


def _metric(client: JsonRpcClient, name: str) -> float:
    families = client.request("sidecar/metrics")["families"]
    return next(
        float(sample["value"])
        for family in families
        for sample in family["samples"]
        if sample["name"] == name
    )
