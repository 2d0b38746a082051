"""The threads of a state directory: opens, creates and unloads their writers, knows the owner of
each provider thread, and publishes records.

It knows neither Codex nor clients. A thread that is loaded from disk has no running session, so
loading ends its open turns and requests; open operations are continued by
`operations/session_reactions.py` (docs/spec/model.md).
"""

import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from weakref import WeakValueDictionary

import anyio
import structlog
from anyio.abc import TaskGroup
from msgspec import structs
from trimpoint_protocol.commands import AnyClientCommand, ArchiveAndNew

from trimpoint.background import spawn
from trimpoint.config.sections import ThreadsSection
from trimpoint.core.model import commands as internal
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Policy
from trimpoint.journal.errors import JournalError
from trimpoint.journal.port import StateStore
from trimpoint.threads.catalogue import FILE_NAME, ThreadSummary, decode_catalogue, encode_catalogue
from trimpoint.threads.errors import JournalRefuses, ThreadNotFound, journal_not_opened
from trimpoint.threads.idle import IdleThreads, InUse
from trimpoint.threads.replacements import Replacements, check_new_id
from trimpoint.threads.thread_index import ThreadIndex
from trimpoint.threads.uncounted import UncountedThreads
from trimpoint.threads.unfinished_items import UnfinishedItems
from trimpoint.threads.writing.deciding_ahead import Deciding
from trimpoint.threads.writing.flushing import Flusher
from trimpoint.threads.writing.patience import Patience
from trimpoint.threads.writing.receipts import CommandResult
from trimpoint.threads.writing.sequencer import Sequencer, first_number_of_this_run, new_stamp
from trimpoint.threads.writing.writer import ThreadWriter, WriterDeps

log = structlog.get_logger()

Subscriber = Callable[[str, ev.Record], None]
SWEEP_S = 15.0
# If the daemon is killed, the entries changed in this time must be rebuilt from journals.
CATALOGUE_S = 60.0


