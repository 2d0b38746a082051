"""How much more the daemon does for a request when the thread is a hundred times as long."""

import re
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import anyio

from benchmarks.budgets.waiting import Step, act, preview, read, typed
from benchmarks.daemons import Daemon, RealCodex, real_codex
from benchmarks.measures import Figure, Outcome, Verdict, at_most
from benchmarks.processes import clock_of
from benchmarks.stage import Bench
from benchmarks.threads import Grown, grow, turn_with_a_read
from benchmarks.wire import JsonRpcClient

SHORT, LONG, LONG_QUICK = 30, 3_000, 1_000
REPEATS = 3
KEPT = 3
# What the answer, or what Codex is given, grows with.
LINEAR = (
    read("context/inspect"),
    read("context/messages/list"),
    typed("/clear"),
    typed("/undo --force"),
)
# The context has three turns of the thread.
CONSTANT = (read("context/inspect"), preview("/compress"), typed("/clear 1"), typed("/undo"))
ADOPTED = "adopting it"


class Taken(NamedTuple):
    """The processor time of the daemon in seconds: where the result grows with the thread, and
    where it does not.
    """

    linear: dict[str, float]
    constant: dict[str, float]


def run(stage: Bench) -> Outcome:
    """Measures each request on a short and on a long thread, in a daemon of its own."""
    long = stage.sized(LONG, LONG_QUICK)
    with real_codex() as codex:
        short_s, long_s = (_taken(stage, codex, turns) for turns in (SHORT, long))
    grown = long / SHORT
    verdicts: list[Verdict] = []
    figures: list[Figure] = []
    for what, before, after, limit in (
        ("what grows with the thread", short_s.linear, long_s.linear, grown),
        ("what does not", short_s.constant, long_s.constant, grown / 10),
    ):
        ratios = {name: after[name] / before[name] for name in before}
        most = max(ratios, key=lambda name: ratios[name])
        by = f"processor time; {most}"
        verdicts.append(
            Verdict(f"{what}, {long:,} : {SHORT}", ratios[most], at_most(limit, "×"), by)
        )
        figures += [
            Figure(f"{what}: {name}, {turns:,} turns", "ms", [taken[name] * 1000])
            for name in before
            for turns, taken in ((SHORT, before), (long, after))
        ]
    return Outcome(verdicts, figures)


def _taken(stage: Bench, codex: RealCodex, turns: int) -> Taken:
    room = stage.room(f"growth-{turns}")
    with codex.app_server() as bare:
        threads = [bare.start_thread(room) for _ in range(2)]
        newest = [bare.turn(thread["id"], "hello") for thread in threads]
    _repeat_turn(Path(threads[1]["path"]), newest[1], turns)
    grown = Grown(str(threads[0]["id"]), str(room), threads[0]["path"], turns, newest[0])
    anyio.run(grow, room / "state", [grown], turn_with_a_read)
    with codex.daemon(room) as running, running.client() as client:
        client.request("thread/resume", threadId=grown.thread_id, excludeTurns=True)
        linear = _of_steps(running, client, grown.thread_id, LINEAR)
        act(client, grown.thread_id, typed(f"/clear {KEPT}"))
        constant = _of_steps(running, client, grown.thread_id, CONSTANT)
        with _timed(running) as taken:
            client.request("thread/resume", threadId=str(threads[1]["id"]), excludeTurns=True)
        return Taken({**linear, ADOPTED: taken[0]}, constant)


def _of_steps(
    daemon: Daemon, client: JsonRpcClient, thread_id: str, steps: tuple[Step, ...]
) -> dict[str, float]:
    """Returns the least that each step takes."""
    samples: dict[str, list[float]] = {}
    for _ in range(REPEATS):
        for step in steps:
            with _timed(daemon) as taken:
                act(client, thread_id, step)
            samples.setdefault(step.name, []).append(taken[0])
    return {name: min(taken) for name, taken in samples.items()}


@contextmanager
def _timed(daemon: Daemon) -> Generator[list[float]]:
    clock, taken = clock_of(daemon.pid), list[float]()
    began = time.clock_gettime(clock)
    yield taken
    taken.append(time.clock_gettime(clock) - began)


def _repeat_turn(rollout: Path, turn_id: str, turns: int) -> None:
    """Writes the only turn of a rollout so many times, under other ids."""
    lines = rollout.read_bytes().splitlines(keepends=True)
    first = next(at for at, line in enumerate(lines) if b'"task_started"' in line)
    turn, of_turn = b"".join(lines[first:]), turn_id.encode()
    ids = (re.sub(rb"[0-9a-f]{8}\Z", b"%08x" % number, of_turn) for number in range(1, turns))
    with rollout.open("ab") as file:
        file.writelines(turn.replace(of_turn, one) for one in ids)
