"""Handles `turn/start`, `turn/steer` and all requests that need a thread's session. The session is
made ready first, and what Codex acknowledges is recorded.

Always true: nothing is awaited between a ready session and the request that uses it, because a trim
could replace the session.
"""

from collections import defaultdict
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any

import anyio
import msgspec
from msgspec import Raw
from trimpoint_protocol.errors import Reason

from trimpoint.codex.appserver.errors import ProviderError
from trimpoint.codex.appserver.supervisor import is_missing_error
from trimpoint.core.context.injections import injection
from trimpoint.core.model import events as ev
from trimpoint.core.model.state import ThreadState
from trimpoint.gateway.commands.turn_starts import TurnStarts
from trimpoint.gateway.commands.within_turns import WithinTurns
from trimpoint.gateway.methods.threads.injected_items import read_items
from trimpoint.gateway.methods.threads.thread_reads import ThreadReads
from trimpoint.gateway.methods.threads.thread_requests import MethodDeps, ThreadRequests
from trimpoint.gateway.session.requests.errors import not_steerable
from trimpoint.gateway.session.requests.ordered_request import request_in_order
from trimpoint.gateway.session.requests.request import ClientRequest, Handler
from trimpoint.gateway.session.subscriptions import Subscriptions
from trimpoint.operations.provider.settings import (
    acknowledged_changes,
    with_memory_mode,
    with_unconfirmed,
)
from trimpoint.operations.sessions import ReadySession
from trimpoint.threads.errors import CommandRefused

Facts = tuple[ev.AnyEvent, ...]
Acknowledged = Callable[[ThreadState, dict[str, Any]], Facts]
"""Returns the facts that Codex's response to a request with these parameters makes true."""

# These need a session, so the thread's context must be complete before they reach Codex.
NEED_SESSION = frozenset(
    {
        "thread/settings/update", "thread/shellCommand", "review/start", "thread/name/set",
        "thread/goal/set", "thread/goal/clear",
        "thread/goal/get", "turn/settings/update", "thread/realtime/start", "thread/sample",
        "thread/metadata/update", "mcpServer/tool/call", "thread/memoryMode/set",
    }
)  # fmt: skip
# Of these, the ones that neither start a turn nor change the context. They are answered also while
# a summary is awaited, as by Codex; what they change is carried over.
KEEP_CONTEXT = frozenset(
    {
        "thread/settings/update", "thread/name/set", "thread/metadata/update",
        "thread/memoryMode/set", "thread/goal/get", "thread/goal/clear",
    }
)  # fmt: skip
# These start a turn too.
BEGIN_TURNS = frozenset({"review/start", "thread/shellCommand"})
# The session is not replaced while Codex is asked for one of these: it may begin a turn with them.
CHANGE_CONTEXT = frozenset({"thread/queue/add", "thread/queue/start", "thread/goal/set"})


