"""Handles app-server methods about whole threads. Methods without a handler go to Codex unchanged
(docs/spec/clients.md).
"""

from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from functools import partial
from typing import Any

import msgspec
from msgspec import Raw
from trimpoint_protocol.commands import CompactContext

from trimpoint.codex.appserver.errors import ProviderError
from trimpoint.codex.appserver.supervisor import is_missing_error
from trimpoint.core.model import events as ev
from trimpoint.core.model.state import ThreadState
from trimpoint.gateway.commands.agent_tools import with_agent_tools
from trimpoint.gateway.methods.threads.rollout_paths import Named, RolloutPaths
from trimpoint.gateway.methods.threads.thread_reads import ThreadReads, is_one_provider_thread
from trimpoint.gateway.methods.threads.thread_requests import (
    MethodDeps,
    ThreadRequests,
    once_stored,
)
from trimpoint.gateway.session.requests.ordered_request import request_in_order
from trimpoint.gateway.session.requests.request import ClientRequest, Handler
from trimpoint.gateway.session.subscriptions import Subscriptions
from trimpoint.operations.history.adoption import OpenedThread, opened_thread
from trimpoint.operations.provider.client_resumes import ClientResume
from trimpoint.operations.provider.settings import (
    in_force,
)
from trimpoint.operations.sessions import ReadySession
from trimpoint.operations.thread_starts import adopt_thread, begin_thread, warn_of_trust
from trimpoint.threads.ids import new_uuid7
from trimpoint.threads.off_loop import beside_the_loop


