"""Handles `thread/read`, `thread/turns/list` and similar methods: the whole history of a thread,
over all its provider threads.
"""

from functools import partial
from typing import Any, NamedTuple

import msgspec
import structlog
from msgspec import Raw
from trimpoint_protocol.lenient import as_dict

from trimpoint.codex.appserver.errors import ProviderError, ProviderFailure
from trimpoint.codex.appserver.supervisor import is_missing_error
from trimpoint.core.model.state import ThreadState
from trimpoint.gateway.methods.history import history
from trimpoint.gateway.methods.history.history_occurrences import occurrences_page
from trimpoint.gateway.methods.history.history_positions import positions_page
from trimpoint.gateway.methods.threads.thread_requests import MethodDeps, ThreadRequests
from trimpoint.gateway.session.codex_tui import is_codex_tui
from trimpoint.gateway.session.requests.request import ClientRequest, Handler
from trimpoint.threads.off_loop import off_loop

log = structlog.get_logger()


class WholeTurns(NamedTuple):
    """All turns of a thread as they were at `thread_sequence`, each as JSON."""

    thread_sequence: int
    turns: list[Raw]


class ThreadReads:
    """Handles reads of a thread. `handlers` maps method names to handlers."""

    def __init__(self, deps: MethodDeps, requests: ThreadRequests) -> None:
        self._registry, self._sessions, threads, self._identity = deps
        self._link = threads.link
        self._requests = requests
        self.handlers: dict[str, Handler] = {
            "thread/read": self._read,
            "thread/turns/list": self._turns_list,
            "thread/items/list": self._items_list,
            "thread/items/read": self._items_read,
            "thread/searchOccurrences": self._search_occurrences,
            "thread/timeline/list": self._timeline_list,
        }

    async def whole_turns(self, state: ThreadState, params: dict[str, Any]) -> WholeTurns | None:
        """Returns the thread's turns for `with_whole_history`, made beside the event loop; None if
        it needs none.
        """
        if params.get("excludeTurns") or is_one_provider_thread(state):
            return None
        return await off_loop(state, _whole_turns)

    def with_whole_history(
        self,
        raw: Raw,
        state: ThreadState,
        params: dict[str, Any],
        made: WholeTurns | None = None,
    ) -> Any:
        """Returns Codex's answer about the present provider thread, changed into one about the
        whole thread.

        `params` are the parameters of `thread/resume` that concern turns. The turns `made` count if
        nothing was recorded since.
        """
        if is_one_provider_thread(state):
            return self._with_parent(raw, state)
        answer = msgspec.json.decode(self._identity.to_client(bytes(raw)))
        thread = as_dict(answer.get("thread"))
        first = next((entry.text for entry in state.entries if entry.role == "user"), "")
        thread |= {
            "turns": [] if params.get("excludeTurns") else _turns_in(state, made),
            "preview": first,
            "createdAt": state.created_at_ms // 1000,
            "name": state.name,
            # The present provider thread may be a fork of an earlier one.
            **({"forkedFromId": self._parent_of(state)} if "forkedFromId" in thread else {}),
        }
        if state.recovering_turn_id is not None:
            thread["status"] = {"type": "active", "activeFlags": []}
        return {
            **answer,
            **_own_cursors(answer, state, params.get("initialTurnsPage")),
            "thread": thread,
        }

    async def _read(self, client_request: ClientRequest) -> Any:
        params = client_request.params()
        state = await self._requests.state_of(client_request)
        if state is None or is_one_provider_thread(state):
            try:
                return await self._requests.forward(
                    client_request, shown=partial(self._read_answer, state)
                )
            except ProviderError as error:
                if state is None or state.turns or not is_missing_error(error):
                    raise
        raw = await self._provider_thread(state)
        wanted = {"excludeTurns": not params.get("includeTurns")}
        return self.with_whole_history(raw, state, wanted, await self.whole_turns(state, wanted))

    async def _provider_thread(self, state: ThreadState) -> Raw:
        """Returns Codex's answer about the thread, without its turns.

        Codex forgets a thread without a turn when it ends. For clients the thread still exists, so
        a new provider thread is started then.
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
        return await self._link.request("thread/read", params)

    async def _turns_list(self, client_request: ClientRequest) -> Any:
        state = await self._requests.state_of(client_request)
        if state is None or is_one_provider_thread(state):
            return await self._forward_page(client_request, state)
        await self._take_in(state)
        return history.turns_page(
            state, client_request.params(), with_messages=is_codex_tui(client_request.client)
        )

    async def _items_list(self, client_request: ClientRequest) -> Any:
        state = await self._requests.state_of(client_request)
        if state is None or is_one_provider_thread(state):
            return await self._forward_page(client_request, state)
        await self._take_in(state)
        return history.items_page(
            state, client_request.params(), with_messages=is_codex_tui(client_request.client)
        )

    async def _forward_page(self, client_request: ClientRequest, state: ThreadState | None) -> Any:
        """Forwards the request, and returns an empty page if Codex refuses it for a thread without
        turns.

        Codex has no history of a thread before its first prompt, but a client that reconnects then
        needs a page.
        """
        try:
            return await self._requests.forward(client_request)
        except ProviderError:
            if state is None or state.turns:
                raise
        return {"data": [], "nextCursor": None, "backwardsCursor": None}

    async def _items_read(self, client_request: ClientRequest) -> Any:
        state = await self._requests.state_of(client_request)
        if state is None or is_one_provider_thread(state):
            return await self._requests.forward(client_request)
        return history.items_read(state, client_request.params())

    async def _search_occurrences(self, client_request: ClientRequest) -> Any:
        state = await self._known_in_part(client_request)
        if state is None:
            return await self._requests.forward(client_request)
        return await occurrences_page(state, client_request.params())

    async def _timeline_list(self, client_request: ClientRequest) -> Any:
        state = await self._known_in_part(client_request)
        if state is None:
            return await self._requests.forward(client_request)
        with_messages = is_codex_tui(client_request.client)
        return positions_page(state, client_request.params(), with_messages=with_messages)

    async def _known_in_part(self, client_request: ClientRequest) -> ThreadState | None:
        """Returns the thread's state, updated with changes by other programs, if Codex knows only a
        part of its history; otherwise None.
        """
        state = await self._requests.state_of(client_request)
        if state is None or is_one_provider_thread(state):
            return None
        await self._take_in(state)
        return state

    async def _take_in(self, state: ThreadState) -> None:
        """Records changes that other programs made to the thread, as far as Codex reports them."""
        try:
            await self._sessions.take_in(await self._registry.thread(state.id))
        except ProviderFailure as error:
            log.info("not_taken_in", thread_id=state.id, detail=str(error))

    def without_turns(self, state: ThreadState, raw: Raw) -> Any:
        """Returns the same as `with_whole_history` for an answer without turns."""
        return self.with_whole_history(raw, state, {"excludeTurns": True})

    def _read_answer(self, state: ThreadState | None, raw: Raw) -> Raw:
        answer = Raw(self._identity.to_client(bytes(raw)))
        return answer if state is None else self._with_parent(answer, state)

    def _with_parent(self, raw: Raw, state: ThreadState) -> Raw:
        """Returns Codex's answer with the parent of a fork, which Codex does not know of a fork
        that was made from the ledger.
        """
        parent = self._parent_of(state)
        if parent is None:
            return raw
        answer = msgspec.json.decode(raw, type=dict[str, Raw])
        thread = msgspec.json.decode(answer["thread"], type=dict[str, Raw])
        if "forkedFromId" in thread:
            thread["forkedFromId"] = Raw(msgspec.json.encode(parent))
        return Raw(msgspec.json.encode({**answer, "thread": thread}))

    def _parent_of(self, state: ThreadState) -> str | None:
        parent = state.parent_thread_id
        return None if parent is None else self._registry.owner_of(parent) or parent


def _whole_turns(state: ThreadState) -> WholeTurns:
    return WholeTurns(
        state.thread_sequence,
        [Raw(msgspec.json.encode(turn)) for turn in history.all_turns(state)],
    )


def _turns_in(state: ThreadState, made: WholeTurns | None) -> list[Any]:
    if made is not None and made.thread_sequence == state.thread_sequence:
        return made.turns
    return [*history.all_turns(state)]


def _own_cursors(answer: dict[str, Any], state: ThreadState, first_page: Any) -> dict[str, Any]:
    """Returns the cursors of `answer` replaced by cursors into the thread's whole history."""
    own = {
        "turnsBackwardsCursor": history.newest_turns(state),
        "itemsBackwardsCursor": history.newest_items(state),
        "initialTurnsPage": history.turns_page(state, as_dict(first_page))
        if first_page is not None
        else None,
    }
    return {name: value for name, value in own.items() if name in answer}


def is_one_provider_thread(state: ThreadState) -> bool:
    """Returns whether Codex knows the thread exactly as clients do: under the stable id, and with
    all its turns.

    After `/new` the id is trimpoint's own, and a fork of a trimmed thread has turns that Codex does
    not know.
    """
    served_by_one = len(state.generations) == 1 and state.generation.provider_thread_id == state.id
    served_by_one = served_by_one and not state.generation.turn_ids
    # For Codex, a turn that the overflow recovery is about to repeat has ended.
    return served_by_one and not state.trim_points and state.recovering_turn_id is None
