"""A cluster and many daemons, all killed at random; then the mirrors are compared with the
journals. `scripts/chaos-fleet` runs it for any length of time.

 python -m tests.fleet.chaos [--daemons 20] [--minutes 10] [--seed N]
"""

import argparse
import random
import signal
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import anyio
from anyio.abc import Process
from trimpoint.fleet.hub.errors import HubFailed
from trimpoint.fleet.names import Names
from trimpoint.journal.codec.records import decode_record
from trimpoint.journal.storage.directory import StateDirectory

from tests.deadlines import SCENARIO_S
from tests.fleet.servers import Cluster, running_cluster
from tests.fleet.stage import desk, make_streams, mirrored, section

THREADS = 3
ROOT = Path(__file__).parents[2]


class Plan(NamedTuple):
    daemons: int
    seconds: float
    seed: int


class Outcome(NamedTuple):
    """The result. `wrong` names threads whose mirror differs from the journal."""

    events: int
    threads: int
    killed_servers: int
    killed_daemons: int
    wrong: list[str]


def thread_of(number: int) -> str:
    return f"01900000-0000-7000-8000-{number:012d}"


async def live(state: str, host: str, talks: str, *urls: str) -> None:
    """Runs a daemon without Codex that records turns at random until it is killed."""
    rng = random.Random()
    async with desk(Path(state), section(urls, host)) as one:
        for number in range(THREADS):
            if thread_of(number) not in one.registry.summaries:
                await one.begin(thread_of(number))
        while talks == "talks":
            await one.say("x" * rng.randrange(2000), thread_of(rng.randrange(THREADS)), 2)
            await anyio.sleep(rng.random() * 0.2)
        await anyio.sleep_forever()


class Chaos:
    """Kills daemons and servers, and starts them again. `folder` holds their disks."""

    def __init__(self, folder: Path, cluster: Cluster, plan: Plan) -> None:
        self.folder, self.cluster, self.plan = folder, cluster, plan
        self.rng = random.Random(plan.seed)
        self.daemons: dict[int, Process] = {}
        self.killed_servers = self.killed_daemons = 0

    def state(self, number: int) -> Path:
        return self.folder / f"state-{number}"

    async def start(self, number: int, talks: str = "talks") -> None:
        words = (str(self.state(number)), f"host-{number}", talks, *self.cluster.urls)
        command = [sys.executable, "-m", "tests.fleet.chaos", "--live", *words]
        with (self.folder / f"daemon-{number}.log").open("ab") as log:
            self.daemons[number] = await anyio.open_process(
                command, stdout=log, stderr=log, cwd=ROOT
            )

    async def begun(self) -> None:
        """Waits until each daemon has written its first thread."""
        with anyio.fail_after(SCENARIO_S):
            for number in self.daemons:
                while not [*StateDirectory(self.state(number)).journals()]:  # noqa: ASYNC110
                    await anyio.sleep(0.1)

    async def kill(self, number: int) -> None:
        process = self.daemons.pop(number)
        process.kill()
        await process.wait()
        await process.aclose()

    async def rage(self) -> None:
        """Kills one process after the other, and starts each again."""
        with anyio.move_on_after(self.plan.seconds):
            while True:
                await anyio.sleep(self.rng.random() * 2)
                if self.rng.random() < 0.3:
                    await self._restart_server(self.rng.choice(self.cluster.servers))
                else:
                    number = self.rng.randrange(self.plan.daemons)
                    with anyio.CancelScope(shield=True):
                        await self.kill(number)
                        await self.start(number)
                    self.killed_daemons += 1

    async def _restart_server(self, server: object) -> None:
        chosen = next(one for one in self.cluster.servers if one is server)
        with anyio.CancelScope(shield=True):
            if self.rng.random() < 0.3:
                chosen.signal(signal.SIGSTOP)
                await anyio.sleep(self.rng.random() * 5)
                chosen.signal(signal.SIGCONT)
            else:
                await chosen.kill()
                await anyio.sleep(self.rng.random() * 3)
                await chosen.start()
        self.killed_servers += 1

    async def journaled(self, number: int, thread_id: str) -> list[tuple[int, int]]:
        records = await StateDirectory(self.state(number)).read_journal(thread_id)
        decoded = map(decode_record, records)
        return [
            (one.thread_sequence + at, one.sequence + at)
            for one in decoded
            for at in range(len(one.events))
        ]

    async def compare(self, number: int, thread_id: str) -> list[tuple[int, int]] | None:
        """Returns the thread's number of events, or None if the mirror does not become equal in
        time.
        """
        with anyio.move_on_after(SCENARIO_S):
            while True:
                expected = await self.journaled(number, thread_id)
                try:
                    found = await mirrored(self.cluster.urls, thread_id, f"host-{number}")
                except HubFailed:
                    found = []
                if [(one.thread_sequence, one.sequence) for one in found] == expected:
                    return expected
                await anyio.sleep(0.5)
        return None


async def run(folder: Path, plan: Plan) -> Outcome:
    """Runs the whole test."""
    async with running_cluster(folder / "hub") as cluster:
        await make_streams(cluster.urls, Names("default"), 3)
        chaos, events, wrong = Chaos(folder, cluster, plan), 0, list[str]()
        numbers = range(plan.daemons)
        try:
            for number in numbers:
                await chaos.start(number)
            await chaos.begun()
            await chaos.rage()
            for number in numbers:
                await chaos.kill(number)
                await chaos.start(number, "is quiet")
            for number in numbers:
                for thread_id in [
                    found for found, _ in StateDirectory(chaos.state(number)).journals()
                ]:
                    same = await chaos.compare(number, thread_id)
                    events += len(same or ())
                    wrong += [] if same is not None else [f"host-{number} {thread_id}"]
        finally:
            with anyio.CancelScope(shield=True):
                for number in list(chaos.daemons):
                    await chaos.kill(number)
        count = plan.daemons * THREADS
        return Outcome(events, count, chaos.killed_servers, chaos.killed_daemons, wrong)


def main() -> int:
    if sys.argv[1:2] == ["--live"]:
        state, host, talks, *urls = sys.argv[2:]
        anyio.run(live, state, host, talks, *urls)
        return 0
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--daemons", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    words = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tpfleet") as folder:
        plan = Plan(words.daemons, words.minutes * 60, words.seed)
        outcome = anyio.run(run, Path(folder), plan)
    print(f"seed {words.seed}: {outcome}")
    return 1 if outcome.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
