"""Codex threads as things to start, resume, fork, fill and put away; knows which are loaded in the
present epoch.

Every provider thread that is opened here is bound to its stable thread before anything said of it
is passed on.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, NamedTuple

import anyio
import anyio.to_thread
import msgspec
import structlog
from msgspec import Raw

from trimpoint.codex.appserver.peer import ProviderError, ProviderFailure
from trimpoint.codex.appserver.supervisor import (
    CodexLink,
    is_archived_error,
    is_missing_error,
    lacks_method,
)
from trimpoint.codex.history.resync import catch_up
from trimpoint.codex.history.rollout import Ending, injected_ending
from trimpoint.codex.history.rollout_files import conversation_lines
from trimpoint.codex.notifications.watches import TurnWatch, Watch
from trimpoint.core.model import events as ev
from trimpoint.core.model.state import Generation, ThreadState
from trimpoint.operations.provider.client_resumes import ClientResume
from trimpoint.operations.provider.outside_changes import record_missed, renamed
from trimpoint.operations.provider.prompts import Prompts
from trimpoint.operations.provider.settings import (
    fork_as_start_params,
    fork_params,
    is_confirmed,
    lasting,
    missing_params,
    resume_params,
    resumed_settings,
    session_params,
    update_params,
    with_effort,
)
from trimpoint.operations.provider.terminals import Terminals
from trimpoint.operations.routing.notification_router import NotificationRouter, Route, ThreadRole
from trimpoint.threads.registry import ThreadRegistry
from trimpoint.threads.writer import ThreadWriter

log = structlog.get_logger()

Thread = dict[str, Any]

# Codex's own setting of how much its model thinks.
# Parameters of `thread/fork` that name a turn.
FORKED_AT = ("beforeTurnId", "lastTurnId")
# Older ones take `lastTurnId` and fork the whole thread (measured: 0.133 does, 0.153 does not).
FORKS_BEHIND_A_TURN = (0, 153, 0)
# Older ones resume a thread with sandbox and approvals as configured, not as they were, and tell
# the model so in the middle of the conversation (measured: 0.153 does, 0.163 does not).
REMEMBERS_SETTINGS = (0, 163, 0)


class TemporaryThread(NamedTuple):
    """A provider thread to try something on, hidden from everyone. `path` is its rollout."""

    id: str
    path: str | None
    watch: TurnWatch


class ProviderThreads:
    """All methods raise ProviderFailure when Codex refuses, is gone or does not answer, unless they
    say otherwise.
    """

    def __init__(
        self, engine: ThreadRegistry, link: CodexLink, inbound: NotificationRouter
    ) -> None:
        self.link = link
        self.inbound = inbound
        self.terminals = Terminals(link)
        self.prompts = Prompts()
        self._engine = engine
        self._loaded: set[str] = set()
        self._begun: dict[str, Raw] = {}

    def is_loaded(self, provider_id: str | None) -> bool:
        """Returns whether the present child has the thread loaded and subscribed for us."""
        return provider_id in self._loaded

    def forget_epoch(self) -> None:
        """The child is gone, and with it all that was loaded."""
        self._loaded.clear()
        self._begun.clear()
        self.terminals.forget_epoch()

    def forget(self, provider_id: str) -> None:
        """Marks the thread as unloaded, by us or by Codex."""
        self._loaded.discard(provider_id)
        self._begun.pop(provider_id, None)

    def use(self, provider_id: str, route: Route) -> None:
        """From now on this provider thread speaks for `route.thread_id`."""
        self._loaded.add(provider_id)
        self._engine.set_owner(provider_id, route.thread_id)
        self.inbound.bind(provider_id, route)

    async def start(self, params: dict[str, Any]) -> Raw:
        """A new provider thread that reports raw items: Codex's answer. Call inside
        `inbound.holding()`.
        """
        raw = await self.link.request("thread/start", {**params, "experimentalRawEvents": True})
        self._begun[str(thread_in(raw)["id"])] = raw.copy()
        return raw

    async def attach(self, provider_id: str, params: dict[str, Any]) -> Raw:
        """`thread/resume` of a loaded thread on a client's behalf: Codex's answer about it.

        Codex refuses to resume a thread that has had no turn (measured), though it is there; then
        what it answered at the start stands.
        """
        try:
            return await self.link.request("thread/resume", {**params, "threadId": provider_id})
        except ProviderError as error:
            if not is_missing_error(error) or provider_id not in self._begun:
                raise
            return self._begun[provider_id]

    async def inject(self, provider_id: str, items: list[bytes]) -> None:
        """Append items to what the model sees; Codex refuses an empty list, so none is sent."""
        if items:
            params = {"threadId": provider_id, "items": [Raw(item) for item in items]}
            await self.link.request("thread/inject_items", params)

    async def resume(
        self, writer: ThreadWriter, generation: Generation, asked: ClientResume | None = None
    ) -> tuple[ev.AnyEvent, ...]:
        """Load a generation's provider thread again, with a client's own request if there is one;
        the facts to record about it.

        What Codex did without the daemon is written down: it, and not the ledger, is what the model
        sees.
        """
        provider_id = str(generation.provider_thread_id)
        self.inbound.bind(
            provider_id, Route(writer.thread_id, ThreadRole.CURRENT, generation.number)
        )
        by_client = asked if asked is not None and asked.may_load else None
        raw = await self._resume_or_unarchive(writer, provider_id, by_client)
        params = by_client.params if by_client is not None else {}
        answer = msgspec.json.decode(raw)
        missed = await catch_up(self.link, writer.state, generation)
        record_missed(writer, missed)
        is_known = self._keeps_settings(generation) and is_confirmed(writer.state.settings)
        if missed.is_anything or lasting(params) or is_known:
            settings = resumed_settings(writer.state.settings, params, answer)
            writer.record_facts(ev.SettingsChanged(settings))
            if by_client is not None:
                by_client.answer = raw.copy()
        else:
            await self._confirm_settings(writer, provider_id, answer)
        self._loaded.add(provider_id)
        thread: Thread = answer["thread"]
        path = thread.get("path") or generation.rollout_path
        # A resumed thread reports no raw items (measured), so from here on the rollout has to bring
        # them.
        bound = ev.ProviderThreadBound(generation.number, provider_id, path, raw_events=False)
        return *renamed(writer.state, thread), bound, ev.SessionReady(generation.number)

    async def take_in(self, writer: ThreadWriter) -> None:
        """Write down the turns that other programs added to a thread that is not loaded, or took
        back.
        """
        record_missed(
            writer,
            await catch_up(self.link, writer.state, writer.state.generation, only_ended=True),
        )

    def _keeps_settings(self, generation: Generation) -> bool:
        """whether Codex loads the thread with what was set on it: not before its first turn, though
        it said so (measured: 0.163).
        """
        return generation.turn_count > 0 and not self._forgets_settings

    @property
    def _forgets_settings(self) -> bool:
        return (self.link.version or REMEMBERS_SETTINGS) < REMEMBERS_SETTINGS

    async def _confirm_settings(
        self, writer: ThreadWriter, provider_id: str, answer: dict[str, Any]
    ) -> None:
        """Set once more what Codex had acknowledged and forgot when it was killed (measured:
        0.163).
        """
        changes = missing_params(writer.state.settings, answer)
        if changes:
            await self.link.request("thread/settings/update", {**changes, "threadId": provider_id})

    async def _resume_or_unarchive(
        self, writer: ThreadWriter, provider_id: str, asked: ClientResume | None
    ) -> Raw:
        params: dict[str, Any] = {"threadId": provider_id, "excludeTurns": True}
        if asked is not None:
            asked.pause(self.inbound.pausing(provider_id))
            params = asked.request_for(provider_id)
        if self._forgets_settings:
            params = {**resume_params(writer.state.settings), **params}
        try:
            return await self.link.request("thread/resume", params)
        except ProviderError as error:
            if not is_archived_error(error):
                raise
            if not writer.state.session_stopped:
                # It was archived without the daemon, and a person meant it.
                writer.record_facts(
                    ev.ThreadArchived(), ev.SessionStopped(writer.state.generation.number)
                )
                raise
        await self.link.request("thread/unarchive", {"threadId": provider_id})
        return await self.link.request("thread/resume", params)

    async def fork(self, state: ThreadState, params: dict[str, Any]) -> Raw:
        """`thread/fork` with these parameters: Codex's answer. Call inside `inbound.buffering()`.

        Codex takes a thread that ends with injected items for one that was broken off in a turn,
        and each fork of it tells the model that the person did so (measured: 0.133 to 0.171). Such
        a thread is forked behind its last turn, and the fork is given the items anew; where no turn
        ran, a new thread is given all of them.
        """
        ending = (
            None
            if any(params.get(name) for name in FORKED_AT)
            else await self._ending(state, params["threadId"])
        )
        if ending is None:
            return await self.link.request("thread/fork", params)
        if ending.last_turn_id is not None:
            raw = await self.link.request(
                "thread/fork", {**params, "lastTurnId": ending.last_turn_id}
            )
        else:
            raw = await self.start_in_place_of_fork(state, params)
        try:
            await self.inject(str(thread_in(raw)["id"]), ending.injected)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self.delete_quietly(str(thread_in(raw)["id"]))
            raise
        return raw

    async def _ending(self, state: ThreadState, provider_id: str) -> Ending | None:
        """The injected items that a provider thread of ours ends with; None where Codex does not
        fork behind a turn.
        """
        paths = [
            one.rollout_path for one in state.generations if one.provider_thread_id == provider_id
        ]
        if not paths or paths[-1] is None:
            return None
        ending = injected_ending(await anyio.to_thread.run_sync(conversation_lines, paths[-1]))
        if (
            ending is not None
            and ending.last_turn_id is not None
            and (self.link.version or (0,)) < FORKS_BEHIND_A_TURN
        ):
            return None
        return ending

    async def start_in_place_of_fork(self, state: ThreadState, params: dict[str, Any]) -> Raw:
        """An empty thread that is otherwise as `thread/fork` with these parameters would make it,
        and an answer as to that.
        """
        request = {**fork_as_start_params(state.settings, params), "sessionStartSource": "clear"}
        answer = msgspec.json.decode(await self.start(request))
        thread = answer["thread"]
        thread["forkedFromId"] = params["threadId"]
        if state.name is not None:
            await self.link.request(
                "thread/name/set", {"threadId": thread["id"], "name": state.name}
            )
            thread["name"] = state.name
        return Raw(msgspec.json.encode(answer))

    async def fork_temporary(
        self,
        writer: ThreadWriter,
        provider_id: str,
        *,
        ephemeral: bool = False,
        model: str | None = None,
        effort: str | None = None,
    ) -> TemporaryThread:
        """A scratch thread with the context of another; with a model and an effort of its own."""
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
            params |= {"ephemeral": True, "approvalPolicy": "never", "sandbox": "read-only"}
        with self.inbound.buffering():
            fork = thread_in(await self.fork(writer.state, params))
            return self._temporary(
                writer, fork, ThreadRole.HIDDEN if ephemeral else ThreadRole.TEMPORARY
            )

    async def start_temporary(self, writer: ThreadWriter) -> TemporaryThread:
        """An empty scratch thread with the thread's settings as they stand; nothing of its turn is
        shown.
        """
        with self.inbound.buffering():
            scratch = self._temporary(writer, await self._start_empty(writer), ThreadRole.HIDDEN)
        settings = update_params(writer.state.settings)
        if settings:
            await self.link.request("thread/settings/update", {**settings, "threadId": scratch.id})
        return scratch

    async def start_candidate(self, writer: ThreadWriter, watch: Watch) -> Thread:
        """Starts an empty provider thread that may serve the thread later; until then its
        notifications are quarantined.
        """
        with self.inbound.buffering():
            thread = await self._start_empty(writer)
            provider_id = str(thread["id"])
            self.inbound.watches[provider_id] = watch
            self._engine.record_temporary(writer.thread_id, provider_id)
            self.inbound.quarantine(provider_id)
        return thread

    async def _start_empty(self, writer: ThreadWriter) -> Thread:
        return thread_in(
            await self.start({**session_params(writer.state), "sessionStartSource": "clear"})
        )

    def _temporary(self, writer: ThreadWriter, thread: Thread, role: ThreadRole) -> TemporaryThread:
        scratch = TemporaryThread(str(thread["id"]), thread.get("path"), TurnWatch())
        self.inbound.watches[scratch.id] = scratch.watch
        self.inbound.bind(scratch.id, Route(writer.thread_id, role, 0))
        self._engine.record_temporary(writer.thread_id, scratch.id)
        self.inbound.release(scratch.id)
        return scratch

    async def fork_hidden(
        self, writer: ThreadWriter, provider_id: str, last_turn_id: str | None
    ) -> Thread:
        """Forks a thread behind a turn (None: at its end); no client is notified before it is used.

        An archived thread cannot be forked (measured: 0.163, 0.171), so it is taken out for as long
        as that takes.
        """
        params = {
            **fork_params(writer.state.settings),
            "threadId": provider_id,
            "excludeTurns": True,
            "deferGoalContinuation": True,
        }
        if last_turn_id is not None:
            params["lastTurnId"] = last_turn_id
        try:
            return await self._hide(writer, partial(self.fork, writer.state, params))
        except ProviderError as error:
            if not is_archived_error(error):
                raise
        await self.link.request("thread/unarchive", {"threadId": provider_id})
        try:
            return await self._hide(writer, partial(self.fork, writer.state, params))
        finally:
            with anyio.CancelScope(shield=True):
                await self._try_archive(provider_id)

    async def start_hidden(self, writer: ThreadWriter, params: dict[str, Any]) -> Thread:
        """Starts a thread that reports raw items; no client is notified before it is used."""
        return await self._hide(writer, partial(self.start, params))

    async def _hide(self, writer: ThreadWriter, opened: Callable[[], Awaitable[Raw]]) -> Thread:
        with self.inbound.buffering():
            thread = thread_in(await opened())
            opened_id = str(thread["id"])
            self._loaded.add(opened_id)
            self.inbound.bind(opened_id, Route(writer.thread_id, ThreadRole.HIDDEN, 0))
            self._engine.record_temporary(writer.thread_id, opened_id)
            self.inbound.release(opened_id)
        return thread

    async def delete_quietly(self, provider_id: str | None) -> None:
        """Deletes a provider thread that we made and do not use. Never raises: one that remains is
        hidden and harmless.
        """
        if provider_id is None:
            return
        self.forget(provider_id)
        self.inbound.watches.pop(provider_id, None)
        self.inbound.take_quarantined(provider_id)
        try:
            await self.link.request("thread/delete", {"threadId": provider_id})
        except ProviderError as error:
            if lacks_method(error):
                await self._try_archive(provider_id)
        except ProviderFailure as error:
            log.info("scratch_thread_left_behind", detail=str(error))

    async def detach(self, writer: ThreadWriter, generation: Generation) -> str:
        """Stops forwarding the notifications of a generation's provider thread. Returns why it
        stays loaded, or "".
        """
        provider_id = generation.provider_thread_id
        if provider_id is None:
            return ""
        self.inbound.bind(
            provider_id, Route(writer.thread_id, ThreadRole.RETIRED, generation.number)
        )
        if provider_id in self._loaded and await self.terminals.running(provider_id):
            self.terminals.retain(writer.thread_id, provider_id)
            return "background terminals still run"
        return ""

    async def archive_previous(self, writer: ThreadWriter) -> None:
        """Let go of the provider thread before the present one, which serves already. Never raises:
        one that stays is hidden.
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
        """Archive a provider thread that was stopped, unless its terminals still run: archiving
        kills them.
        """
        provider_id = generation.provider_thread_id
        if provider_id is not None and provider_id not in self.terminals.retained(writer.thread_id):
            self.forget(provider_id)
            await self._try_archive(provider_id)

    def reattach(self, writer: ThreadWriter) -> bool:
        """Resumes forwarding for a provider thread that was detached but stayed loaded. Returns
        whether it did.
        """
        generation = writer.state.generation
        provider_id = generation.provider_thread_id
        if provider_id is None or not self.terminals.release(writer.thread_id, provider_id):
            return False
        self.use(provider_id, Route(writer.thread_id, ThreadRole.CURRENT, generation.number))
        writer.record_facts(ev.SessionReady(generation.number))
        return True

    async def archive_superseded(self, writer: ThreadWriter, number: int) -> None:
        """Archive the provider thread before that of generation `number`. Never raises: one that
        stays is hidden and harmless.

        The caller says which one serves: where this runs later, a trim may be under way that still
        reads from that one.
        """
        if number > 1:
            try:
                await self.archive(writer, writer.state.generations[number - 2])
            except ProviderFailure as error:
                log.info(
                    "superseded_thread_not_archived", thread_id=writer.thread_id, detail=str(error)
                )

    async def archive_finished(self) -> None:
        """Archive the retained provider threads whose terminals have all ended meanwhile."""
        for provider_id in await self.terminals.sweep():
            self.forget(provider_id)
            await self._try_archive(provider_id)

    async def release(self, provider_id: str) -> None:
        """Stop listening to a provider thread; Codex unloads it in its own time."""
        self.forget(provider_id)
        await self.link.request("thread/unsubscribe", {"threadId": provider_id})

    async def _try_archive(self, provider_id: str) -> None:
        # Refused for a thread that never had a turn: it has no rollout and is in no list either
        # (measured).
        try:
            await self.link.request("thread/archive", {"threadId": provider_id})
        except ProviderError:
            await self.release(provider_id)


def model_in_answer(raw: Raw) -> str | None:
    """The model that Codex says the thread will use."""
    model = msgspec.json.decode(raw).get("model")
    return str(model) if model else None


def thread_in(raw: Raw) -> Thread:
    """The thread object of an answer."""
    thread: Thread = msgspec.json.decode(raw)["thread"]
    return thread
