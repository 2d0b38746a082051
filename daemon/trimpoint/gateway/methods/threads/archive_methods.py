"""Handles `thread/archive`, `thread/unarchive` and `thread/delete`, for a thread with all its
generations.
"""

import anyio
import msgspec
from msgspec import Raw
from trimpoint_protocol.commands import ArchiveThread

from trimpoint.codex.appserver.errors import ProviderError
from trimpoint.core.model import events as ev
from trimpoint.gateway.methods.threads.thread_reads import ThreadReads
from trimpoint.gateway.methods.threads.thread_requests import MethodDeps, ThreadRequests
from trimpoint.gateway.session.lifecycle_notifications import LifecycleNotifications
from trimpoint.gateway.session.requests.request import ClientRequest, Handler
from trimpoint.threads.ids import new_uuid7
from trimpoint.threads.writing.writer import ThreadWriter

# How long `thread/archive` waits for Codex to archive the thread. After that, clients see the
# thread as archived even if Codex has not archived it.
ARCHIVE_WAIT_S = 10.0


class ArchiveMethods:
    """Handles archiving and deletion. `handlers` maps method names to handlers."""

    def __init__(
        self,
        deps: MethodDeps,
        requests: ThreadRequests,
        reads: ThreadReads,
        announcements: LifecycleNotifications,
    ) -> None:
        self._registry, self._sessions, self._threads, self._identity = deps
        self._link = self._threads.link
        self._requests = requests
        self._reads = reads
        self._announcements = announcements
        self.handlers: dict[str, Handler] = {
            "thread/archive": self._archive,
            "thread/unarchive": self._unarchive,
            "thread/delete": self._delete,
        }

    async def _archive(self, client_request: ClientRequest) -> None:
        thread_id = self._identity.thread_named_in(client_request)
        if thread_id is None or self._is_in_codex_archive(thread_id):
            return await self._requests.forward(client_request)
        with self._announcements.deferred(thread_id):
            await self._archive_thread(thread_id)
            client_request.answer({})
        return None

    async def _unarchive(self, client_request: ClientRequest) -> None:
        thread_id = self._identity.thread_named_in(client_request)
        if thread_id is None:
            return await self._requests.forward(client_request)
        writer = await self._registry.thread(thread_id)
        with self._announcements.deferred(thread_id):
            async with self._sessions.lock(thread_id):  # after an archiving that is under way
                raw = await self._unarchive_thread(writer)
            writer.record_facts(*((ev.ThreadUnarchived(),) if writer.state.archived else ()))
            await writer.flush()
            raw = raw or await self._reload(writer)
            client_request.answer(self._reads.without_turns(writer.state, raw))
        return None

    async def _delete(self, client_request: ClientRequest) -> None:
        thread_id = self._identity.thread_named_in(client_request)
        if thread_id is None:
            return await self._requests.forward(client_request)
        writer = await self._registry.thread(thread_id)
        with self._announcements.deferred(thread_id):
            await self._sessions.delete(writer)
            client_request.answer({})
        return None

    def _is_in_codex_archive(self, thread_id: str) -> bool:
        """Returns whether Codex has archived the thread. If it has, Codex itself refuses to archive
        it twice; a thread with running terminals is archived for clients only.
        """
        is_loaded = self._threads.is_loaded(self._identity.provider_of(thread_id))
        return self._registry.summaries[thread_id].archived and not is_loaded

    async def _archive_thread(self, thread_id: str) -> None:
        """Archives a thread, and waits for a bounded time until Codex has archived it."""
        stopped = anyio.Event()

        def note(of_thread: str, record: ev.Record) -> None:
            if of_thread == thread_id and any(
                isinstance(event, ev.SessionStopped) for event in record.events
            ):
                stopped.set()

        self._registry.subscribe(note)
        try:
            result = await self._sessions.dispatch(
                ArchiveThread(command_id=new_uuid7(), thread_id=thread_id)
            )
            if result.record.events and self._link.peer is not None:
                with anyio.move_on_after(ARCHIVE_WAIT_S):
                    await stopped.wait()
        finally:
            self._registry.unsubscribe(note)

    async def _unarchive_thread(self, writer: ThreadWriter) -> Raw | None:
        """Returns Codex's answer, or None if Codex never archived the thread, because its
        generation has no turn or its terminals are running.
        """
        if self._threads.reattach(writer):
            return None
        try:
            return await self._unarchive_at_codex(writer)
        except ProviderError as error:
            if not writer.state.archived or "no archived rollout found" not in error.message:
                raise
            return None

    async def _unarchive_at_codex(self, writer: ThreadWriter) -> Raw:
        """Unarchives the provider thread. The first request for a thread that holds only injected
        items may fail after it has moved the rollout (measured: 0.133, 0.144), so it is repeated.
        """
        params = {"threadId": self._identity.provider_of(writer.thread_id)}
        try:
            return await self._link.request("thread/unarchive", params)
        except ProviderError as error:
            if "failed to read unarchived thread" not in error.message:
                raise
        return await self._link.request("thread/unarchive", params)

    async def _reload(self, writer: ThreadWriter) -> Raw:
        session = await self._sessions.ready(writer.thread_id)
        params = {"threadId": session.provider_thread_id, "includeTurns": False}
        thread = msgspec.json.decode(
            await self._link.request("thread/read", params), type=dict[str, Raw]
        )["thread"]
        return Raw(msgspec.json.encode({"thread": thread}))
