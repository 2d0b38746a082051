"""Lists of threads as clients see them: one row for each thread, however many provider threads it
has had (docs/spec/clients.md).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw

from trimpoint.codex.appserver.errors import ProviderError
from trimpoint.codex.appserver.supervisor import CodexLink
from trimpoint.gateway.ids import idmap
from trimpoint.gateway.ids.identity import Identity
from trimpoint.gateway.methods.lists.list_pages import (
    MAX_LIMIT,
    NEWEST_FIRST,
    ROW_FILTERS,
    Cursor,
    Listed,
    Order,
    decode_cursor,
    has_changing_filter,
    has_row_filter,
    is_enough,
    key_of,
    limit_of,
    merged,
    once_each,
    order_of,
    passes_filters,
    rows_from,
)
from trimpoint.gateway.session.requests.ordered_request import request_in_order
from trimpoint.gateway.session.requests.request import ClientRequest, Handler
from trimpoint.threads.catalogue import ThreadSummary
from trimpoint.threads.registry import ThreadRegistry

CLOCKS_DIFFER_S = 60
"""The most seconds by which a thread may be recorded after its provider thread was created."""


class ThreadLists:
    """Handles lists of threads. `handlers` maps method names to handlers.

    `is_here(thread_id)` returns whether the thread is stored in this Codex's `CODEX_HOME`.
    """

    def __init__(
        self,
        registry: ThreadRegistry,
        link: CodexLink,
        identity: Identity,
        is_here: Callable[[str], bool],
    ) -> None:
        self._is_here = is_here
        self._registry = registry
        self._link = link
        self._identity = identity
        # These members of a provider thread's row never change, so they are read only once.
        self._origins: dict[str, dict[str, Any]] = {}
        self.handlers: dict[str, Handler] = {
            "thread/list": self._list,
            "thread/search/stream": self._list,
            "thread/loaded/list": self._loaded_list,
        }

    async def _list(self, client_request: ClientRequest) -> Any:
        params = client_request.params()
        order, limit, cursor = (
            order_of(params),
            limit_of(params),
            decode_cursor(params.get("cursor")),
        )
        is_ours = cursor is not None or not params.get("cursor")
        if client_request.method != "thread/list" or not is_ours or order is None or limit is None:
            return await self.codex_page(client_request, params)
        if not self.has_renewed():
            page = await self.codex_page(client_request, params)
            if not self.has_renewed():  # no trim has begun meanwhile
                return page
        return await self._own_page(client_request, Asked(params, order, limit, cursor))

    async def codex_page(
        self, client_request: ClientRequest, params: dict[str, Any]
    ) -> dict[str, Any]:
        """Returns Codex's page with stable ids in it, and without provider threads that no longer
        serve a thread.
        """
        asked = Raw(self._identity.to_provider(msgspec.json.encode(params)))
        raw = await request_in_order(
            self._link, client_request.method, asked, Raw.copy, on_sent=client_request.on_sent
        )
        answer: dict[str, Any] = msgspec.json.decode(raw)
        rows = [self.row(row) for row in answer.get("data") or () if self._is_shown(row)]
        # `readStates` is keyed by thread id.
        rest = idmap.rewrite_ids(
            {name: value for name, value in answer.items() if name != "data"},
            self._registry.owner_of,
        )
        listed = [Listed((0, str(row.get("thread", row).get("id"))), row) for row in rows]
        return {**rest, "data": [one.row for one in once_each(listed)]}

    async def _own_page(self, client_request: ClientRequest, asked: "Asked") -> dict[str, Any]:
        """Returns a page of all threads, sorted by the threads themselves and not by their present
        provider threads.
        """
        answer, listed, end = await self._listed(client_request, asked)
        # Codex has sorted a trimmed thread by the creation of its present provider thread.
        by_creation = asked.order.member == "createdAt"
        displaced = [one for one in listed if by_creation and self._is_renewed(one.key[1])]
        in_place = [one for one in listed if not (by_creation and self._is_renewed(one.key[1]))]
        unlisted = await self._unlisted({one.key[1] for one in listed}, asked, end)
        rest = rows_from(
            merged(in_place, [*displaced, *unlisted], asked.order), asked.cursor, asked.order
        )
        shown, more = await self.shown(rest, asked.limit)
        own: dict[str, Any] = {
            "nextCursor": Cursor(shown[-1].key, inclusive=False).encode()
            if more and shown
            else None,
            "backwardsCursor": Cursor(shown[0].key, inclusive=True).encode() if shown else None,
        }
        states = answer.get("readStates")
        if states is not None:
            on_page = {one.key[1] for one in shown}
            own["readStates"] = {
                thread_id: state for thread_id, state in states.items() if thread_id in on_page
            }
        return {**answer, **own, "data": [one.row for one in shown]}

    async def _listed(
        self, client_request: ClientRequest, asked: "Asked"
    ) -> tuple[dict[str, Any], list[Listed], int | None]:
        """Reads Codex's pages, and returns Codex's answer, its rows that serve a thread at present,
        and a time.

        The answer has the read states of all pages. No row younger than the time is missing; the
        time is None if all rows were read.
        """
        rows: list[Listed] = []
        seen: set[str] = set()
        states: dict[str, Any] = {}
        params = {**asked.params, "limit": MAX_LIMIT, "cursor": None}
        while True:
            answer = await self.codex_page(client_request, params)
            page = [Listed(key_of(row, asked.order), row) for row in answer["data"]]
            ids = {one.key[1] for one in page}
            rows += page
            rows = rows if seen.isdisjoint(ids) else once_each(rows)
            seen |= ids
            states |= answer.get("readStates") or {}
            params["cursor"] = answer.get("nextCursor")
            end = self._end_of_seen(rows, asked.order) if params["cursor"] else None
            if end is None and params["cursor"]:
                continue
            if end is None or is_enough(rows, end, asked.cursor, asked.limit):
                shown = {"readStates": states} if answer.get("readStates") is not None else {}
                return {**answer, **shown}, rows, end

    def _end_of_seen(self, rows: list[Listed], order: Order) -> int | None:
        """Returns a time such that no younger row can follow in Codex's list, or None if that is
        unknown.

        With the newest first, Codex lists a trimmed thread before its place, never after it.
        """
        if order != NEWEST_FIRST:
            return None
        in_place = (one for one in reversed(rows) if not self._is_renewed(one.key[1]))
        last = next(in_place, None)
        return last.key[0] + CLOCKS_DIFFER_S if last is not None else None

    async def shown(self, rows: list[Listed], limit: int) -> tuple[list[Listed], bool]:
        """Returns the first `limit` rows, read from Codex where the list does not have them, and
        whether there are more.
        """
        shown: list[Listed] = []
        for place, one in enumerate(rows):
            row = one.row if one.row is not None else await self._read(one.key[1])
            if row is not None:
                shown.append(one._replace(row=row))
            if len(shown) == limit:
                return shown, place + 1 < len(rows)
        return shown, False

    async def _loaded_list(self, client_request: ClientRequest) -> Any:
        params = self._identity.to_provider(msgspec.json.encode(client_request.params()))
        answer: dict[str, Any] = msgspec.json.decode(
            await self._link.request(client_request.method, Raw(params))
        )
        shown = [
            provider_id
            for provider_id in answer.get("data") or ()
            if self.is_current_or_foreign(str(provider_id))
        ]
        data = [self._registry.owner_of(provider_id) or provider_id for provider_id in shown]
        rest = idmap.rewrite_ids(
            {name: value for name, value in answer.items() if name != "data"},
            self._registry.owner_of,
        )
        return {**rest, "data": data}

    def _is_shown(self, row: dict[str, Any]) -> bool:
        thread = row.get("thread", row)
        return self.is_current_or_foreign(str(thread.get("id")))

    def is_current_or_foreign(self, provider_id: str) -> bool:
        """Returns whether a provider thread serves a thread at present, or did so before a trim
        that is under way, or does not belong to a thread of ours.
        """
        owner = self._registry.owner_of(provider_id)
        return owner is None or self._newest_provider(owner) == provider_id

    def _newest_provider(self, thread_id: str) -> str:
        """Returns the newest provider thread that a thread is known to have had, or an empty
        string.
        """
        ids = self._registry.summaries[thread_id].provider_thread_ids
        return next((one for one in reversed(ids) if one is not None), "")

    def row(self, row: dict[str, Any]) -> dict[str, Any]:
        """Returns a row of Codex with stable ids, and with the creation time and preview of the
        thread instead of its provider thread's.
        """
        thread = row.get("thread", row)
        provider_id = str(thread.get("id"))
        owner = self._registry.owner_of(provider_id)
        shown: dict[str, Any] = idmap.rewrite_ids(row, self._registry.owner_of)
        if owner is not None and owner != provider_id:
            summary = self._registry.summaries[owner]
            shown.get("thread", shown).update(
                createdAt=summary.created_at_ms // 1000, preview=summary.preview
            )
        return shown

    def has_renewed(self) -> bool:
        """Returns whether this Codex stores a thread that was trimmed."""
        return any(
            _was_renewed(summary) and self._is_here(summary.thread_id)
            for summary in self._registry.summaries.values()
        )

    def _is_renewed(self, thread_id: str) -> bool:
        summary = self._registry.summaries.get(thread_id)
        return summary is not None and _was_renewed(summary)

    async def _unlisted(self, listed: set[str], asked: "Asked", end: int | None) -> list[Listed]:
        """Returns the threads whose present provider thread has no turn yet. Codex does not list
        those, but a cleared thread must not vanish.

        With `end`, only threads younger than `end` are returned, because Codex's list was read only
        that far.
        """
        rows: list[Listed] = []
        for summary in self._registry.summaries.values():
            if (
                (end is not None and summary.created_at_ms // 1000 <= end)
                or summary.thread_id in listed
                or not _was_renewed(summary)
                or not self._is_here(summary.thread_id)
                or not _fits(summary, asked.params)
            ):
                continue
            if not has_row_filter(asked.params) or await self._row_fits(
                summary.thread_id, asked.params
            ):
                at_ms = (
                    summary.created_at_ms
                    if asked.order.member == "createdAt"
                    else summary.updated_at_ms
                )
                rows.append(Listed((at_ms // 1000, summary.thread_id)))
        return rows

    async def _row_fits(self, thread_id: str, params: dict[str, Any]) -> bool:
        """Returns whether a thread that Codex does not list passes the filters."""
        provider_id = self._newest_provider(thread_id)
        known = self._origins.get(provider_id) if not has_changing_filter(params) else None
        row = known or await self._read(thread_id)
        if row is None:
            return False
        self._origins[provider_id] = {name: row.get(name) for name in ROW_FILTERS.values()}
        return passes_filters(row, params)

    async def _read(self, thread_id: str) -> dict[str, Any] | None:
        """Returns a thread's row from the newest of its provider threads that Codex still has, or
        None if it has none of them. Codex forgets an empty provider thread when it ends.
        """
        for provider_id in reversed(self._registry.summaries[thread_id].provider_thread_ids):
            if provider_id is None:
                continue
            try:
                raw = await self._link.request(
                    "thread/read", {"threadId": provider_id, "includeTurns": False}
                )
            except ProviderError:
                continue
            row = self.row(msgspec.json.decode(raw)["thread"])
            return {**row, "updatedAt": self._registry.summaries[thread_id].updated_at_ms // 1000}
        return None


class Asked(NamedTuple):
    """The parameters of a client's `thread/list`."""

    params: dict[str, Any]
    order: Order
    limit: int
    cursor: Cursor | None


def _was_renewed(summary: ThreadSummary) -> bool:
    # While a trim is under way, the newest is None: the next provider thread is being started.
    return (
        bool(summary.provider_thread_ids) and summary.provider_thread_ids[-1] != summary.thread_id
    )


def _fits(summary: ThreadSummary, params: dict[str, Any]) -> bool:
    """Returns whether a thread passes the filters that need only its summary."""
    cwd, term = params.get("cwd"), params.get("searchTerm")
    wanted = [cwd] if isinstance(cwd, str) else cwd
    return (
        summary.archived == bool(params.get("archived"))
        and (not wanted or summary.cwd in wanted)
        and (not term or str(term).lower() in (summary.name or summary.preview).lower())
        and summary.thread_id not in (params.get("excludedThreadIds") or ())
        and not params.get("parentThreadId")
        and not params.get("ancestorThreadId")
    )
