"""How long another client waits while one acts on a long thread."""

import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, NamedTuple

import anyio

from benchmarks.daemons import Daemon, RealCodex, real_codex
from benchmarks.measures import Figure, Outcome, Verdict, at_most
from benchmarks.stage import Bench
from benchmarks.threads import Grown, grow, turn_with_a_read
from benchmarks.wire import JsonRpcClient, Message

# Codex takes minutes for a context of tens of thousands of turns.
REPEATS, REPEATS_QUICK = {3_000: 3, 30_000: 1}, {1_000: 2}
LONGEST_MS = 50


class Wait(NamedTuple):
    """How long another client waits in milliseconds: by the clock, and of the processor time that
    all threads of the daemon take meanwhile. The first counts other processes, too.
    """

    clock: float
    processor: float


CLOCKS = {"clock": "by the clock", "processor": "processor time of the daemon"}


class Step(NamedTuple):
    """A request about the thread; one that `changes` it must be carried out."""

    name: str
    method: str
    params: dict[str, Any]
    changes: bool = False


def read(method: str, **params: Any) -> Step:
    return Step(method, method, params)


def preview(text: str) -> Step:
    return Step(f"{text} --dry-run", "commands/execute", {"text": text, "dryRun": True})


def typed(text: str) -> Step:
    return Step(text, "commands/execute", {"text": text}, changes=True)


STEPS = (
    read("context/inspect"),
    read("context/advice"),
    read("context/messages/list"),
    read("orchestration/snapshot"),
    Step("orchestration/snapshot of 20 turns", "orchestration/snapshot", {"turns": 20}),
    read("timeline/read"),
    preview("/clear 3"),
    preview("/compress"),
    typed("/compress"),
    typed("/undo --force"),
    typed("/clear"),
    typed("/undo --force"),
    typed("/revert 10 --context"),
    typed("/revert --undo --context"),
    Step("thread/read", "thread/read", {"includeTurns": True}),
)


def run(stage: Bench) -> Outcome:
    """Acts on a thread of each size, each in a daemon of its own."""
    verdicts: list[Verdict] = []
    figures: list[Figure] = []
    with real_codex() as codex:
        for turns, repeats in stage.sized(REPEATS, REPEATS_QUICK).items():
            waits = _waits(stage, codex, turns, repeats)
            for clock in Wait._fields:
                waited = {name: getattr(wait, clock) for name, wait in waits.items()}
                longest = max(waited, key=lambda name: waited[name])
                verdicts.append(
                    Verdict(
                        f"longest wait beside {turns:,} turns, {CLOCKS[clock]}",
                        waited[longest],
                        at_most(LONGEST_MS, "ms"),
                        longest,
                    )
                )
            figures += [
                Figure(f"{turns:,} turns: {name}", "ms", wait) for name, wait in waits.items()
            ]
    return Outcome(verdicts, figures)


def _waits(stage: Bench, codex: RealCodex, turns: int, repeats: int) -> dict[str, Wait]:
    """Returns the longest wait during each step, and of all repetitions the least, since other
    processes only ever add. The steps leave the thread as it was.
    """
    room = stage.room(f"waiting-{turns}")
    with codex.app_server() as bare:
        thread = bare.start_thread(room)
        newest = bare.turn(thread["id"], "hello")
    grown = Grown(str(thread["id"]), str(room), thread["path"], turns, newest)
    anyio.run(grow, room / "state", [grown], turn_with_a_read)
    with codex.daemon(room) as running, running.client() as client:
        client.request("thread/resume", threadId=grown.thread_id, excludeTurns=True)
        with _pinging(running) as longest:
            samples = {"nothing": [longest()]}
            for _ in range(repeats):
                for number, step in enumerate(STEPS, 1):
                    act(client, grown.thread_id, step)
                    samples.setdefault(f"{number}. {step.name}", []).append(longest())
    return {name: Wait(*map(min, zip(*waits, strict=True))) for name, waits in samples.items()}


def act(client: JsonRpcClient, thread_id: str, step: Step) -> None:
    outcome: Message = client.request(step.method, threadId=thread_id, **step.params)
    if step.changes and outcome["status"] != "completed":
        raise RuntimeError(f"{step.name} was not carried out: {outcome}")


@contextmanager
def _pinging(daemon: Daemon) -> Generator[Callable[[], Wait]]:
    """Yields a function that returns the longest wait of another client since the last call."""
    program = [sys.executable, "-m", "benchmarks.programs.pinging"]
    command = [*program, str(daemon.socket), str(daemon.pid)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    asked, told = process.stdin, process.stdout

    def longest() -> Wait:
        asked.write("\n")
        asked.flush()
        return Wait(*map(float, told.readline().split()))

    try:
        longest()
        yield longest
    finally:
        asked.close()
        process.wait()
        told.close()
