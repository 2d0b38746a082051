"""Lists of threads as clients see them: one row a thread, whatever number of provider threads it has had (docs/spec/clients.md)."""

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw

from trimpoint.codex.appserver.peer import ProviderError
from trimpoint.codex.appserver.supervisor import CodexLink
from trimpoint.gateway.ids import idmap
from trimpoint.gateway.ids.identity import Identity
from trimpoint.gateway.methods.renewed_rows import (
    Order,
    Position,
    candidates,
    cursor_of,
    merged,
    order_of,
    position_of,
    row_fits,
    was_renewed,
)
from trimpoint.gateway.session.ordered_request import request_in_order
from trimpoint.gateway.session.request import ClientRequest
from trimpoint.threads.catalogue import ThreadSummary
from trimpoint.threads.registry import ThreadRegistry

DEFAULT_PAGE = 25
UNCHANGING = ("modelProvider", "source", "parentThreadId")

Handler = Callable[[ClientRequest], Awaitable[Any]]


class ThreadLists:
    """`handlers` is the table, as in `ThreadMethods`."""

    def __init__(self, engine: ThreadRegistry, link: CodexLink, identity: Identity) -> None:
        self._engine = engine
        self._link = link
        self._identity = identity
        self._unchanging: dict[str, dict[str, Any]] = {}
        """Provider thread id -> what never changes of its row, so that a filter need not ask again."""
        self.handlers: dict[str, Handler] = {
            "thread/list": self._list,
            "thread/search": self._search,
            "thread/search/stream": self._search,
            "thread/loaded/list": self._loaded_list,
        }

    async def _search(self, client_request: ClientRequest) -> Any:
        answer = await self._ask(client_request, client_request.params())
        rows = [self._row(row) for row in answer.get("data") or () if self._is_shown(row)]
        return {**self._beside_rows(answer), "data": rows}

    async def _list(self, client_request: ClientRequest) -> Any:
        """A page of Codex's with the trimmed threads where they belong; at least one row, unless it is the end."""
        params = client_request.params()
        order, position = order_of(params), position_of(params.get("cursor"))
        ours = candidates(self._engine.summaries.values(), params, order, position.ours)
        while True:
            answer = await self._ask(client_request, {**params, "cursor": position.codex})
            page = await self._page(answer, params, order, position, ours)
            if page.rows or page.next is None:
                break
            position = page.next
        cursor = None if page.next is None else self._cursor(page.next)
        return {**self._beside_rows(answer), "data": page.rows, "nextCursor": cursor}

    async def _page(
        self, answer: dict[str, Any], params: dict[str, Any], order: Order, position: Position,
        ours: list[ThreadSummary],
    ) -> "_Page":  # fmt: skip
        listed: list[dict[str, Any]] = answer.get("data") or []
        following: str | None = self._beside_rows(answer).get("nextCursor")
        at_hand = {str(row.get("id")): row for row in listed}
        theirs = [row for row in _behind(listed, position.theirs) if self._is_codexs_to_place(row)]
        end = int(listed[-1].get(order.member) or 0) if listed else None
        limit = params.get("limit") or max(len(listed), DEFAULT_PAGE)
        rows: list[dict[str, Any]] = []
        for one in merged(theirs, ours, order, is_last=following is None, end=end):
            if len(rows) >= limit:
                return _Page(rows, position)
            if isinstance(one, ThreadSummary):
                position = msgspec.structs.replace(position, ours=(order.value_of(one), one.thread_id))
                rows += await self._renewed_row(one, params, at_hand)
            else:
                position = msgspec.structs.replace(position, theirs=str(one.get("id")))
                rows.append(self._row(one))
        return _Page(rows, None if following is None else Position(following, None, position.ours))

    def _cursor(self, position: Position) -> str | None:
        """Codex's own cursor where there is nothing of ours to remember."""
        plain = position.theirs is None and position.ours is None
        return position.codex if plain else cursor_of(position)

    async def _ask(self, client_request: ClientRequest, params: dict[str, Any]) -> dict[str, Any]:
        asked = Raw(self._identity.to_provider(msgspec.json.encode(params)))
        raw = await request_in_order(self._link, client_request.method, asked, Raw.copy, on_sent=client_request.on_sent)
        answer: dict[str, Any] = msgspec.json.decode(raw)
        return answer

    def _beside_rows(self, answer: dict[str, Any]) -> dict[str, Any]:
        """What an answer has beside its rows; `readStates` is keyed by thread id."""
        rest = {name: value for name, value in answer.items() if name != "data"}
        shown: dict[str, Any] = idmap.rewrite_ids(rest, self._engine.owner_of)
        return shown

    async def _loaded_list(self, client_request: ClientRequest) -> Any:
        params = self._identity.to_provider(msgspec.json.encode(client_request.params()))
        answer: dict[str, Any] = msgspec.json.decode(await self._link.request(client_request.method, Raw(params)))
        shown = [provider_id for provider_id in answer.get("data") or () if self._is_current_or_foreign(str(provider_id))]
        data = [self._engine.owner_of(provider_id) or provider_id for provider_id in shown]
        rest = idmap.rewrite_ids({name: value for name, value in answer.items() if name != "data"}, self._engine.owner_of)
        return {**rest, "data": data}

    def _is_shown(self, row: dict[str, Any]) -> bool:
        thread = row.get("thread", row)
        return self._is_current_or_foreign(str(thread.get("id")))

    def _is_current_or_foreign(self, provider_id: str) -> bool:
        return self._engine.owner_of(provider_id) is None or self._identity.is_current(provider_id)

    def _row(self, row: dict[str, Any]) -> dict[str, Any]:
        thread = row.get("thread", row)
        provider_id = str(thread.get("id"))
        owner = self._engine.owner_of(provider_id)
        shown: dict[str, Any] = idmap.rewrite_ids(row, self._engine.owner_of)
        if owner is not None and owner != provider_id:
            summary = self._engine.summaries[owner]
            shown.get("thread", shown).update(createdAt=summary.created_at_ms // 1000, preview=summary.preview)
        return shown

    def _is_codexs_to_place(self, row: dict[str, Any]) -> bool:
        """Whether a row stands where it belongs: a trimmed thread's does not, and is placed by us."""
        owner = self._engine.owner_of(str(row.get("id")))
        summary = self._engine.summaries.get(owner or "")
        return self._is_shown(row) and (summary is None or not was_renewed(summary))

    async def _renewed_row(
        self, summary: ThreadSummary, params: dict[str, Any], at_hand: dict[str, dict[str, Any]]
    ) -> list[dict[str, Any]]:
        """The row of a trimmed thread, if Codex has it and it is what is asked for."""
        provider_id = str(summary.provider_thread_ids[-1])
        known = self._unchanging.get(provider_id)
        if known is not None and not row_fits(known, params):
            return []
        row = at_hand.get(provider_id) or await self._read(provider_id)
        if row is None:
            return []
        if "projectId" not in params and "sectionId" not in params:
            self._unchanging[provider_id] = {name: row.get(name) for name in UNCHANGING}
        if not row_fits(row, params):
            return []
        return [{**self._row(row), "updatedAt": summary.updated_at_ms // 1000}]

    async def _read(self, provider_id: str) -> dict[str, Any] | None:
        try:
            raw = await self._link.request("thread/read", {"threadId": provider_id, "includeTurns": False})
        except ProviderError:
            return None
        thread: dict[str, Any] = msgspec.json.decode(raw)["thread"]
        return thread


class _Page(NamedTuple):
    """Rows, and where to go on, None at the end."""

    rows: list[dict[str, Any]]
    next: Position | None


def _behind(rows: list[dict[str, Any]], last_id: str | None) -> list[dict[str, Any]]:
    """What comes after the row of that id; all, where it is on the page no more."""
    at = next((at for at, row in enumerate(rows) if row.get("id") == last_id), -1)
    return rows[at + 1 :]
