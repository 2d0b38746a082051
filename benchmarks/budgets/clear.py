"""`/clear 3`: compared with a minimal script that sends Codex the same requests, and on a long
thread compared with a short one.
"""

import time
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any

import anyio

from benchmarks.daemons import RealCodex, real_codex
from benchmarks.measures import Figure, Outcome, Verdict, at_most
from benchmarks.stage import Bench
from benchmarks.threads import Grown, grow
from benchmarks.wire import JsonRpcClient, Message, Refused

KEPT = 3
SHORT, LONG, LONG_QUICK = 100, 100_000, 10_000
# Clears after the first one of a thread.
LATER = 3


def run_against_script(stage: Bench) -> Outcome:
    """Runs a few turns, then one clear each way, repeatedly."""
    repeats = stage.sized(25, 4)
    ours_ms: list[float] = []
    bare_ms: list[float] = []
    room = stage.room("clear")
    with (
        real_codex() as codex,
        codex.daemon(room) as running,
        running.client() as client,
        codex.app_server() as bare,
    ):
        ours, theirs = client.start_thread(room)["id"], bare.start_thread(room)["id"]
        for _ in range(KEPT):
            client.turn(ours, "hello")
            bare.turn(theirs, "hello")
        for _ in range(repeats):
            client.turn(ours, "hello")
            ours_ms.append(_clear(client, ours))
            bare.turn(theirs, "hello")
            taken_ms, theirs = bare_replacement(bare, theirs, room, _hellos())
            bare_ms.append(taken_ms)
    figures = [
        Figure("/clear 3", "ms", ours_ms),
        Figure("the same calls by a bare script", "ms", bare_ms),
    ]
    ratio = figures[0].median / figures[1].median
    return Outcome(
        [Verdict("/clear 3 : bare script", ratio, at_most(1.10, "×"), "wall clock, medians")],
        figures,
    )


def run_on_long_thread(stage: Bench) -> Outcome:
    """Measures the first and later clears of long and of short threads, each kind in a daemon of
    its own.
    """
    long_turns = stage.sized(LONG, LONG_QUICK)
    first: dict[int, list[float]] = {SHORT: [], long_turns: []}
    later: dict[int, list[float]] = {SHORT: [], long_turns: []}
    with real_codex() as codex, ExitStack() as stack:
        kinds = {turns: _threads_with_turns(stage, codex, turns, stack) for turns in first}
        for number in range(stage.sized(3, 2)):
            for turns, (client, threads) in kinds.items():
                first[turns].append(_turn_and_clear(client, threads[number]))
            for _ in range(LATER):
                for turns, (client, threads) in kinds.items():
                    later[turns].append(_turn_and_clear(client, threads[number]))
    return Outcome(
        [
            _long_to_short("that trims them all", first),
            _long_to_short("that has been cleared before", later),
        ],
        [
            Figure(f"/clear 3 on {turns:,} turns, {which}", "ms", taken)
            for which, kind in (("first", first), ("later", later))
            for turns, taken in kind.items()
        ],
    )


def _long_to_short(which: str, taken_ms: dict[int, list[float]]) -> Verdict:
    short, long = map(median, taken_ms.values())
    return Verdict(
        f"/clear 3 on a long thread {which} : short",
        long / short,
        at_most(1.2, "×"),
        "wall clock, medians",
    )


def _threads_with_turns(
    stage: Bench, codex: RealCodex, turns: int, stack: ExitStack
) -> tuple[JsonRpcClient, list[str]]:
    """Returns a client of a daemon that has threads of `turns` turns, and the ids of these
    threads.
    """
    room = stage.room(f"turns-{turns}")
    threads = [_real_thread(codex, room) for _ in range(stage.sized(3, 2))]
    anyio.run(
        grow,
        room / "state",
        [
            Grown(str(thread["id"]), str(room), thread["path"], turns, thread["newestTurnId"])
            for thread in threads
        ],
    )
    client = stack.enter_context(stack.enter_context(codex.daemon(room)).client())
    return client, [str(thread["id"]) for thread in threads]


def _turn_and_clear(client: JsonRpcClient, thread_id: str) -> float:
    client.turn(thread_id, "hello")
    return _clear(client, thread_id)


def _real_thread(codex: RealCodex, cwd: Path) -> dict[str, Any]:
    """Returns a thread that Codex can resume, with the id of its turn."""
    with codex.app_server() as bare:
        thread = bare.start_thread(cwd)
        return {**thread, "newestTurnId": bare.turn(thread["id"], "hello")}


def _clear(client: JsonRpcClient, thread_id: str) -> float:
    began = time.perf_counter()
    outcome = client.request("commands/execute", threadId=thread_id, text=f"/clear {KEPT}")
    taken_ms = (time.perf_counter() - began) * 1000
    if outcome["status"] != "completed":
        raise RuntimeError(f"/clear {KEPT} was not carried out: {outcome}")
    return taken_ms


def _hellos() -> list[Message]:
    """Returns the items of the turns that are kept."""
    return [
        {"type": "message", "role": role, "content": [{"type": part, "text": "hello"}]}
        for role, part in (("user", "input_text"), ("assistant", "output_text"))
    ] * KEPT


def bare_replacement(
    bare: JsonRpcClient, thread_id: str, cwd: Path, items: list[Message]
) -> tuple[float, str]:
    """Sends Codex the requests that put a thread with other items in the place of one, in the
    required order; returns the time in milliseconds, and the new thread.
    """
    began = time.perf_counter()
    _softly(bare, "thread/backgroundTerminals/list", threadId=thread_id)
    started = bare.request(
        "thread/start",
        cwd=str(cwd),
        approvalPolicy="never",
        sandbox="danger-full-access",
        experimentalRawEvents=True,
        sessionStartSource="clear",
    )
    new_id = str(started["thread"]["id"])
    bare.request("thread/inject_items", threadId=new_id, items=items)
    for method in ("thread/goal/get", "thread/attachment/list", "thread/queue/list"):
        _softly(bare, method, threadId=thread_id)
    bare.request("thread/read", threadId=thread_id, includeTurns=False)
    bare.request("thread/archive", threadId=thread_id)
    return (time.perf_counter() - began) * 1000, new_id


def _softly(bare: JsonRpcClient, method: str, /, **params: Any) -> None:
    """Sends a request and ignores a refusal, because not every version of Codex has the method."""
    try:
        bare.request(method, **params)
    except Refused:
        return
