"""Keeps the hub's copy of every thread equal to its journal.

Always true: the journal is authoritative. After each connect the daemon reads the hub's last event
of each thread, and each message names its predecessor; so events that the hub lost are sent again
and none is stored twice. Only a few numbers per thread are kept in memory; events are read from the
journal when they are sent. Turns never wait for the mirror.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import anyio
import structlog
from anyio import to_thread

from trimpoint.core.model import events as ev
from trimpoint.fleet.batches import NOTHING, Batch, BatchReader, Diverged, Head, Journal, Place
from trimpoint.fleet.hub.connection import LAST_SUBJECT_SEQUENCE, Hub, Last
from trimpoint.fleet.hub.errors import HubFailed, StaleWriter
from trimpoint.fleet.names import SEQUENCE, THREAD_SEQUENCE, Names, token_of
from trimpoint.journal.codec.records import UnreadableRecord
from trimpoint.threads.catalogue import ThreadSummary

log = structlog.get_logger()

WORKERS = 4
LINGER_S = 0.05
"""What happens within it goes in one message."""
AUDIT_S = 300.0
"""How often the hub is asked what it has of threads that are quiet."""
RETRY_S = 2.0
MAX_REPAIRS = 3


class Threads(NamedTuple):
    """The threads of a daemon: their summaries, and the path of each journal."""

    summaries: Mapping[str, ThreadSummary]
    path_of: Callable[[str], Path]


class Tail(NamedTuple):
    """The last message of a thread on the hub, and the position in the journal after it."""

    stream_sequence: int
    place: Place


class Counts:
    """Counters since the daemon started."""

    def __init__(self) -> None:
        self.messages = 0
        self.events = 0
        self.repairs = 0
        """How often the hub had something else than it was last said to have."""


class Mirror:
    """Mirrors the threads of a host. `on_record` is a listener of the registry; `run` works while a
    connection lasts.
    """

    def __init__(self, host: str, names: Names, threads: Threads, reader: BatchReader) -> None:
        self.counts = Counts()
        self.refused: dict[str, str] = {}
        """Threads that are not mirrored, and why."""
        self._host = host
        self._names = names
        self._threads = threads
        self._reader = reader
        self._waiting: dict[str, None] = {}
        self._sending: set[str] = set()
        self._offsets: dict[str, Place] = {}
        self._tails: dict[str, Tail] = {}
        self._complaint = ""
        self._wake = anyio.Event()

    @property
    def behind(self) -> int:
        """Returns the number of threads with events that the hub has not confirmed."""
        return len(self._waiting.keys() | self._sending)

    def on_record(self, thread_id: str, record: ev.Record) -> None:
        """Marks a thread that has a new record."""
        if record.events:
            self.mark(thread_id)

    def mark(self, thread_id: str) -> None:
        """Requests that a thread is compared with the hub's copy."""
        self._waiting[thread_id] = None
        self._wake.set()

    async def run(self, hub: Hub) -> None:
        """Sends the events that the hub does not have, until it is cancelled."""
        self._tails.clear()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._audit_forever)
            while True:
                await self._wake.wait()
                await anyio.sleep(LINGER_S)
                self._wake = anyio.Event()
                await self._send_all(hub)

    async def _audit_forever(self) -> None:
        while True:
            self._tails.clear()
            for thread_id in list(self._threads.summaries):
                self.mark(thread_id)
            await anyio.sleep(AUDIT_S)

    async def _send_all(self, hub: Hub) -> None:
        todo = list(self._waiting)

        async def work() -> None:
            while todo:
                thread_id = todo.pop()
                self._waiting.pop(thread_id, None)
                self._sending.add(thread_id)
                try:
                    await self._send(hub, thread_id)
                finally:
                    self._sending.discard(thread_id)

        async with anyio.create_task_group() as tasks:
            for _ in range(min(WORKERS, len(todo))):
                tasks.start_soon(work)

    async def _send(self, hub: Hub, thread_id: str) -> None:
        try:
            await self._bring_up(hub, thread_id)
        except Diverged:
            self._refuse(
                thread_id,
                "the hub has events of this thread that its journal has not: another daemon uses "
                "this host name, or the state directory was restored from a backup",
            )
        except HubFailed as error:
            self._complain(error)
            self._tails.pop(thread_id, None)
            await anyio.sleep(RETRY_S)
            self.mark(thread_id)
        except (OSError, UnreadableRecord) as error:
            self._refuse(thread_id, f"its journal cannot be read: {error}")
        except BaseException:
            self.mark(thread_id)
            raise
        else:
            self.refused.pop(thread_id, None)

    def _complain(self, error: HubFailed) -> None:
        """Logs why events cannot be sent, once for each reason."""
        if error.detail != self._complaint:
            log.warning("mirror_delayed", detail=error.detail)
        self._complaint = error.detail

    def _refuse(self, thread_id: str, why: str) -> None:
        self._tails.pop(thread_id, None)
        self._offsets.pop(thread_id, None)
        if thread_id not in self.refused:
            log.warning("thread_not_mirrored", thread_id=thread_id, detail=why)
        self.refused[thread_id] = why

    async def _bring_up(self, hub: Hub, thread_id: str) -> None:
        tail, repairs = self._tails.get(thread_id) or await self._ask(hub, thread_id), 0
        while (summary := self._threads.summaries.get(thread_id)) is not None:
            path = self._threads.path_of(thread_id)
            journal = Journal(path, thread_id, summary.size_bytes)
            found = await to_thread.run_sync(self._reader.next, journal, tail.place)
            if isinstance(found, Place):
                self._keep(thread_id, Tail(tail.stream_sequence, found))
                return
            try:
                tail = await self._store(hub, thread_id, tail, found)
            except StaleWriter:
                # A server that lags behind the others may answer, and be asked once more.
                if (repairs := repairs + 1) > MAX_REPAIRS:
                    raise
                self.counts.repairs += 1
                tail = await self._ask(hub, thread_id)

    async def _store(self, hub: Hub, thread_id: str, tail: Tail, batch: Batch) -> Tail:
        head = batch.behind.head
        headers = {
            LAST_SUBJECT_SEQUENCE: str(tail.stream_sequence),
            THREAD_SEQUENCE: str(head.thread_sequence),
            SEQUENCE: str(head.sequence),
        }
        subject = self._names.events(self._host, token_of(thread_id))
        stored = await hub.store(subject, batch.payload, headers)
        self._complaint = ""
        self.counts.messages += 1
        self.counts.events += batch.events
        tail = Tail(stored, batch.behind)
        self._keep(thread_id, tail)
        return tail

    def _keep(self, thread_id: str, tail: Tail) -> None:
        self._tails[thread_id] = tail
        self._offsets[thread_id] = tail.place

    async def _ask(self, hub: Hub, thread_id: str) -> Tail:
        """Reads the last message of a thread on the hub."""
        subject = self._names.events(self._host, token_of(thread_id))
        last = await hub.last(self._names.stream, subject)
        return Tail(last.stream_sequence, self._place(thread_id, _head_of(last)))

    def _place(self, thread_id: str, head: Head) -> Place:
        summary, known = self._threads.summaries.get(thread_id), self._offsets.get(thread_id)
        if known is not None and known.head == head:
            return known
        if summary is not None and head != NOTHING and summary.sequence == head.sequence:
            return Place(head, summary.size_bytes, is_proved=True)
        return Place(head, 0, is_proved=head == NOTHING)


def _head_of(last: Last) -> Head:
    """Returns where a message stands.

    :raises Diverged: when another program wrote the message.
    """
    try:
        return Head(int(last.headers.get(THREAD_SEQUENCE, 0)), int(last.headers.get(SEQUENCE, 0)))
    except ValueError as error:
        raise Diverged(f"a message on the hub is none of trimpoint's: {error}") from error
