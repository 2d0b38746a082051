"""The sums over ten thousand threads, asked for over the socket (`stats/read`)."""

import time
from itertools import count

import anyio
import msgspec
from trimpoint.core.model import events as ev
from trimpoint.core.model.usage import QUARTER_MS
from trimpoint.threads.ids import new_uuid7

from benchmarks.daemons import Daemon, daemon
from benchmarks.measures import Figure, Outcome, Verdict, at_most
from benchmarks.processes import clock_of
from benchmarks.programs import flooding_codex
from benchmarks.stage import Bench
from benchmarks.threads import Grown, grow, turn_events
from benchmarks.wire import JsonRpcClient

THREADS, THREADS_QUICK = 10_000, 500
TURNS, FOLDERS = 4, 50
GROUPINGS = ("thread", "folder", "day", "model")
CALL, CACHED, ANSWERED = 90_000, 80_000, 500


def run(stage: Bench) -> Outcome:
    """Asks new daemons for each sum once, and then one of them repeatedly."""
    threads, repeats = stage.sized(THREADS, THREADS_QUICK), stage.sized(9, 3)
    room = stage.room("stats")
    grown = [
        Grown(new_uuid7(), f"/work/{number % FOLDERS}", "/rollout", TURNS)
        for number in range(threads)
    ]
    anyio.run(grow, room / "state", grown, _turn_with_a_call)
    cold: dict[str, list[float]] = {}
    anew: dict[str, list[float]] = {}
    warm: dict[str, list[float]] = {}
    quarters = count(1)
    for by in GROUPINGS:
        with daemon(room, flooding_codex.launcher(room)) as running, running.client() as client:
            cold[by] = [_asked_s(running, client, threads, by=by)]
            for _ in range(repeats):
                # Nothing is remembered of another beginning.
                since = next(quarters) * QUARTER_MS
                taken_s = _asked_s(running, client, threads, by=by, sinceMs=since)
                anew.setdefault(by, []).append(taken_s)
            _asked_s(running, client, threads, by=by)
            warm[by] = [_asked_s(running, client, threads, by=by) for _ in range(repeats)]
    kinds = (("cold", cold, 1_000), ("warm, summed anew", anew, 100), ("warm", warm, 100))
    verdicts: list[Verdict] = []
    figures: list[Figure] = []
    for what, taken, limit in kinds:
        of_kind = [
            Figure(f"{what}, by {by}", "ms", [one * 1000 for one in samples])
            for by, samples in taken.items()
        ]
        worst = max(of_kind, key=lambda figure: figure.median)
        by_what = f"processor time of the daemon, the worst: {worst.what}"
        verdicts.append(
            Verdict(
                f"sums over {threads:,} threads, {what}",
                worst.median,
                at_most(limit, "ms"),
                by_what,
            )
        )
        figures += of_kind
    return Outcome(verdicts, figures)


def _asked_s(running: Daemon, client: JsonRpcClient, threads: int, **asked: object) -> float:
    clock = clock_of(running.pid)
    began = time.clock_gettime(clock)
    stats = client.request("stats/read", **asked)
    taken_s = time.clock_gettime(clock) - began
    if stats["total"]["calls"] != threads * TURNS:
        raise AssertionError(stats["total"])
    return taken_s


def _turn_with_a_call(turn_id: str) -> tuple[ev.AnyEvent, ...]:
    """Returns a turn with a call of another model than the turn before had, so that the catalogue
    has a row for each.
    """
    number = int(turn_id.rpartition("-")[2])
    model = msgspec.json.encode({"model": f"gpt-{number % 2}"})
    used = CALL + ANSWERED
    call = ev.UsageReported(turn_id, used, used * (number + 1), 272_000, CALL, CACHED, ANSWERED, 0)
    *begun, _, ended = turn_events(turn_id)
    return (ev.SettingsChanged(model), *begun, call, ended)