class ThreadMethods:
    """Starts, resumes and adopts threads. `handlers` maps method names to handlers, which return
    the result, or answer the request themselves and return None.

    `agent_tools` tells whether agents get the agent tools if the client does not say.
    """

    def __init__(
        self,
        deps: MethodDeps,
        requests: ThreadRequests,
        reads: ThreadReads,
        subscriptions: Subscriptions,
        *,
        agent_tools: bool,
    ) -> None:
        self._registry, self._sessions, self._threads, self._identity = deps
        self._link = self._threads.link
        self._requests = requests
        self._reads = reads
        self._subscriptions = subscriptions
        self._agent_tools = agent_tools
        self._paths = RolloutPaths(deps)
        self.handlers: dict[str, Handler] = {
            "thread/start": self._start,
            "thread/resume": self._resume,
            "thread/unsubscribe": self._unsubscribe,
            "thread/compact/start": self._compact,
        }

    async def _start(self, client_request: ClientRequest) -> None:
        params, agent_tools = with_agent_tools(
            client_request.params(), by_default=self._agent_tools
        )

        def begun(raw: Raw, thread_id: str) -> None:
            self._subscriptions.join(
                client_request.client,
                thread_id,
                raw_events=bool(params.get("experimentalRawEvents")),
            )
            client_request.answer(raw)

        launch = client_request.client.launch
        await begin_thread(
            self._registry, self._threads, params, begun, agent_tools=agent_tools, launch=launch
        )

    async def _resume(self, client_request: ClientRequest) -> None:
        thread_id, params = await self._resumed(client_request)
        if thread_id is None:
            return await self.adopt(client_request, params, "adopted")
        if self._requests.is_archived(thread_id):
            # Codex refuses an archived thread itself, unless another program has unarchived it.
            await self._note_unarchived(thread_id, params)
        with ClientResume(params, lambda: not self._subscriptions.exist_for(thread_id)) as asked:
            async with self._sessions.present(thread_id, asked) as session:
                return await self._attach(client_request, session, asked)

    async def _note_unarchived(self, thread_id: str, params: dict[str, Any]) -> None:
        """Records that another program has unarchived a thread; `params` are the parameters of a
        `thread/resume`.

        :raises ProviderFailure: when the thread is still archived in Codex.
        :raises JournalRefuses: when the journal cannot be written.
        """
        writer = await self._registry.thread(thread_id)
        provider_id = str(writer.state.generation.provider_thread_id)
        await self._link.request("thread/resume", {**params, "threadId": provider_id})
        await self._threads.release(provider_id)
        writer.record_facts(ev.ThreadUnarchived())
        await writer.flush()

    async def _resumed(self, client_request: ClientRequest) -> Named:
        """Returns the thread of ours that a `thread/resume` is about, and its parameters.

        Codex compares `history` and `path` with a loaded thread. Otherwise it resumes what they
        name, and ignores the id, so the thread with that id must not be loaded first.
        """
        params = client_request.params()
        thread_id = self._identity.thread_named_in(client_request)
        provider_id = self._identity.provider_of(thread_id) if thread_id is not None else None
        if self._threads.is_loaded(provider_id):
            return Named(thread_id, params)
        if params.get("history") is not None:
            return Named(None, params)
        return await self._paths.named_in(client_request)

    async def _attach(
        self, client_request: ClientRequest, session: ReadySession, asked: ClientResume
    ) -> None:
        thread_id, params = session.writer.thread_id, asked.params
        turns = await self._reads.whole_turns(session.writer.state, params)

        def attached(raw: Raw) -> None:
            # The answer is sent before the open requests; from here on the client misses nothing.
            state = session.writer.state
            client_request.answer(self._reads.with_whole_history(raw, state, params, turns))
            self._subscriptions.join(client_request.client, thread_id, again=True)

        if asked.is_used and session.writer.read_only is None:
            await session.writer.flush()
        if asked.answer is not None and asked.provider_id == session.provider_thread_id:
            return attached(asked.answer)
        request = {**params, "threadId": session.provider_thread_id}
        resume = partial(request_in_order, self._link, "thread/resume", request, attached)
        try:
            return await once_stored(session.writer.state, resume)
        except ProviderError as error:
            if not is_missing_error(error):
                raise
        begun = partial(self._threads.attach, session.provider_thread_id, params)
        raw = await once_stored(session.writer.state, begun)
        # Codex answered when the thread was loaded; the settings may have changed since.
        now = in_force(session.writer.state.settings, msgspec.json.decode(raw))
        return attached(Raw(msgspec.json.encode(now)))

    async def adopt(
        self,
        client_request: ClientRequest,
        params: dict[str, Any],
        origin: str,
        parent: ThreadState | None = None,
        open_thread: Callable[[], Awaitable[Raw]] | None = None,
        items: list[bytes] | None = None,
    ) -> None:
        """Opens a thread that is not in the registry, and records it unless it is ephemeral.

        `open_thread`, if given, opens the thread instead of the client's request, and returns the
        response that Codex would have given; `items` are what the thread is given as its context.
        """
        trusted = await self._threads.trust.before({"cwd": parent and parent.cwd, **params})
        with self._threads.router.buffering():
            # The turns are needed to record them; Codex returns no turns of an ephemeral thread.
            whole = params if params.get("ephemeral") else {**params, "excludeTurns": False}
            if open_thread is not None:
                raw = await open_thread()
            elif parent is not None:
                raw = await once_stored(parent, partial(self._threads.forking.fork, parent, whole))
            else:
                raw = await self._link.request(client_request.method, whole)
            opened = await beside_the_loop(raw, opened_thread)
            if not (params.get("ephemeral") or opened.thread.get("ephemeral")):
                launch = client_request.client.launch
                filling = nullcontext() if items is None else self._sessions.filling(opened.id)
                async with self._sessions.lock(opened.id):
                    with filling:
                        await adopt_thread(
                            self._registry, self._threads, opened, params, origin, parent, launch,
                            items,
                        )  # fmt: skip
            elif items is not None:
                await self._threads.inject(opened.id, items)
            client_request.answer(await self._adopted_answer(raw, opened, params))
            self._subscriptions.join(client_request.client, opened.id, again=True)
            self._threads.router.release(opened.id)
        await warn_of_trust(self._threads, opened.id, trusted)

    async def _adopted_answer(self, raw: Raw, opened: OpenedThread, params: dict[str, Any]) -> Any:
        answer = raw
        if params.get("excludeTurns"):
            bare: dict[str, Any] = {**opened.members, "thread": {**opened.thread, "turns": []}}
            answer = Raw(msgspec.json.encode(bare))
        writer = self._registry.loaded(opened.id)
        if writer is not None and not is_one_provider_thread(writer.state):
            turns = await self._reads.whole_turns(writer.state, params)
            return self._reads.with_whole_history(answer, writer.state, params, turns)
        return await beside_the_loop(answer, lambda raw: self._identity.to_client(bytes(raw)))

    async def _unsubscribe(self, client_request: ClientRequest) -> Any:
        thread_id = self._identity.thread_named_in(client_request)
        if thread_id is None:
            return await self._requests.forward(client_request)
        if not self._threads.is_loaded(self._identity.provider_of(thread_id)):
            return {"status": "notLoaded"}
        was_subscribed = self._subscriptions.leave(client_request.client, thread_id)
        return {"status": "unsubscribed" if was_subscribed else "notSubscribed"}

    async def _compact(self, client_request: ClientRequest) -> Any:
        thread_id = self._identity.thread_named_in(client_request)
        if thread_id is None:
            return await self._requests.forward(client_request)
        # Forced, because Codex itself also compacts a short conversation.
        await self._sessions.dispatch(
            CompactContext(command_id=new_uuid7(), thread_id=thread_id, force=True)
        )
        return {}
