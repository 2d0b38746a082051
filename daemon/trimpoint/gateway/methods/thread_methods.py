"""App-server methods for which trimpoint speaks for the thread; all others go to Codex as they are
(docs/spec/clients.md).
"""

from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from functools import partial
from typing import Any

import msgspec
import structlog
from msgspec import Raw
from trimpoint_protocol.commands import CompactContext
from trimpoint_protocol.errors import Reason

from trimpoint.codex.appserver.peer import ProviderError, ProviderFailure
from trimpoint.codex.appserver.supervisor import is_missing_error
from trimpoint.core.model import events as ev
from trimpoint.core.model.lenient import as_dict
from trimpoint.core.model.state import ThreadState
from trimpoint.gateway.commands.agent_tools import with_agent_tools
from trimpoint.gateway.commands.turn_starts import TurnStarts
from trimpoint.gateway.ids.identity import Identity
from trimpoint.gateway.methods import history
from trimpoint.gateway.session.clients import Client, Clients
from trimpoint.gateway.session.codex_tui import is_codex_tui
from trimpoint.gateway.session.errors import Refusal
from trimpoint.gateway.session.ordered_request import LONG_DEADLINE_S, request_in_order
from trimpoint.gateway.session.request import ClientRequest, Handler
from trimpoint.gateway.session.server_requests import PendingServerRequests
from trimpoint.operations.provider.client_resumes import ClientResume
from trimpoint.operations.provider.provider_threads import ProviderThreads
from trimpoint.operations.provider.settings import (
    UPDATABLE,
    in_force,
    with_memory_mode,
    with_unconfirmed,
)
from trimpoint.operations.sessions import ReadySession, Sessions
from trimpoint.threads.errors import ThreadNotFound
from trimpoint.threads.ids import new_uuid7
from trimpoint.threads.registry import ThreadRegistry

log = structlog.get_logger()

Facts = tuple[ev.AnyEvent, ...]

# These take as long as a program, a tool, a download or a person takes.
MAY_TAKE_LONG = frozenset(
    {
        "command/exec", "mcpServer/tool/call", "mcpServer/oauth/login", "marketplace/add",
        "marketplace/upgrade", "plugin/install", "externalAgentConfig/import", "feedback/upload",
        "fs/copy", "fs/remove", "windowsSandbox/setupStart",
    }
)  # fmt: skip
# These act on a session, so the thread's context must be in place before they reach Codex.
NEED_SESSION = frozenset(
    {
        "thread/settings/update", "thread/shellCommand", "review/start", "thread/name/set",
        "thread/goal/set", "thread/goal/clear", "thread/queue/add", "thread/queue/start",
        "thread/queue/update", "thread/queue/delete", "thread/queue/reorder", "thread/queue/list",
        "thread/goal/get", "turn/settings/update", "thread/realtime/start", "thread/sample",
        "thread/metadata/update", "mcpServer/tool/call", "thread/memoryMode/set",
    }
)  # fmt: skip
# These begin a turn by another name.
BEGIN_TURNS = frozenset({"review/start", "thread/shellCommand"})


