"""Registries over a disk that refuses, and re-readings that stop, when a test says so."""

import random
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from errno import EACCES, ENOSPC
from pathlib import Path

import anyio
from trimpoint.core.evolve.evolve import replay
from trimpoint.core.model import commands as internal
from trimpoint.core.model import events as ev
from trimpoint.core.model.state import ThreadState
from trimpoint.journal.codec.records import decode_record
from trimpoint.journal.errors import JournalWriteError
from trimpoint.journal.port import Bookmark
from trimpoint.journal.storage.memory import MemoryDisk, MemoryJournal, MemoryStateDirectory
from trimpoint.threads.registry import ThreadRegistry
from trimpoint.threads.writing.writer import ThreadWriter

THREAD = "01900000-0000-7000-8000-000000000001"
OTHER = "01900000-0000-7000-8000-000000000002"


def _ignore() -> None: ...


@dataclass
class Disk(MemoryDisk):
    """`refusing` names the threads that are refused, None for all; `refused` counts the
    refusals.
    """

    refusing: str | None = None
    refused: int = 0
    on_refusal: Callable[[], None] = _ignore

    def fill(self, thread_id: str | None = None) -> None:
        self.refusal, self.refusing = ENOSPC, thread_id

    def fill_once(self) -> None:
        """Refuses the next write and no other."""
        self.fill()
        self.on_refusal = self.free

    def free(self) -> None:
        self.refusal = None

    def write(self, path: Path) -> None:
        errno = self.refusal
        if errno is not None and (self.refusing is None or self.refusing in path.name):
            self.refused += 1
            self.on_refusal()
            raise JournalWriteError(path, errno, "write")

    def written(self, thread_id: str = THREAD) -> ThreadState:
        """The state that a daemon would find after a restart."""
        return replay(decode_record(payload) for payload in self.records[thread_id])


@dataclass
class Hold:
    reached: anyio.Event = field(default_factory=anyio.Event)
    release: anyio.Event = field(default_factory=anyio.Event)


class Store(MemoryStateDirectory):
    """`hold` stops the next opening of a journal; that of the thread `unopenable` fails."""

    next_hold: Hold | None = None
    unopenable: str | None = None

    def hold(self) -> Hold:
        self.next_hold = Hold()
        return self.next_hold

    async def open_journal(self, thread_id: str, after: Bookmark | None = None) -> MemoryJournal:
        hold, self.next_hold = self.next_hold, None
        if hold is not None:
            hold.reached.set()
            await hold.release.wait()
        if thread_id == self.unopenable:
            raise PermissionError(EACCES, "not yours")
        return await super().open_journal(thread_id, after)


async def begin(
    registry: ThreadRegistry, thread_id: str = THREAD, *, bound: bool = True
) -> ThreadWriter:
    provider_thread_id = thread_id if bound else None
    return await registry.create(
        internal.CreateThread(thread_id, "/", "started", b"{}", provider_thread_id)
    )


def turn(turn_id: str, generation: int = 1) -> tuple[ev.AnyEvent, ...]:
    """A whole turn of one message."""
    message = ev.EntryRecorded(turn_id, f"entry of {turn_id}", "message", "user", "hello")
    return ev.TurnStarted(turn_id, generation), message, ev.TurnCompleted(turn_id, "completed")


async def never_rest(writer: ThreadWriter, ended: anyio.Event, chance: random.Random) -> None:
    """Writes events until `ended` is set, one or several in a record."""
    number = 0
    while not ended.is_set():
        count = chance.randrange(1, 4)
        renames = [ev.ThreadRenamed(f"name {number + one}") for one in range(count)]
        number += count
        # In one record, so that a cursor may be in the middle of it, or in several.
        for facts in [renames] if chance.random() < 0.5 else [[one] for one in renames]:
            writer.record_facts(*facts)
        if chance.random() < 0.5:
            await writer.flush()
        await anyio.lowlevel.checkpoint()


@contextmanager
def published(
    registry: ThreadRegistry, kind: type[ev.Event], thread_id: str = THREAD
) -> Generator[anyio.Event, None, None]:
    """Set once a record of the thread with such an event is durable."""
    seen = anyio.Event()

    def listener(of_thread: str, record: ev.Record) -> None:
        if of_thread == thread_id and any(isinstance(event, kind) for event in record.events):
            seen.set()

    registry.subscribe(listener)
    try:
        yield seen
    finally:
        registry.unsubscribe(listener)
