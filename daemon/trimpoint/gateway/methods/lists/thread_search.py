"""Searches the text of threads, including former generations. Codex finds provider threads, clients
get one row for each thread (docs/spec/clients.md).

Codex keeps the provider threads of former generations archived, so pruned text is found among the
archived ones, and is listed at the thread's place.
"""

from typing import Any, NamedTuple

import msgspec
from msgspec import Raw

from trimpoint.codex.appserver.supervisor import CodexLink
from trimpoint.gateway.ids.identity import Identity
from trimpoint.gateway.methods.lists.list_pages import (
    MAX_LIMIT,
    Cursor,
    Key,
    Listed,
    Order,
    decode_cursor,
    key_of,
    limit_of,
    once_each,
    order_of,
    rows_from,
)
from trimpoint.gateway.methods.lists.thread_lists import ThreadLists
from trimpoint.gateway.session.requests.ordered_request import request_in_order
from trimpoint.gateway.session.requests.request import ClientRequest, Handler
from trimpoint.threads.registry import ThreadRegistry


class _Matches(NamedTuple):
    """The matches of a search. `rows` are Codex's rows for provider threads in use; `former` maps
    threads to a snippet from a matching former generation.
    """

    rows: list[Listed]
    former: dict[str, str]


class ThreadSearch:
    """Handles `thread/search`. `handlers` maps method names to handlers; `lists` makes the rows."""

    def __init__(
        self, registry: ThreadRegistry, link: CodexLink, identity: Identity, lists: ThreadLists
    ) -> None:
        self._registry = registry
        self._link = link
        self._identity = identity
        self._lists = lists
        self.handlers: dict[str, Handler] = {"thread/search": self._search}

    async def _search(self, client_request: ClientRequest) -> Any:
        params = client_request.params()
        order, limit = order_of(params), limit_of(params)
        cursor = decode_cursor(params.get("cursor"))
        is_ours = cursor is not None or not params.get("cursor")
        if order is None or limit is None or not is_ours or not self._lists.has_renewed():
            return await self._lists.codex_page(client_request, params)
        matches = await self._matches(client_request, params, order)
        listed = [*matches.rows, *self._former_rows(matches, params, order)]
        listed.sort(key=lambda one: one.key, reverse=order.descending)
        rest = rows_from(listed, cursor, order)
        shown, more = await self._lists.shown(rest, limit)
        return {
            "data": [self._result(one, matches.former) for one in shown],
            "nextCursor": Cursor(shown[-1].key, inclusive=False).encode() if more else None,
            "backwardsCursor": Cursor(shown[0].key, inclusive=True).encode() if shown else None,
        }

    async def _matches(
        self, client_request: ClientRequest, params: dict[str, Any], order: Order
    ) -> _Matches:
        found = await self._all_found(client_request, params)
        current = [one for one in found if self._lists.is_current_or_foreign(_id_of(one))]
        rows = [self._lists.row(one) for one in current]
        if not params.get("archived"):
            found = await self._all_found(client_request, {**params, "archived": True})
        former: dict[str, str] = {}
        for one in found:
            owner = self._registry.owner_of(_id_of(one))
            if owner is not None and not self._lists.is_current_or_foreign(_id_of(one)):
                former.setdefault(owner, str(one.get("snippet") or ""))
        listed = [Listed(key_of(row["thread"], order), row) for row in rows]
        return _Matches(once_each(listed), former)

    async def _all_found(
        self, client_request: ClientRequest, params: dict[str, Any]
    ) -> list[dict[str, Any]]:
        """Returns all results of Codex, unchanged. Codex sorts them by provider threads, so its
        pages cannot be used.
        """
        found: list[dict[str, Any]] = []
        asked = {**params, "limit": MAX_LIMIT, "cursor": None}
        while True:
            raw = await request_in_order(
                self._link,
                client_request.method,
                Raw(self._identity.to_provider(msgspec.json.encode(asked))),
                Raw.copy,
                on_sent=client_request.on_sent,
            )
            answer: dict[str, Any] = msgspec.json.decode(raw)
            found += answer.get("data") or ()
            asked["cursor"] = answer.get("nextCursor")
            if not asked["cursor"]:
                return found

    def _former_rows(self, matches: _Matches, params: dict[str, Any], order: Order) -> list[Listed]:
        found = {one.key[1] for one in matches.rows}
        return [
            Listed(self._key(thread_id, order))
            for thread_id in matches.former
            if thread_id not in found and self._is_wanted(thread_id, params)
        ]

    def _is_wanted(self, thread_id: str, params: dict[str, Any]) -> bool:
        summary = self._registry.summaries.get(thread_id)
        return summary is not None and summary.archived == bool(params.get("archived"))

    def _key(self, thread_id: str, order: Order) -> Key:
        summary = self._registry.summaries[thread_id]
        is_by_creation = order.member == "createdAt"
        at_ms = summary.created_at_ms if is_by_creation else summary.updated_at_ms
        return at_ms // 1000, thread_id

    @staticmethod
    def _result(one: Listed, former: dict[str, str]) -> dict[str, Any]:
        assert one.row is not None  # as `shown` gives them
        if "thread" in one.row:
            return one.row
        return {"thread": one.row, "snippet": former[one.key[1]]}


def _id_of(found: dict[str, Any]) -> str:
    return str(found.get("thread", {}).get("id"))