class ThreadMethods:
    """`handlers` is the table; each handler returns the result to answer, or answers by itself and
    returns None.

    `agent_tools`: whether agents get tools to reduce their context where the client does not say.
    """

    def __init__(
        self,
        engine: ThreadRegistry,
        sessions: Sessions,
        threads: ProviderThreads,
        identity: Identity,
        questions: PendingServerRequests,
        clients: Clients,
        starts: TurnStarts,
        *,
        agent_tools: bool,
    ) -> None:
        self._agent_tools = agent_tools
        self._engine = engine
        self._sessions = sessions
        self._threads = threads
        self.link = threads.link
        self._identity = identity
        self._questions = questions
        self._clients = clients
        self._starts = starts
        self.handlers: dict[str, Handler] = {
            "thread/start": self._start,
            "thread/resume": self._resume,
            "thread/read": self._read,
            "thread/turns/list": self._turns_list,
            "thread/items/list": self._items_list,
            "thread/items/read": self._items_read,
            "thread/unsubscribe": self._unsubscribe,
            "thread/compact/start": self._compact,
            "thread/inject_items": self._inject_items,
            "turn/start": self._turn_start,
            "turn/steer": self._turn_steer,
            **dict.fromkeys(NEED_SESSION, self._forward_with_session),
        }

    async def forward(
        self,
        client_request: ClientRequest,
        *,
        deadline_s: float | None = None,
        shown: Callable[[Raw], Any] | None = None,
    ) -> None:
        """Pass a request on as it is, and its answer back, ids exchanged or as `shown` has it."""
        mapped = self._mapped_params(client_request)

        def answered(raw: Raw) -> None:
            client_request.answer(
                self._identity.to_client(bytes(raw)) if shown is None else shown(raw)
            )

        deadline_s = LONG_DEADLINE_S if client_request.method in MAY_TAKE_LONG else deadline_s
        await request_in_order(
            self.link,
            client_request.method,
            mapped,
            answered,
            deadline_s=deadline_s,
            on_sent=client_request.on_sent,
        )

    def join(
        self, client: Client, thread_id: str, *, raw_events: bool = False, again: bool = False
    ) -> None:
        """Subscribes the client to a thread; `again`: resends every open request, as Codex does on
        `thread/resume`.
        """
        self._clients.join(client, thread_id, raw_events=raw_events)
        self._questions.resend_pending(client, thread_id, again=again)

    async def _start(self, client_request: ClientRequest) -> None:
        params, agent_tools = with_agent_tools(
            client_request.params(), by_default=self._agent_tools
        )

        def begun(raw: Raw, thread_id: str) -> None:
            self.join(
                client_request.client,
                thread_id,
                raw_events=bool(params.get("experimentalRawEvents")),
            )
            client_request.answer(raw)

        launch = client_request.client.launch
        await self._sessions.begin(params, begun, agent_tools=agent_tools, launch=launch)

    async def _resume(self, client_request: ClientRequest) -> None:
        params = client_request.params()
        thread_id = self._identity.thread_named_in(client_request)
        if thread_id is None:
            return await self.adopt(client_request, params, "adopted")
        if self.is_archived(thread_id):
            # Codex says it is archived, in its own words, unless another program has taken it out
            # of the archive.
            await self._sessions.note_unarchived(thread_id, params)
        with ClientResume(params, lambda: not self._clients.subscribers(thread_id)) as asked:
            session = await self._sessions.ready(thread_id, asked)
            return await self._attach(client_request, session, asked)

    async def _attach(
        self, client_request: ClientRequest, session: ReadySession, asked: ClientResume
    ) -> None:
        thread_id, params = session.writer.thread_id, asked.params

        def attached(raw: Raw) -> None:
            # Answered first, then asked what is open there; from here on the client misses nothing.
            client_request.answer(self.with_whole_history(raw, session.writer.state, params))
            self.join(client_request.client, thread_id, again=True)

        if asked.is_used and session.writer.read_only is None:
            await session.writer.flush()
        if asked.answer is not None and asked.provider_id == session.provider_thread_id:
            return attached(asked.answer)
        try:
            return await request_in_order(
                self.link,
                "thread/resume",
                {**params, "threadId": session.provider_thread_id},
                attached,
            )
        except ProviderError as error:
            if not is_missing_error(error):
                raise
        raw = await self._threads.attach(session.provider_thread_id, params)
        # What Codex answered at the start; the settings may have been changed since.
        now = in_force(session.writer.state.settings, msgspec.json.decode(raw))
        return attached(Raw(msgspec.json.encode(now)))

    async def adopt(
        self,
        client_request: ClientRequest,
        params: dict[str, Any],
        origin: str,
        parent: ThreadState | None = None,
        open_thread: Callable[[], Awaitable[Raw]] | None = None,
    ) -> None:
        """Open a thread that is new to us, and take it into the books unless it is ephemeral.

        `open_thread` opens it in the client's place, and gives what Codex would have answered.
        """
        with self._threads.inbound.buffering():
            # Its turns are wanted for the books; Codex gives none of a thread that is kept nowhere.
            whole = params if params.get("ephemeral") else {**params, "excludeTurns": False}
            if open_thread is not None:
                raw = await open_thread()
            elif parent is not None:
                raw = await self._threads.fork(parent, whole)
            else:
                raw = await self.link.request(client_request.method, whole)
            thread = msgspec.json.decode(raw)["thread"]
            if not (params.get("ephemeral") or thread.get("ephemeral")):
                launch = client_request.client.launch
                await self._sessions.adopt(raw, params, origin, parent, launch)
            client_request.answer(self._adopted_answer(raw, str(thread["id"]), params))
            self.join(client_request.client, str(thread["id"]), again=True)
            self._threads.inbound.release(str(thread["id"]))

    def _adopted_answer(self, raw: Raw, thread_id: str, params: dict[str, Any]) -> Any:
        writer = self._engine.loaded(thread_id)
        if writer is not None and not _is_one_provider_thread(writer.state):
            return self.with_whole_history(raw, writer.state, params)
        answer = self._identity.to_client(bytes(raw))
        if not params.get("excludeTurns"):
            return answer
        decoded = msgspec.json.decode(answer)
        return {**decoded, "thread": {**decoded["thread"], "turns": []}}

    async def _read(self, client_request: ClientRequest) -> Any:
        params = client_request.params()
        state = await self._state_of(client_request)
        if state is None or _is_one_provider_thread(state):
            try:
                return await self.forward(client_request)
            except ProviderError as error:
                if state is None or state.turns or not is_missing_error(error):
                    raise
        raw = await self._provider_thread(state)
        return self.with_whole_history(raw, state, {"excludeTurns": not params.get("includeTurns")})

    async def _provider_thread(self, state: ThreadState) -> Raw:
        """Returns what Codex says of the thread, without its turns.

        Codex forgets a thread without a turn when it ends. The thread is still there for clients,
        so another is made.
        """
        provider_id = state.generation.provider_thread_id
        if provider_id is None:
            provider_id = (await self._sessions.ready(state.id)).provider_thread_id
        await self._take_in(state)
        try:
            return await self._read_provider(provider_id)
        except ProviderError as error:
            if state.archived or not is_missing_error(error):
                raise
        return await self._read_provider((await self._sessions.ready(state.id)).provider_thread_id)

    async def _read_provider(self, provider_id: str) -> Raw:
        params = {"threadId": provider_id, "includeTurns": False}
        return await self.link.request("thread/read", params)

    async def _turns_list(self, client_request: ClientRequest) -> Any:
        state = await self._state_of(client_request)
        if state is None or _is_one_provider_thread(state):
            return await self._forward_page(client_request, state)
        await self._take_in(state)
        return history.turns_page(
            state, client_request.params(), with_messages=is_codex_tui(client_request.client)
        )

    async def _items_list(self, client_request: ClientRequest) -> Any:
        state = await self._state_of(client_request)
        if state is None or _is_one_provider_thread(state):
            return await self._forward_page(client_request, state)
        await self._take_in(state)
        return history.items_page(
            state, client_request.params(), with_messages=is_codex_tui(client_request.client)
        )

    async def _forward_page(self, client_request: ClientRequest, state: ThreadState | None) -> Any:
        """Codex has no history of a thread before its first prompt and refuses; a client that comes
        back then needs a page.
        """
        try:
            return await self.forward(client_request)
        except ProviderError:
            if state is None or state.turns:
                raise
        return {"data": [], "nextCursor": None, "backwardsCursor": None}

    async def _items_read(self, client_request: ClientRequest) -> Any:
        state = await self._state_of(client_request)
        if state is None or _is_one_provider_thread(state):
            return await self.forward(client_request)
        return history.items_read(state, client_request.params())

    async def known_in_part(self, client_request: ClientRequest) -> ThreadState | None:
        """Returns the thread that is named, with what other programs did to it, if Codex knows only
        a part of its history; else None.
        """
        state = await self._state_of(client_request)
        if state is None or _is_one_provider_thread(state):
            return None
        await self._take_in(state)
        return state

    async def _take_in(self, state: ThreadState) -> None:
        """Have in the ledger what other programs did with the thread, as far as Codex says so."""
        try:
            await self._sessions.take_in(await self._engine.thread(state.id))
        except ProviderFailure as error:
            log.info("not_taken_in", thread_id=state.id, detail=str(error))

    async def _unsubscribe(self, client_request: ClientRequest) -> Any:
        thread_id = self._identity.thread_named_in(client_request)
        if thread_id is None:
            return await self.forward(client_request)
        if not self._threads.is_loaded(self._identity.provider_of(thread_id)):
            return {"status": "notLoaded"}
        was_subscribed = thread_id in client_request.client.threads
        client_request.client.leave(thread_id)
        self._questions.client_left()
        return {"status": "unsubscribed" if was_subscribed else "notSubscribed"}

    async def _compact(self, client_request: ClientRequest) -> Any:
        thread_id = self._identity.thread_named_in(client_request)
        if thread_id is None:
            return await self.forward(client_request)
        # A client that asks Codex to compact means it, however short the conversation.
        await self._sessions.dispatch(
            CompactContext(command_id=new_uuid7(), thread_id=thread_id, force=True)
        )
        return {}

    async def _inject_items(self, client_request: ClientRequest) -> Any:
        thread_id = self._identity.thread_named_in(client_request)
        if thread_id is None:
            return await self.forward(client_request)
        self._refuse_archived(thread_id)
        session = await self._sessions.ready(thread_id)
        params = msgspec.json.decode(client_request.message.params or b"{}", type=dict[str, Raw])
        request = {**params, "threadId": session.provider_thread_id}
        await self._request_recorded(
            client_request, session, request, lambda state: _injected(state, params)
        )
        return None

    async def _request_recorded(
        self,
        client_request: ClientRequest,
        session: ReadySession,
        params: Any,
        facts: Callable[[ThreadState], Facts],
    ) -> None:
        """Ask Codex, record what that makes true of the thread, and answer once it is durable.

        What Codex says of the thread meanwhile waits: it answers first and speaks of it afterwards.

        :raises JournalRefuses: Codex did it, and it could not be written down.
        """
        writer = session.writer
        with ExitStack() as paused:

            def acknowledged(raw: Raw) -> Raw:
                writer.record_facts(*facts(writer.state))
                paused.enter_context(self._threads.inbound.pausing(session.provider_thread_id))
                return raw.copy()

            method, on_sent = client_request.method, client_request.on_sent
            raw = await request_in_order(self.link, method, params, acknowledged, on_sent=on_sent)
            if (
                writer.read_only is None
            ):  # else nothing can be written down, and no trim can lose it
                await writer.flush()
            client_request.answer(self._identity.to_client(bytes(raw)))

    async def _turn_start(self, client_request: ClientRequest) -> Any:
        thread_id = self._identity.thread_named_in(client_request)
        if thread_id is None:
            return await self.forward(client_request)
        self._refuse_archived(thread_id)
        with self._starts.client_prompt_pending(thread_id):
            return await self._prompt(client_request, thread_id)

    async def _prompt(self, client_request: ClientRequest, thread_id: str) -> Any:
        try:
            return await self._start_turn(client_request, thread_id)
        except ProviderError as error:
            if not is_missing_error(error):
                raise
        # Codex unloaded the thread by itself; it did not take the prompt, so this is no second
        # sending (docs/spec/sessions.md).
        self._threads.forget(str(self._identity.provider_of(thread_id)))
        return await self._start_turn(client_request, thread_id)

    async def _start_turn(self, client_request: ClientRequest, thread_id: str) -> None:
        session, baseline = await self._starts.ready(thread_id)
        self._refuse_archived(thread_id)  # it may have been put away meanwhile
        # Unlike with Codex, who sends a prompt hears the turn: the thread may have been loaded on
        # its behalf just now.
        self.join(client_request.client, thread_id)
        params = self._with_provider_id(client_request, session)
        await self._starts.send(
            session,
            baseline,
            params,
            lambda raw: client_request.answer(self._identity.to_client(bytes(raw))),
        )

    async def _turn_steer(self, client_request: ClientRequest) -> Any:
        thread_id = self._identity.thread_named_in(client_request)
        if thread_id is None:
            return await self.forward(client_request)
        self._refuse_archived(thread_id)
        session = await self._sessions.ready(thread_id)
        params = self._with_provider_id(client_request, session)
        expected = client_request.params().get("expectedTurnId")
        if isinstance(expected, str):
            params["expectedTurnId"] = Raw(
                msgspec.json.encode(self._identity.provider_turn(expected))
            )
        return self._identity.to_client(bytes(await self.link.request("turn/steer", params)))

    async def _forward_with_session(self, client_request: ClientRequest) -> Any:
        thread_id = self._identity.thread_named_in(client_request)
        if thread_id is None:
            return await self.forward(client_request)
        self._refuse_archived(thread_id)
        session = await self._sessions.ready(thread_id)
        if client_request.method in BEGIN_TURNS:
            self.join(client_request.client, thread_id)  # as with `turn/start`
        facts = _ACKNOWLEDGED.get(client_request.method)
        if client_request.method == "thread/metadata/update":
            shown = partial(self.without_turns, session.writer.state)
            return await self.forward(client_request, shown=shown)
        if facts is None:
            return await self.forward(client_request)
        params = client_request.params()
        mapped = self._mapped_params(client_request)
        return await self._request_recorded(
            client_request, session, mapped, lambda state: facts(state, params)
        )

    def _mapped_params(self, client_request: ClientRequest) -> Raw | None:
        params = client_request.message.params
        return (
            Raw(self._identity.to_provider(bytes(params), client_request.method))
            if params is not None
            else None
        )

    def _with_provider_id(
        self, client_request: ClientRequest, session: ReadySession
    ) -> dict[str, Raw]:
        params = msgspec.json.decode(client_request.message.params or b"{}", type=dict[str, Raw])
        return {**params, "threadId": Raw(msgspec.json.encode(session.provider_thread_id))}

    async def _state_of(self, client_request: ClientRequest) -> ThreadState | None:
        thread_id = self._identity.thread_named_in(client_request)
        if thread_id is None:
            return None
        try:
            return (await self._engine.thread(thread_id)).state
        except ThreadNotFound:
            return None

    def is_archived(self, thread_id: str) -> bool:
        """Returns whether Codex has the thread in its archive, as it may not while terminals of it
        run.

        :raises Refusal: when it is archived for clients only, or went on as another thread.
        """
        has_successor = self._engine.summaries[thread_id].new_thread_id is not None
        if has_successor or self._threads.is_loaded(self._identity.provider_of(thread_id)):
            self._refuse_archived(thread_id)
        return self._engine.summaries[thread_id].archived

    def _refuse_archived(self, thread_id: str) -> None:
        writer = self._engine.loaded(thread_id)
        archived = (
            writer.state.archived
            if writer is not None
            else self._engine.summaries[thread_id].archived
        )
        successor = self._engine.summaries[thread_id].new_thread_id
        if archived and successor is not None:
            problem = f"The thread {thread_id} is archived; it went on as {successor}."
            hint = "Go on in that thread, or unarchive this one."
            raise Refusal(Reason.THREAD_ARCHIVED, problem, hint, new_thread_id=successor)
        if archived:
            raise Refusal(Reason.THREAD_ARCHIVED, f"The thread {thread_id} is archived.")

    def with_whole_history(self, raw: Raw, state: ThreadState, params: dict[str, Any]) -> Any:
        """Codex's answer about the current provider thread, as one about the whole thread.

        `params` are those of `thread/resume`, as far as they ask for turns.
        """
        if _is_one_provider_thread(state):
            return raw
        answer = msgspec.json.decode(self._identity.to_client(bytes(raw)))
        thread = as_dict(answer.get("thread"))
        first = next((entry.text for entry in state.entries if entry.role == "user"), "")
        thread |= {
            "turns": [] if params.get("excludeTurns") else history.all_turns(state),
            "preview": first,
            "createdAt": state.created_at_ms // 1000,
            "name": state.name,
            # To Codex, the present provider thread may be a fork of an earlier one.
            **({"forkedFromId": self._parent_of(state)} if "forkedFromId" in thread else {}),
        }
        if state.recovering_turn_id is not None:
            thread["status"] = {"type": "active", "activeFlags": []}
        return {
            **answer,
            **_own_cursors(answer, state, params.get("initialTurnsPage")),
            "thread": thread,
        }

    def without_turns(self, state: ThreadState, raw: Raw) -> Any:
        """`with_whole_history` of an answer that has no turns."""
        return self.with_whole_history(raw, state, {"excludeTurns": True})

    def _parent_of(self, state: ThreadState) -> str | None:
        parent = state.parent_thread_id
        return None if parent is None else self._engine.owner_of(parent) or parent


