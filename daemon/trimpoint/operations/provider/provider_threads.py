"""Starts, resumes, forks, fills and archives provider threads, and knows which are loaded in the
present epoch.

Every provider thread that is opened here is bound to its thread before a notification about it is
passed on.
"""

from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import anyio
import msgspec
import structlog
from msgspec import Raw

from trimpoint.codex.appserver.errors import (
    ProviderError,
    ProviderFailure,
    ProviderLacks,
    ProviderTimeout,
)
from trimpoint.codex.appserver.supervisor import (
    CodexLink,
    is_archived_error,
    is_missing_error,
    lacks_method,
)
from trimpoint.codex.appserver.versions import FORKS_AT_TURNS
from trimpoint.codex.notifications.watches import TurnWatch, Watch
from trimpoint.codex.project_trust import ProjectTrust
from trimpoint.core.model import events as ev
from trimpoint.core.model.state import Generation
from trimpoint.operations.history.resync import catch_up
from trimpoint.operations.provider.archiving import Archiving
from trimpoint.operations.provider.client_resumes import ClientResume
from trimpoint.operations.provider.forking import Forking
from trimpoint.operations.provider.given_again import fork_params, with_effort
from trimpoint.operations.provider.inherit import inherit_state, move_queue
from trimpoint.operations.provider.outside_changes import record_missed
from trimpoint.operations.provider.resuming import Resumption
from trimpoint.operations.provider.settings import session_params, unseen, update_params
from trimpoint.operations.provider.terminals import Terminals
from trimpoint.operations.routing.notification_router import NotificationRouter
from trimpoint.operations.routing.routes import Route, ThreadRole
from trimpoint.operations.routing.thread_messages import own_warning
from trimpoint.threads.registry import ThreadRegistry
from trimpoint.threads.writing.writer import ThreadWriter

log = structlog.get_logger()

# They are encoded and sent in a few milliseconds.
INJECTED_AT_ONCE = 4096

Thread = dict[str, Any]


class TemporaryThread(NamedTuple):
    """A hidden provider thread for a summary. `path` is its rollout, `watch` follows its turn."""

    id: str
    path: str | None
    watch: TurnWatch