class TurnMethods:
    """Handles requests that need a session. `handlers` maps method names to handlers."""

    def __init__(
        self,
        deps: MethodDeps,
        requests: ThreadRequests,
        reads: ThreadReads,
        subscriptions: Subscriptions,
        starts: TurnStarts,
        within: WithinTurns,
    ) -> None:
        _, self._sessions, self._threads, self._identity = deps
        self._link = self._threads.link
        self._requests = requests
        self._reads = reads
        self._subscriptions = subscriptions
        self._starts = starts
        self._within = within
        # What Codex took into the newest turn of each thread: the ids of the prompt and the turn.
        self._steered: dict[str, set[tuple[str, str]]] = {}
        self._steering: defaultdict[str, anyio.Lock] = defaultdict(anyio.Lock)
        self.handlers: dict[str, Handler] = {
            "thread/inject_items": self._inject_items,
            "turn/start": self._turn_start,
            "turn/steer": self._turn_steer,
            **dict.fromkeys(NEED_SESSION, self._forward_with_session),
        }

    async def _turn_start(self, client_request: ClientRequest) -> Any:
        thread_id = self._identity.thread_named_in(client_request)
        if thread_id is None:
            return await self._requests.forward(client_request)
        self._requests.refuse_archived(thread_id)
        with self._starts.client_prompt_pending(thread_id):
            return await self._prompt(client_request, thread_id)

    async def _prompt(self, client_request: ClientRequest, thread_id: str) -> Any:
        try:
            return await self._start_turn(client_request, thread_id)
        except ProviderError as error:
            if not is_missing_error(error):
                raise
        # Codex has unloaded the thread and did not accept the prompt, so it may be sent again
        # (docs/spec/sessions.md).
        provider_id = self._identity.provider_of(thread_id)
        if provider_id is not None:
            self._threads.forget(provider_id)
        return await self._start_turn(client_request, thread_id)

    async def _start_turn(self, client_request: ClientRequest, thread_id: str) -> None:
        try:
            found = await self._starts.ready_for(client_request, thread_id)
        except CommandRefused:
            self._requests.refuse_archived(thread_id)  # it may have been archived meanwhile
            raise
        if found is None:
            return
        session, baseline = found
        self._requests.refuse_archived(thread_id)
        # Unlike in Codex, a client that sends a prompt is subscribed: the thread may have been
        # loaded for it just now.
        self._subscriptions.join(client_request.client, thread_id)
        params = self._requests.with_provider_id(client_request, session)
        await self._starts.send(
            session,
            baseline,
            params,
            lambda raw: client_request.answer(self._identity.to_client(bytes(raw))),
        )

    async def _turn_steer(self, client_request: ClientRequest) -> Any:
        thread_id = self._identity.thread_named_in(client_request)
        if thread_id is None:
            return await self._requests.forward(client_request)
        self._requests.refuse_archived(thread_id)
        if self._sessions.is_compacting(thread_id):
            problem = "The context is being compacted; nothing was sent to the agent."
            hint = "Send a prompt; it waits until the compaction has ended."
            return client_request.refuse_with(
                not_steerable(Reason.ALREADY_IN_PROGRESS, problem, hint)
            )
        asked = client_request.params()
        expected = asked.get("expectedTurnId")
        await client_request.let_others_on()
        if isinstance(expected, str):
            expected = await self._within.now(thread_id, expected)
        session = await self._sessions.ready(thread_id)
        params = self._requests.with_provider_id(client_request, session)
        if isinstance(expected, str):
            params["expectedTurnId"] = Raw(
                msgspec.json.encode(self._identity.provider_turn(expected))
            )
        name = asked.get("clientUserMessageId")
        if not isinstance(name, str) or not name:
            return self._identity.to_client(bytes(await self._steer(session, params)))
        async with self._steering[thread_id]:
            return await self._steer_once(session, params, (name, str(expected)))

    async def _steer(self, session: ReadySession, params: dict[str, Raw]) -> Raw:
        with self._starts.unread.sending(session.writer):
            return await self._link.request("turn/steer", params)

    async def _steer_once(
        self, session: ReadySession, params: dict[str, Raw], sent: tuple[str, str]
    ) -> Any:
        """Adds a prompt to a turn, unless that has it already: a client that was cut off before it
        knew sends it again. `sent` are the id that the client gave the prompt, and the turn.
        """
        name, turn_id = sent
        in_turn = self._steered.get(session.writer.thread_id, set())
        read_in = session.writer.state.prompts_read.get(name)
        if sent in in_turn or read_in is not None:
            return {"turnId": read_in or turn_id}
        raw = await self._steer(session, params)
        others = {one for one in in_turn if one[1] == turn_id}
        self._steered[session.writer.thread_id] = {*others, sent}
        return self._identity.to_client(bytes(raw))

    async def _forward_with_session(self, client_request: ClientRequest) -> Any:
        thread_id = self._identity.thread_named_in(client_request)
        if thread_id is None:
            return await self._requests.forward(client_request)
        self._requests.refuse_archived(thread_id)
        facts = _ACKNOWLEDGED.get(client_request.method)
        params = client_request.params() if facts is not None else {}
        await client_request.let_others_on()
        if self._keeps_context(client_request, thread_id):
            async with self._sessions.present(thread_id) as session:
                return await self._forward_in(session, client_request, facts, params)
        session = await self._sessions.ready(thread_id)
        if client_request.method in BEGIN_TURNS:
            self._subscriptions.join(client_request.client, thread_id)  # as with `turn/start`
            if client_request.params().get("delivery") != "detached":  # a review in another thread
                forward = partial(self._requests.forward, client_request)
                return await self._starts.send_other(session, forward)
        if client_request.method in CHANGE_CONTEXT:
            with self._sessions.using(thread_id):
                return await self._forward_in(session, client_request, facts, params)
        return await self._forward_in(session, client_request, facts, params)

    def _keeps_context(self, client_request: ClientRequest, thread_id: str) -> bool:
        match client_request.method:
            case "turn/settings/update":
                # There is no turn that it could be about, except after an overflow.
                return self._sessions.is_compacting(thread_id)
            case "thread/goal/set":
                # Codex begins turns for an active goal at once (measured: 0.163).
                return client_request.params().get("status") not in (None, "active")
            case method:
                return method in KEEP_CONTEXT

    async def _forward_in(
        self,
        session: ReadySession,
        client_request: ClientRequest,
        facts: Acknowledged | None,
        params: dict[str, Any],
    ) -> Any:
        with self._threads.read_back_if_unanswered(session.provider_thread_id):
            return await self._forwarded(session, client_request, facts, params)

    async def _forwarded(
        self,
        session: ReadySession,
        client_request: ClientRequest,
        facts: Acknowledged | None,
        params: dict[str, Any],
    ) -> Any:
        if client_request.method == "thread/metadata/update":
            shown = partial(self._reads.without_turns, session.writer.state)
            return await self._requests.forward(client_request, shown=shown)
        if facts is None:
            return await self._requests.forward(client_request)
        mapped = self._requests.mapped_params(client_request)
        if client_request.method == "thread/name/set":
            self._threads.names.expect(session.provider_thread_id, str(params.get("name")))
        return await self._request_recorded(
            client_request, session, mapped, lambda state: facts(state, params)
        )

    async def _inject_items(self, client_request: ClientRequest) -> Any:
        thread_id = self._identity.thread_named_in(client_request)
        if thread_id is None:
            return await self._requests.forward(client_request)
        self._requests.refuse_archived(thread_id)
        await client_request.let_others_on()
        items = await read_items(client_request)
        session = await self._sessions.ready(thread_id)
        request = {**client_request.members(), "threadId": session.provider_thread_id}
        with (
            self._sessions.using(thread_id),
            self._threads.read_back_if_unanswered(session.provider_thread_id),
        ):
            await self._request_recorded(
                client_request, session, request, lambda state: injection(state, items)
            )
        return None

    async def _request_recorded(
        self,
        client_request: ClientRequest,
        session: ReadySession,
        params: Any,
        facts: Callable[[ThreadState], Facts],
    ) -> None:
        """Sends a request to Codex, records the facts that its response makes true, and answers
        once they are durable.

        Codex's notifications about the thread are held back until then, because Codex sends its
        response first.

        :raises JournalRefuses: when Codex has acted on the request but the journal cannot be
            written.
        """
        writer = session.writer
        with ExitStack() as paused:

            def acknowledged(raw: Raw) -> Raw:
                writer.record_facts(*facts(writer.state))
                paused.enter_context(self._threads.router.pausing(session.provider_thread_id))
                return raw.copy()

            method, on_sent = client_request.method, client_request.on_sent
            raw = await request_in_order(self._link, method, params, acknowledged, on_sent=on_sent)
            # A read-only journal cannot be written, and a read-only thread cannot be trimmed.
            if writer.read_only is None:
                await writer.flush()
            client_request.answer(self._identity.to_client(bytes(raw)))


def _settings_acknowledged(state: ThreadState, params: dict[str, Any]) -> Facts:
    changed = with_unconfirmed(state.settings, acknowledged_changes(params))
    return (ev.SettingsChanged(changed),)


def _memory_mode_acknowledged(state: ThreadState, params: dict[str, Any]) -> Facts:
    return (ev.SettingsChanged(with_memory_mode(state.settings, str(params["mode"]))),)


def _name_acknowledged(state: ThreadState, params: dict[str, Any]) -> Facts:
    return (ev.ThreadRenamed(str(params["name"])),)


# Codex acknowledges these, and reports the change a moment later; a trim in between must not lose
# the change (measured: 0.163).
_ACKNOWLEDGED: dict[str, Acknowledged] = {
    "thread/settings/update": _settings_acknowledged,
    "thread/name/set": _name_acknowledged,
    "thread/memoryMode/set": _memory_mode_acknowledged,
}