def _own_cursors(answer: dict[str, Any], state: ThreadState, first_page: Any) -> dict[str, Any]:
    """In place of Codex's places in one provider thread's history, places in the whole of it."""
    own = {
        "turnsBackwardsCursor": history.newest_turns(state),
        "itemsBackwardsCursor": history.newest_items(state),
        "initialTurnsPage": history.turns_page(state, as_dict(first_page))
        if first_page is not None
        else None,
    }
    return {name: value for name, value in own.items() if name in answer}


def _is_one_provider_thread(state: ThreadState) -> bool:
    """Returns whether Codex knows the thread just as clients do: under its own id, with all its
    turns.

    After `/new` the id is ours, and a fork of a trimmed thread has a past that Codex does not know.
    """
    served_by_one = len(state.generations) == 1 and state.generation.provider_thread_id == state.id
    served_by_one = served_by_one and not state.generation.turn_ids
    # To Codex, a turn that is about to be tried again is over.
    return served_by_one and not state.trim_points and state.recovering_turn_id is None


def _injected(state: ThreadState, params: dict[str, Raw]) -> Facts:
    """Injected items belong to the context from here on: they share the fate of the last turn
    before them.
    """
    active = state.active_turns
    items = tuple(map(bytes, msgspec.json.decode(params.get("items", Raw(b"[]")), type=list[Raw])))
    if not active or not items:
        return ()
    behind_its_end = 0 if active[-1].status == "running" else len(items)
    return (ev.ContextItemsRecorded(active[-1].id, items, injected=behind_its_end),)


def _settings_acknowledged(state: ThreadState, params: dict[str, Any]) -> Facts:
    changes = {name: params[name] for name in UPDATABLE if params.get(name) is not None}
    return (ev.SettingsChanged(with_unconfirmed(state.settings, changes)),)


def _memory_mode_acknowledged(state: ThreadState, params: dict[str, Any]) -> Facts:
    return (ev.SettingsChanged(with_memory_mode(state.settings, str(params["mode"]))),)


def _name_acknowledged(state: ThreadState, params: dict[str, Any]) -> Facts:
    return (ev.ThreadRenamed(str(params["name"])),)


# Codex acknowledges these first and says what came of them a moment later; a trim in between must
# not lose them (measured: 0.163).
_ACKNOWLEDGED: dict[str, Callable[[ThreadState, dict[str, Any]], Facts]] = {
    "thread/settings/update": _settings_acknowledged,
    "thread/name/set": _name_acknowledged,
    "thread/memoryMode/set": _memory_mode_acknowledged,
}
