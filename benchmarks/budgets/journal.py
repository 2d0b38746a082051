"""The journal: 64 writers that share a sync compared with one sync per record, and the speed of
replaying a thread.
"""

import gc
import os
import time
from itertools import count
from pathlib import Path

import anyio
from trimpoint.core.evolve.evolve import apply
from trimpoint.core.model import events as ev
from trimpoint.core.model.state import ThreadState
from trimpoint.journal.codec.records import decode_record, encode_record
from trimpoint.journal.port import Journal
from trimpoint.journal.storage.directory import StateDirectory

from benchmarks.measures import Figure, Outcome, Verdict, at_least
from benchmarks.stage import Bench
from benchmarks.threads import Unsynced, turn_events

WRITERS = 64
PAYLOAD = encode_record(ev.Record(1, 1, 1_795_828_351_389, turn_events("turn-1")))


def run_append(stage: Bench) -> Outcome:
    """Alternates between 64 tasks that append and commit at once, and a loop that syncs each
    record.
    """
    records, repeats = stage.sized(32_000, 6_400), stage.sized(5, 2)
    together: list[float] = []
    alone: list[float] = []
    room = stage.room("append")
    for _ in range(repeats):
        together.append(anyio.run(_grouped, room, records))
        alone.append(_one_by_one(room / "one-by-one", records // 32))
    figures = [
        Figure(f"{WRITERS} writers, group commit", "records/s", together),
        Figure("one fdatasync for each record", "records/s", alone),
    ]
    ratio = figures[0].median / figures[1].median
    why = "wall clock, medians, same disk and same record"
    return Outcome(
        [Verdict("group commit : a sync for each record", ratio, at_least(20, "×"), why)], figures
    )


def run_replay(stage: Bench) -> Outcome:
    """Reads, decodes and folds a long journal."""
    turns, repeats = stage.sized(60_000, 10_000), stage.sized(5, 2)
    room = stage.room("replay")
    anyio.run(_write_long, room, turns)
    rates = [anyio.run(_replayed, room) for _ in range(repeats)]
    figure = Figure("replay of a thread", "events/s", rates)
    return Outcome(
        [Verdict("replay", figure.median, at_least(300_000, "events/s"), "wall clock, median")],
        [figure],
    )


async def _grouped(room: Path, records: int) -> float:
    journal = await StateDirectory(room).open_journal("grouped")

    async def write(how_many: int) -> None:
        for _ in range(how_many):
            journal.append(PAYLOAD)
            await journal.commit()

    began = time.perf_counter()
    async with anyio.create_task_group() as tasks:
        for _ in range(WRITERS):
            tasks.start_soon(write, records // WRITERS)
    taken_s = time.perf_counter() - began
    await journal.close()
    return records / taken_s


def _one_by_one(path: Path, records: int) -> float:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        began = time.perf_counter()
        for _ in range(records):
            os.write(fd, PAYLOAD)
            os.fdatasync(fd)
        return records / (time.perf_counter() - began)
    finally:
        os.close(fd)


async def _write_long(room: Path, turns: int) -> None:
    journal: Journal = await StateDirectory(room, files=Unsynced()).open_journal("long")
    journal.append(
        encode_record(ev.Record(1, 1, 0, (_CREATED, ev.GenerationOpened(1, "start", "none"))))
    )
    numbers = count(2)
    for number in range(turns):
        for event in turn_events(
            f"turn-{number}"
        ):  # Codex tells them one by one, so each has a record of its own
            place = next(numbers)
            journal.append(encode_record(ev.Record(place + 1, place, place, (event,))))
    await journal.commit()
    await journal.close()


_CREATED = ev.ThreadCreated("long", "/work", "started", b"{}")


async def _replayed(room: Path) -> float:
    gc.collect()
    began = time.perf_counter()
    journal = await StateDirectory(room).open_journal("long")
    state, events = ThreadState(), 0
    for payload in journal.read():
        record = decode_record(payload)
        apply(state, record)
        events += len(record.events)
    taken_s = time.perf_counter() - began
    await journal.close()
    return events / taken_s