class ProviderThreads:
    """The provider threads of one Codex. All methods raise `ProviderFailure` when Codex gives no
    result, unless they say otherwise.
    """

    def __init__(
        self,
        registry: ThreadRegistry,
        link: CodexLink,
        router: NotificationRouter,
        archiving: Archiving,
    ) -> None:
        self.link = link
        self.router = router
        self.terminals = Terminals(link)
        self._archiving = archiving
        self.prompts = router.prompts
        self.names = router.names
        self._registry = registry
        self._loaded: set[str] = set()
        self._begun: dict[str, Raw] = {}
        self._resumption = Resumption(link, router)
        self.forking = Forking(link, self)
        self.trust = ProjectTrust.of_link(link)

    def is_loaded(self, provider_id: str | None) -> bool:
        """Returns whether the running Codex has the provider thread loaded, with the daemon
        subscribed to it.
        """
        return provider_id in self._loaded

    def forget_epoch(self) -> None:
        """Forgets all loaded threads."""
        self._loaded.clear()
        self._begun.clear()
        self.terminals.forget_epoch()
        self._archiving.forget_epoch()

    def forget(self, provider_id: str) -> None:
        """Marks the provider thread as not loaded."""
        self._loaded.discard(provider_id)
        self._begun.pop(provider_id, None)

    @contextmanager
    def read_back_if_unanswered(self, provider_id: str) -> Generator[None]:
        """Has the thread compared with the ledger before its next use if Codex, which may have
        acted on a request, does not answer it in time.
        """
        try:
            yield
        except ProviderTimeout:
            self.forget(provider_id)
            raise

    def use(self, provider_id: str, route: Route) -> None:
        """Marks the provider thread as loaded, and routes its notifications to
        `route.thread_id`.
        """
        self._loaded.add(provider_id)
        self._registry.set_owner(provider_id, route.thread_id)
        self.router.bind(provider_id, route)

    async def start(self, params: dict[str, Any], *, may_trust: bool = False) -> Raw:
        """Starts a provider thread that reports raw items, and returns Codex's answer. Call it
        inside `router.buffering()`. Codex trusts no further folder for it, unless it `may_trust`.
        """
        before = None if may_trust else await self.trust.before(params)
        raw = await self.link.request("thread/start", {**params, "experimentalRawEvents": True})
        await self.trust.put_back(before)
        self._begun[str(thread_in(raw)["id"])] = raw.copy()
        return raw

    async def attach(self, provider_id: str, params: dict[str, Any]) -> Raw:
        """Calls `thread/resume` of a loaded thread for a client, and returns Codex's answer.

        Codex refuses to resume a loaded thread without a turn (measured). Then the answer to its
        start is returned.
        """
        try:
            return await self.link.request("thread/resume", {**params, "threadId": provider_id})
        except ProviderError as error:
            if not is_missing_error(error) or provider_id not in self._begun:
                raise
            return self._begun[provider_id]

    async def inject(self, provider_id: str, items: list[bytes]) -> None:
        """Appends raw items to the model's context, many in parts, so that no client waits."""
        for at in range(0, len(items), INJECTED_AT_ONCE):
            part = [Raw(item) for item in items[at : at + INJECTED_AT_ONCE]]
            await self.link.request("thread/inject_items", {"threadId": provider_id, "items": part})

    async def resume(
        self, writer: ThreadWriter, generation: Generation, asked: ClientResume | None = None
    ) -> tuple[ev.AnyEvent, ...]:
        """Loads a generation's provider thread again; see `Resumption.resume`."""
        facts = await self._resumption.resume(writer, generation, asked)
        self._loaded.add(str(generation.provider_thread_id))
        return facts

    @property
    def forks_exactly(self) -> bool:
        """Returns whether a fork at a turn has exactly the context of that turn."""
        return self.forking.forks_exactly

    async def take_in(self, writer: ThreadWriter) -> None:
        """Records turns that other programs added to a thread that is not loaded, or took back."""
        record_missed(
            writer,
            await catch_up(self.link, writer.state, writer.state.generation, only_ended=True),
        )

    async def fork_temporary(
        self,
        writer: ThreadWriter,
        provider_id: str,
        *,
        ephemeral: bool = False,
        hidden: bool = False,
        model: str | None = None,
        effort: str | None = None,
    ) -> TemporaryThread:
        """Returns a temporary fork of a provider thread, with another model or reasoning effort if
        given. Its turn is shown to clients, unless the fork is `ephemeral` or `hidden`. It is not
        cancelled: a fork that Codex makes later would remain in its lists.
        """
        params: dict[str, Any] = {
            **fork_params(writer.state.settings),
            "threadId": provider_id,
            "excludeTurns": True,
        }
        if model is not None:
            params["model"] = model
        if model is not None or effort is not None:
            params = with_effort(params, effort)
        if ephemeral:
            params = unseen(params)
        role = ThreadRole.HIDDEN if ephemeral or hidden else ThreadRole.TEMPORARY
        with anyio.CancelScope(shield=True), self.router.buffering():
            fork = thread_in(await self.forking.fork_for_operation(writer.state, params))
            return self._temporary(writer, fork, role)
        raise AssertionError("nothing cancels the scope")  # pragma: no cover

    async def start_temporary(self, writer: ThreadWriter, **chosen: str | None) -> TemporaryThread:
        """Returns an empty temporary thread with the thread's settings, but for a `model` or an
        `effort` that is given. Its turn is hidden from clients.
        """
        with self.router.buffering():
            scratch = self._temporary(writer, await self._start_empty(writer), ThreadRole.HIDDEN)
        settings = update_params(writer.state.settings, **chosen)
        if settings:
            await self.link.request("thread/settings/update", {**settings, "threadId": scratch.id})
        return scratch

    async def start_candidate(self, writer: ThreadWriter, watch: Watch) -> Thread:
        """Starts an empty provider thread that may serve the thread later. Its notifications are
        quarantined until then.
        """
        with self.router.buffering():
            thread = await self._start_empty(writer)
            provider_id = str(thread["id"])
            self.router.watches[provider_id] = watch
            self._registry.record_temporary(writer.thread_id, provider_id)
            self.router.quarantine(provider_id)
        return thread

    async def _start_empty(self, writer: ThreadWriter) -> Thread:
        return thread_in(
            await self.start({**session_params(writer.state), "sessionStartSource": "clear"})
        )

    def _temporary(self, writer: ThreadWriter, thread: Thread, role: ThreadRole) -> TemporaryThread:
        scratch = TemporaryThread(str(thread["id"]), thread.get("path"), TurnWatch())
        self.router.watches[scratch.id] = scratch.watch
        self.router.bind(scratch.id, Route(writer.thread_id, role, 0))
        self._registry.record_temporary(writer.thread_id, scratch.id)
        self.router.release(scratch.id)
        return scratch

    async def fork_hidden(
        self, writer: ThreadWriter, provider_id: str, last_turn_id: str | None
    ) -> Thread:
        """Forks a provider thread after a turn, or at its end if `last_turn_id` is None. Clients
        are not notified of it.

        :raises ProviderLacks: when this Codex cannot fork at a turn.

        An archived thread cannot be forked (measured: 0.163, 0.171), so it is unarchived meanwhile.
        """
        params = {
            **fork_params(writer.state.settings),
            "threadId": provider_id,
            "excludeTurns": True,
            "deferGoalContinuation": True,
        }
        if last_turn_id is not None:
            if (self.link.version or (0,)) < FORKS_AT_TURNS:
                raise ProviderLacks("thread/fork at a turn")
            params["lastTurnId"] = last_turn_id
        fork = partial(self.forking.fork_for_operation, writer.state, params)
        try:
            return await self._hide(writer, fork)
        except ProviderError as error:
            if not is_archived_error(error):
                raise
        await self.link.request("thread/unarchive", {"threadId": provider_id})
        try:
            return await self._hide(writer, fork)
        finally:
            with anyio.CancelScope(shield=True):
                await self._archiving.archive(provider_id)

    async def start_hidden(self, writer: ThreadWriter, params: dict[str, Any]) -> Thread:
        """Starts a provider thread that reports raw items. Clients are not notified of it."""
        return await self._hide(writer, partial(self.start, params))

    async def _hide(self, writer: ThreadWriter, opened: Callable[[], Awaitable[Raw]]) -> Thread:
        with self.router.buffering():
            thread = thread_in(await opened())
            opened_id = str(thread["id"])
            self._loaded.add(opened_id)
            self.router.bind(opened_id, Route(writer.thread_id, ThreadRole.HIDDEN, 0))
            self._registry.record_temporary(writer.thread_id, opened_id)
            self.router.release(opened_id)
        return thread

    async def delete_quietly(self, provider_id: str | None) -> None:
        """Deletes a provider thread that is not used. Never raises, because one that remains is
        hidden and harmless.
        """
        if provider_id is None:
            return
        self.forget(provider_id)
        self.router.watches.pop(provider_id, None)
        self.router.take_quarantined(provider_id)
        try:
            await self.link.request("thread/delete", {"threadId": provider_id})
        except ProviderError as error:
            if lacks_method(error):
                await self._archiving.archive(provider_id)
        except ProviderFailure as error:
            log.info("scratch_thread_left_behind", detail=str(error))

    async def detach(self, writer: ThreadWriter, generation: Generation) -> str:
        """Stops passing on the notifications of a generation's provider thread. Returns the reason
        why it stays loaded, or an empty string.
        """
        provider_id = generation.provider_thread_id
        if provider_id is None:
            return ""
        self.router.bind(
            provider_id, Route(writer.thread_id, ThreadRole.RETIRED, generation.number)
        )
        if provider_id in self._loaded and await self.terminals.running(provider_id):
            self.terminals.retain(writer.thread_id, provider_id)
            return "background terminals still run"
        return ""

    async def archive_previous(self, writer: ThreadWriter) -> None:
        """Detaches and archives the provider thread before the present one. Never raises, because
        one that remains is hidden.
        """
        previous = writer.state.generations[-2]
        try:
            retained = await self.detach(writer, previous)
        except ProviderFailure as error:
            log.info("superseded_thread_not_let_go", thread_id=writer.thread_id, detail=str(error))
            return
        writer.record_facts(ev.SessionStopped(previous.number, retained))
        await self.archive_superseded(writer, writer.state.generation.number)

    async def archive(self, writer: ThreadWriter, generation: Generation) -> None:
        """Archives a detached provider thread, unless its terminals are running, because archiving
        kills them.
        """
        provider_id = generation.provider_thread_id
        if provider_id is not None and provider_id not in self.terminals.retained(writer.thread_id):
            self.forget(provider_id)
            await self._archiving.archive(provider_id)

    def reattach(self, writer: ThreadWriter) -> bool:
        """Passes on the notifications of a detached provider thread again, if it stayed loaded.
        Returns whether it did.
        """
        generation = writer.state.generation
        provider_id = generation.provider_thread_id
        if provider_id is None or not self.terminals.release(writer.thread_id, provider_id):
            return False
        self.use(provider_id, Route(writer.thread_id, ThreadRole.CURRENT, generation.number))
        writer.record_facts(ev.SessionReady(generation.number))
        return True

    async def archive_superseded(self, writer: ThreadWriter, number: int) -> None:
        """Moves the queued prompts of the generation before `number` to this one, and archives its
        provider thread. Never raises, because one that remains is hidden and harmless; its queue is
        moved when the thread is loaded again.

        The caller gives the serving generation, because a trim that reads from its provider thread
        may be under way when this runs.
        """
        if number > 1:
            previous, serving = writer.state.generations[number - 2 : number]
            try:
                if lost := await move_queue(self.link, previous, serving):
                    self.router.notify(writer.thread_id, "warning", own_warning(lost))
                if not self._archiving.holds(writer.thread_id, previous.provider_thread_id):
                    await self.archive(writer, previous)
                    await self._archiving.archive_left(writer.state, number - 2)
            except ProviderFailure as error:
                about = {"thread_id": writer.thread_id, "detail": str(error)}
                log.info("superseded_thread_not_archived", **about)

    async def inherit_state(
        self, writer: ThreadWriter, old_id: str | None, new_id: str
    ) -> list[str]:
        """Carries over the properties of a provider thread; see `inherit.inherit_state`."""
        return await inherit_state(self.link, self.names, writer, old_id, new_id)

    async def archive_finished(self) -> None:
        """Archives the provider threads that have no reason to stay any more."""
        for provider_id in [*await self.terminals.sweep(), *self._archiving.due()]:
            self.forget(provider_id)
            await self._archiving.archive(provider_id)

    async def release(self, provider_id: str) -> None:
        """Unsubscribes from a provider thread, which Codex then unloads after a while."""
        self.forget(provider_id)
        await self.link.request("thread/unsubscribe", {"threadId": provider_id})


def thread_in(raw: Raw) -> Thread:
    """Returns the thread object in Codex's answer."""
    thread: Thread = msgspec.json.decode(raw)["thread"]
    return thread
