"""Deciding what is done with a context without a request, which is asked after each turn."""

import time
from collections.abc import Callable

from trimpoint.core.decide.autopilot import may_be_due, next_act
from trimpoint.core.evolve.evolve import apply
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import DiscardPolicy, Policy
from trimpoint.core.model.state import ThreadState

from benchmarks.measures import Figure, Outcome, Verdict, at_most
from benchmarks.stage import Bench
from benchmarks.threads import turn_with_a_read

ITEMS_A_TURN = 4
NOW_MS = 1_795_828_351_389
MASKING = Policy(auto="mask", min_freed=0.01, discard=DiscardPolicy(floor_tokens=0))
"""What a thread of these turns is masked by: it is 75 % full, and its cache is cold."""
LONG, LONG_QUICK = 100_000, 10_000


def run(stage: Bench) -> Outcome:
    """Decides about a context of 1,000 items and about a long one, several times each."""
    repeats, long_turns = stage.sized(25, 5), stage.sized(LONG, LONG_QUICK)
    short, long = _thread(1_000 // ITEMS_A_TURN), _thread(long_turns)
    if not next_act(short, MASKING, NOW_MS).masks:
        raise RuntimeError("nothing would be masked")
    asked = [_taken(repeats, lambda: may_be_due(short, MASKING, NOW_MS))]
    asked.append(_taken(repeats, lambda: may_be_due(long, MASKING, NOW_MS)))
    listed = _taken(repeats, lambda: next_act(short, MASKING, NOW_MS))
    figures = [
        Figure("whether anything may be due, 1,000 items", "ms", asked[0]),
        Figure(f"whether anything may be due, {long_turns:,} turns", "ms", asked[1]),
        Figure("which outputs, 1,000 items, in a thread of its own", "ms", listed),
    ]
    why = "wall clock, least"
    return Outcome(
        [
            Verdict("deciding, 1,000 items", figures[0].least, at_most(2, "ms"), why),
            Verdict(f"deciding, {long_turns:,} turns", figures[1].least, at_most(20, "ms"), why),
        ],
        figures,
    )


def _taken(repeats: int, decide: Callable[[], object]) -> list[float]:
    samples: list[float] = []
    for _ in range(repeats):
        began = time.perf_counter()
        decide()
        samples.append((time.perf_counter() - began) * 1000)
    return samples


def _thread(turns: int) -> ThreadState:
    """Returns a thread of so many turns, and one that is measured."""
    state = ThreadState()
    events: list[ev.AnyEvent] = [
        ev.ThreadCreated("thread", "/work", "started", b"{}"),
        ev.GenerationOpened(1, "start", "none"),
        ev.ProviderThreadBound(1, "codex-thread", None, raw_events=True),
        ev.SessionReady(1),
    ]
    for number in range(turns):
        events += turn_with_a_read(f"turn-{number}")
    events += [
        ev.TurnStarted("newest", 1),
        ev.UsageReported("newest", 200_010, 200_010, 272_000, 200_000, 100_000, 10),
        ev.TurnCompleted("newest", "completed"),
    ]
    for number, event in enumerate(events, 1):
        apply(state, ev.Record(number, number, 0, (event,)))
    return state
