"""The registry of threads: what the daemon, or the part of it that serves one launch profile, sees
of the threads of a state directory.

A registry keeps nothing about threads itself: all registries of a state directory share one
`LoadedThreads`. It keeps its subscribers, and passes on to them the records of its own threads
only.
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import structlog
from trimpoint_protocol.commands import AnyClientCommand

from trimpoint.config.sections import ThreadsSection
from trimpoint.core.model import commands as internal
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Policy
from trimpoint.journal.port import StateStore
from trimpoint.threads.catalogue import ThreadSummary
from trimpoint.threads.idle import InUse
from trimpoint.threads.loaded_threads import LoadedThreads, Subscriber
from trimpoint.threads.uncounted import UncountedThreads
from trimpoint.threads.unfinished_items import UnfinishedItems
from trimpoint.threads.writing.flushing import OnTrouble, Trouble
from trimpoint.threads.writing.receipts import CommandResult
from trimpoint.threads.writing.writer import ThreadWriter

log = structlog.get_logger()


class ThreadRegistry:
    """The threads for which `owns(thread_id)` is true; without `owns` all. `policy` is the policy
    for their meters. Every thread can be opened through it; only its own count as loaded, and its
    subscribers receive the records of its own alone.

    Use it as `async with ThreadRegistry.running(store, policy) as registry`.
    """

    def __init__(
        self, threads: LoadedThreads, policy: Policy, owns: Callable[[str], bool] | None = None
    ) -> None:
        self.policy = policy
        self.is_closed = False
        self._threads = threads
        self._owns = owns
        self._subscribers: list[Subscriber] = []
        self._trouble_subscribers: list[OnTrouble] = []
        self._keeping: list[InUse] = []
        self._parts: list[ThreadRegistry] = []
        threads.subscribe(self._publish)
        threads.on_trouble.append(self._pass_on_trouble)

    @classmethod
    @asynccontextmanager
    async def running(
        cls, store: StateStore, policy: Policy, rules: ThreadsSection | None = None
    ) -> AsyncGenerator["ThreadRegistry"]:
        """Opens a state directory: reads the catalogue and starts the flusher. When the block ends,
        everything is durable.
        """
        async with LoadedThreads.running(store, policy, rules) as threads:
            yield cls(threads, policy)

    def part(self, owns: Callable[[str], bool], policy: Policy | None = None) -> "ThreadRegistry":
        """Returns a registry of the threads for which `owns(thread_id)` is true."""
        part = ThreadRegistry(self._threads, policy or self.policy, owns)
        self._parts = [*(one for one in self._parts if not one.is_closed), part]
        return part

    def close(self) -> None:
        """Removes all subscribers and predicates that were added through this registry and its
        parts. Records may still be written afterwards.
        """
        for part in self._parts:
            part.close()
        if self.is_closed:
            return
        self.is_closed = True
        self._subscribers.clear()
        self._trouble_subscribers.clear()
        self._threads.unsubscribe(self._publish)
        self._threads.on_trouble.remove(self._pass_on_trouble)
        for in_use in self._keeping:
            self._threads.release_from_memory(in_use)

    def subscribe(self, listener: Subscriber) -> None:
        """Calls `listener(thread_id, record)` for each record after it is durable, in order within
        a thread.
        """
        self._subscribers.append(listener)

    def unsubscribe(self, listener: Subscriber) -> None:
        """Stops calling `listener`."""
        if listener in self._subscribers:  # after `close` there are no subscribers any more
            self._subscribers.remove(listener)

    def subscribe_trouble(self, listener: OnTrouble) -> None:
        """Calls `listener` when a thread's journal cannot be written, and when it can again."""
        self._trouble_subscribers.append(listener)

    def keep_in_memory(self, in_use: InUse) -> None:
        """Keeps each thread in memory while `in_use(thread_id)` is true, until `close`. A thread
        whose writer is referenced elsewhere stays in any case.
        """
        self._keeping.append(in_use)
        self._threads.keep_in_memory(in_use)

    def loaded_writers(self) -> list[ThreadWriter]:
        """Returns the writers of this registry's threads that are in memory."""
        return [
            writer for writer in self._threads.loaded_writers() if self._is_own(writer.thread_id)
        ]

    def loaded(self, thread_id: str) -> ThreadWriter | None:
        """Returns the writer of a thread, or None if the thread is not in memory."""
        return self._threads.loaded(thread_id)

    async def thread(self, thread_id: str) -> ThreadWriter:
        """Returns the writer of a thread; see `LoadedThreads.thread`."""
        return await self._threads.thread(thread_id)

    async def create(self, command: internal.CreateThread) -> ThreadWriter:
        """Creates a thread and its journal; see `LoadedThreads.create`."""
        return await self._threads.create(command)

    async def dispatch(self, command: AnyClientCommand) -> CommandResult:
        """Executes a client's command on its thread; see `LoadedThreads.dispatch`."""
        return await self._threads.dispatch(command)

    async def sweep(self) -> None:
        """Writes due snapshots and the catalogue, and unloads idle threads."""
        await self._threads.sweep()

    @property
    def unfinished_items(self) -> UnfinishedItems:
        """Returns the items of running turns that are not finished."""
        return self._threads.unfinished_items

    @property
    def sequence(self) -> int:
        """Returns the last global sequence number that was given out."""
        return self._threads.sequence

    @property
    def summaries(self) -> dict[str, ThreadSummary]:
        """Returns the summaries of all threads by thread id; no thread is opened."""
        return self._threads.summaries

    @property
    def uncounted(self) -> UncountedThreads:
        """Returns the threads of which the catalogue does not know yet what they have spent."""
        return self._threads.uncounted

    @property
    def unreadable(self) -> dict[str, str]:
        """Returns by thread id why a journal could not be opened."""
        return self._threads.unreadable

    @property
    def relearned(self) -> list[str]:
        """Returns the threads whose catalogue entries did not match their journals: the daemon
        before may have died while it worked on them.
        """
        return self._threads.relearned

    @property
    def renamed(self) -> dict[str, str]:
        """Returns a mapping from Codex's ids to the ids that clients must see instead: of provider
        threads that have another id than their thread, and of repeated turns.
        """
        return self._threads.renamed

    @property
    def retried(self) -> dict[str, str]:
        """Returns for each repeated turn Codex's id of the repetition."""
        return self._threads.retried

    @property
    def launches(self) -> dict[str, bytes]:
        """Returns the launch requests by thread id, for the threads that have one."""
        return self._threads.launches

    def owner_of(self, provider_thread_id: str) -> str | None:
        """Returns the id of the thread that a provider thread serves or served, or None if it
        belongs to no thread.
        """
        return self._threads.owner_of(provider_thread_id)

    def stable_id(self, any_id: str) -> str:
        """Returns the id of the thread that is meant by its own id or by that of one of its
        provider threads; an unknown id as it is.
        """
        if any_id in self.summaries or self.loaded(any_id) is not None:
            return any_id
        return self.owner_of(any_id) or any_id

    async def written(self, writer: ThreadWriter) -> None:
        """Waits until a client's request is durable; see `Patience.written`."""
        await self._threads.patience.written(writer)

    def set_owner(self, provider_thread_id: str, thread_id: str) -> None:
        """Records the owner of a provider thread; see `ThreadIndex.set_owner`."""
        self._threads.set_owner(provider_thread_id, thread_id)

    def record_temporary(self, thread_id: str, provider_thread_id: str) -> None:
        """Records a temporary provider thread; see `ThreadIndex.record_temporary`."""
        self._threads.record_temporary(thread_id, provider_thread_id)

    def _is_own(self, thread_id: str) -> bool:
        return self._owns is None or self._owns(thread_id)

    def _pass_on_trouble(self, thread_id: str, trouble: Trouble | None) -> None:
        if self._is_own(thread_id):
            for listener in list(self._trouble_subscribers):
                listener(thread_id, trouble)

    def _publish(self, thread_id: str, record: ev.Record) -> None:
        if self._is_own(thread_id):
            for listener in list(self._subscribers):
                try:
                    listener(thread_id, record)
                except Exception:
                    # The boundary of a subscriber: its defect costs it this record, and no other.
                    log.exception("subscriber_broke", thread_id=thread_id)