class LoadedThreads:
    """All threads of a state directory. `ThreadRegistry` is what the rest of the daemon sees of
    them.
    """

    def __init__(
        self, store: StateStore, policy: Policy, rules: ThreadsSection, tasks: TaskGroup
    ) -> None:
        self.unreadable: dict[str, str] = {}
        self.relearned: list[str] = []
        """Threads whose catalogue entries were not of their journals: the last daemon had died."""
        self.unfinished_items = UnfinishedItems(store)
        self._store = store
        self._writers: dict[str, ThreadWriter] = {}
        self._idle = IdleThreads(self._writers, rules)
        self._index = ThreadIndex()
        self.uncounted = UncountedThreads(store, self._index, tasks)
        self._ahead: set[str] = set()
        """Threads whose summaries were made of a state with records that were not durable."""
        self._loading: WeakValueDictionary[str, anyio.Lock] = WeakValueDictionary()
        self._subscribers: list[Subscriber] = []
        self._catalogue_due_s = 0.0
        self._sequencer = Sequencer(first_number_of_this_run())
        self._replacements = Replacements(self.create, tasks)
        self._flusher = Flusher(self._is_current, tasks)
        self.patience = Patience(tasks, self._flusher)
        self.on_trouble = self._flusher.on_trouble
        self._deps = WriterDeps(
            store,
            self._sequencer,
            Deciding(new_stamp, policy),
            self._publish,
            self._flusher.mark,
        )

    @classmethod
    @asynccontextmanager
    async def running(
        cls, store: StateStore, policy: Policy, rules: ThreadsSection | None = None
    ) -> AsyncGenerator["LoadedThreads"]:
        """Opens the state directory: reads the catalogue and starts the flusher. When the block
        ends, everything is durable.
        """
        known, sizes = decode_catalogue(await store.read_checked(FILE_NAME)), await store.scan()
        async with anyio.create_task_group() as tasks:
            threads = cls(store, policy, rules or ThreadsSection(), tasks)
            await threads.unfinished_items.open()
            await threads._open_state(known, sizes)
            spawn(tasks, threads._flusher.run, lasting=True)
            spawn(tasks, threads._sweep_forever, lasting=True)
            spawn(tasks, threads.unfinished_items.write_forever, lasting=True)
            try:
                yield threads
            finally:
                tasks.cancel_scope.cancel()
                with anyio.CancelScope(shield=True):
                    await threads._close_state()

    def subscribe(self, listener: Subscriber) -> None:
        """Calls `listener(thread_id, record)` for each record after it is durable, in order within
        a thread.
        """
        self._subscribers.append(listener)

    def unsubscribe(self, listener: Subscriber) -> None:
        """Stops calling `listener`."""
        self._subscribers.remove(listener)

    @property
    def summaries(self) -> dict[str, ThreadSummary]:
        """Returns the summaries of all threads by thread id; no thread is opened."""
        return self._index.summaries

    @property
    def renamed(self) -> dict[str, str]:
        """Returns a mapping from Codex's ids to the ids that clients must see instead: of provider
        threads that have another id than their thread, and of repeated turns.
        """
        return self._index.renamed

    @property
    def retried(self) -> dict[str, str]:
        """Returns for each repeated turn Codex's id of the repetition."""
        return self._index.retried

    def keep_in_memory(self, in_use: InUse) -> None:
        """Keeps each thread in memory while `in_use(thread_id)` is true. A thread whose writer is
        referenced elsewhere stays in any case.
        """
        self._idle.in_use.append(in_use)

    def release_from_memory(self, in_use: InUse) -> None:
        """Removes a predicate that `keep_in_memory` added."""
        self._idle.in_use.remove(in_use)

    @property
    def launches(self) -> dict[str, bytes]:
        """Returns the launch requests by thread id, for the threads that have one."""
        return self._index.launches

    def owner_of(self, provider_thread_id: str) -> str | None:
        """Returns the id of the thread that a provider thread serves or served, or None if it
        belongs to no thread of the registry.
        """
        return self._index.owners.get(provider_thread_id)

    async def thread(self, thread_id: str) -> ThreadWriter:
        """Returns the writer of a thread; loads the thread if it is not in memory.

        :raises ThreadNotFound: when there is no such thread.
        :raises JournalRefuses: when its journal cannot be opened.
        :raises ReplacementDelayed: when `/new` has announced the thread and it cannot be written
            yet.
        """
        if self._replacements.is_delayed(thread_id):
            return await self._replacements.begin_delayed(thread_id)
        if (writer := self._writers.get(thread_id)) is not None:
            self._idle.touch(thread_id)
            return writer
        if thread_id not in self.summaries:
            raise ThreadNotFound(thread_id)
        async with self._loading.setdefault(thread_id, anyio.Lock()):
            if (writer := self._writers.get(thread_id)) is not None:
                return writer
            return await self._load(thread_id)

    @property
    def sequence(self) -> int:
        """Returns the last global sequence number that was given out."""
        return self._sequencer.last

    def loaded(self, thread_id: str) -> ThreadWriter | None:
        """Returns the writer of a thread, or None if the thread is not in memory."""
        return self._writers.get(thread_id)

    def loaded_writers(self) -> list[ThreadWriter]:
        """Returns all writers in memory."""
        return list(self._writers.values())

    async def create(self, command: internal.CreateThread) -> ThreadWriter:
        """Creates a thread and its journal; both are durable on return. If the thread exists
        already, returns its writer.

        :raises JournalRefuses: when the journal could not be written.
        """
        self.patience.refuse_while_it_hangs()
        async with self._loading.setdefault(command.thread_id, anyio.Lock()):
            if (writer := self._writers.get(command.thread_id)) is not None:
                return writer
            try:
                writer = await ThreadWriter.load(command.thread_id, self._deps)
            except (JournalError, OSError) as error:
                raise journal_not_opened(error) from error
            self._register(writer)
            if not writer.state.exists:
                await self._begin(writer, command)
            return writer

    async def dispatch(self, command: AnyClientCommand) -> CommandResult:
        """Executes a client's command on its thread; the result is durable on return.

        So is a new thread that it begins, or that is created as soon as the disk takes its journal.

        :raises CommandUnconfirmed: when the disk does not answer.
        :raises ThreadError: when the command was refused; see `ThreadWriter.execute`.
        """
        if isinstance(command, ArchiveAndNew) and command.new_thread_id is not None:
            check_new_id(command, self.summaries, taken=self._is_taken)
        writer = await self.thread(command.thread_id)
        begun = command.command_id in writer.state.receipts
        done = partial(self._dispatch, writer, command)
        return await self.patience.unless_it_hangs(writer, done, is_begun=begun)

    async def _dispatch(self, writer: ThreadWriter, command: AnyClientCommand) -> CommandResult:
        result = await writer.execute(command)
        for event in result.record.events:
            if isinstance(event, ev.ArchivedAndNewCreated | ev.HandedOff):
                await self._replacements.replace(writer, event.new_thread_id)
        return result

    def _is_taken(self, thread_id: str) -> bool:
        is_known = thread_id in self.summaries or self._replacements.is_delayed(thread_id)
        return is_known or thread_id in self._index.owners

    async def _begin(self, writer: ThreadWriter, command: internal.CreateThread) -> None:
        try:
            await writer.execute(command)
        except JournalRefuses:
            # The writer is closed, so that it never cuts the file again: the next attempt uses a
            # new writer.
            with anyio.CancelScope(shield=True):
                await writer.close()
            del self._writers[command.thread_id]
            self._idle.forget(command.thread_id)
            raise

    async def _load(self, thread_id: str) -> ThreadWriter:
        try:
            writer = await ThreadWriter.load(thread_id, self._deps)
        except (JournalError, OSError) as error:
            self.unreadable[thread_id] = str(error)
            raise journal_not_opened(error) from error
        if not writer.state.exists:
            await writer.close()
            self.summaries.pop(thread_id, None)
            raise ThreadNotFound(thread_id)
        self._register(writer)
        self._sequencer.last = max(self._sequencer.last, writer.state.sequence)
        self._index.on_record(thread_id, writer.state, writer.size_bytes)
        if writer.read_only is None:
            await self.unfinished_items.end_open_work(writer)
        return writer

    def _register(self, writer: ThreadWriter) -> None:
        self._writers[writer.thread_id] = writer
        self._idle.touch(writer.thread_id)

    async def _open_state(
        self, known: dict[str, ThreadSummary], sizes: list[tuple[str, int]]
    ) -> None:
        stale: list[str] = []
        for thread_id, size_bytes in sizes:
            summary = known.get(thread_id)
            if summary is None or summary.size_bytes != size_bytes or summary.unfinished:
                stale.append(thread_id)
            if summary is not None:
                self._index.remember(summary)
                self._sequencer.last = max(self._sequencer.last, summary.sequence)
        for thread_id in stale:
            await self._index_thread(thread_id)
        await self._finish_replacements()

    async def _index_thread(self, thread_id: str) -> None:
        """Rebuilds a thread's summary from its journal. A journal that cannot be opened is logged
        and not touched.
        """
        self.summaries.setdefault(
            thread_id, ThreadSummary(thread_id, 0, 0, [], [], None, "", False, 0, 0, True, None)
        )
        try:
            await self.thread(thread_id)
            await self._evict(thread_id)
            self.relearned.append(thread_id)
        except ThreadNotFound:
            log.warning("journal_empty", thread_id=thread_id)
        except JournalRefuses as error:
            log.error("journal_unreadable", thread_id=thread_id, detail=error.detail)

    async def _finish_replacements(self) -> None:
        """Creates the new threads of each `/new` and `/handoff` whose daemon died after writing the
        first of its two journals.
        """
        for summary in list(self.summaries.values()):
            for new_id in summary.successor_ids:
                if new_id not in self.summaries:
                    await self._finish_replacement(summary.thread_id, new_id)

    async def _finish_replacement(self, thread_id: str, new_thread_id: str) -> None:
        try:
            writer = await self.thread(thread_id)
        except (JournalRefuses, ThreadNotFound) as error:
            log.error("replacement_not_begun", thread_id=new_thread_id, detail=str(error))
            return
        await self._replacements.replace(writer, new_thread_id)

    def set_owner(self, provider_thread_id: str, thread_id: str) -> None:
        """Records the owner of a provider thread; see `ThreadIndex.set_owner`."""
        self._index.set_owner(provider_thread_id, thread_id)

    def record_temporary(self, thread_id: str, provider_thread_id: str) -> None:
        """Records a temporary provider thread; see `ThreadIndex.record_temporary`."""
        self._index.record_temporary(thread_id, provider_thread_id)

    def _publish(self, thread_id: str, record: ev.Record) -> None:
        writer = self._writers[thread_id]
        self._idle.touch(thread_id)
        self._index.on_record(thread_id, writer.state, writer.size_bytes, record)
        if not writer.is_quiescent:
            self._ahead.add(thread_id)
        for listener in list(self._subscribers):
            listener(thread_id, record)

    def _is_current(self, writer: ThreadWriter) -> bool:
        return self._writers.get(writer.thread_id) is writer

    async def _sweep_forever(self) -> None:
        while True:
            await anyio.sleep(SWEEP_S)
            await self.sweep()

    async def sweep(self) -> None:
        """Writes the snapshots that are due, unloads idle threads, and writes the catalogue if it
        has changed.
        """
        for thread_id in self._idle.snapshots_due():
            await self._idle.keep_snapshot(thread_id)
        for thread_id in self._idle.evictions_due():
            await self._evict(thread_id)
        if self._index.changes and time.monotonic() >= self._catalogue_due_s:
            await self._write_catalogue()

    async def _evict(self, thread_id: str) -> None:
        """Unloads a thread if it is idle; it is loaded again on demand."""
        async with self._loading.setdefault(thread_id, anyio.Lock()):
            if self._idle.is_idle(thread_id):
                await self._idle.keep_snapshot(thread_id)
            if (
                self._idle.is_idle(thread_id)
                and (journal := self._idle.drop(thread_id)) is not None
            ):
                with anyio.CancelScope(shield=True):
                    await journal.close()

    async def _close_state(self) -> None:
        for writer in list(self._writers.values()):
            try:
                with suppress(JournalRefuses):
                    await writer.flush()
                await self._idle.keep_snapshot(writer.thread_id)
                await writer.close()
            except (JournalError, OSError) as error:
                # The journals of other threads may still have room, or lie on another disk.
                log.error("journal_not_closed", thread_id=writer.thread_id, detail=str(error))
            self._index.on_record(writer.thread_id, writer.state, writer.size_bytes)
        await self.unfinished_items.write()
        await self._write_catalogue()

    async def _write_catalogue(self) -> None:
        known = self._index.changes
        try:
            await self._store.write_atomic(FILE_NAME, encode_catalogue(self._durable_summaries()))
        except JournalError as error:
            log.warning("catalogue_not_written", detail=str(error))
        else:
            self._index.changes -= known
        self._catalogue_due_s = time.monotonic() + CATALOGUE_S

    def _durable_summaries(self) -> list[ThreadSummary]:
        """Returns all summaries. One with facts that may not be durable is marked as unfinished, so
        that the next daemon reads the thread's journal instead of believing it.
        """
        for thread_id in list(self._ahead):
            writer = self._writers.get(thread_id)
            if writer is not None and writer.is_quiescent:
                self._ahead.discard(thread_id)
                self._index.on_record(thread_id, writer.state, writer.size_bytes)
        return [
            structs.replace(summary, unfinished=True) if thread_id in self._ahead else summary
            for thread_id, summary in self.summaries.items()
        ]
