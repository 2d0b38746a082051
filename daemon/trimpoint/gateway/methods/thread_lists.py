"""Lists of threads as clients see them: one row a thread, whatever number of provider threads it has had (docs/spec/clients.md)."""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from msgspec import Raw

from trimpoint.codex.appserver.peer import ProviderError
from trimpoint.codex.appserver.supervisor import CodexLink
from trimpoint.gateway.ids import idmap
from trimpoint.gateway.ids.identity import Identity
from trimpoint.gateway.session.ordered_request import request_in_order
from trimpoint.gateway.session.request import ClientRequest
from trimpoint.threads.catalogue import ThreadSummary
from trimpoint.threads.registry import ThreadRegistry

Handler = Callable[[ClientRequest], Awaitable[Any]]


class ThreadLists:
    """`handlers` is the table, as in `ThreadMethods`."""

    def __init__(self, engine: ThreadRegistry, link: CodexLink, identity: Identity) -> None:
        self._engine = engine
        self._link = link
        self._identity = identity
        self.handlers: dict[str, Handler] = {
            "thread/list": self._list,
            "thread/search": self._list,
            "thread/search/stream": self._list,
            "thread/loaded/list": self._loaded_list,
        }

    async def _list(self, client_request: ClientRequest) -> Any:
        params = client_request.params()
        asked = Raw(self._identity.to_provider(msgspec.json.encode(params)))
        raw = await request_in_order(self._link, client_request.method, asked, Raw.copy, on_sent=client_request.on_sent)
        answer: dict[str, Any] = msgspec.json.decode(raw)
        rows = [self._row(row) for row in answer.get("data") or () if self._is_shown(row)]
        if client_request.method == "thread/list" and not params.get("cursor") and not params.get("archived"):
            listed = {row.get("id") for row in rows}
            rows = [*await self._unlisted(listed, params), *rows]
        # `readStates` is keyed by thread id.
        rest = idmap.rewrite_ids({name: value for name, value in answer.items() if name != "data"}, self._engine.owner_of)
        return {**rest, "data": rows}

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

    async def _unlisted(self, listed: set[Any], params: dict[str, Any]) -> list[dict[str, Any]]:
        """Threads whose present provider thread had no turn yet: Codex lists none of those, and a cleared thread must not vanish."""
        rows: list[dict[str, Any]] = []
        for summary in sorted(self._engine.summaries.values(), key=lambda summary: -summary.updated_at_ms):
            if summary.thread_id not in listed and _was_renewed(summary) and _fits(summary, params):
                provider_id = str(summary.provider_thread_ids[-1])
                try:
                    raw = await self._link.request("thread/read", {"threadId": provider_id, "includeTurns": False})
                except ProviderError:
                    continue
                rows.append(self._row(msgspec.json.decode(raw)["thread"]))
        return rows


def _was_renewed(summary: ThreadSummary) -> bool:
    current = summary.provider_thread_ids[-1] if summary.provider_thread_ids else None
    return not summary.archived and current is not None and current != summary.thread_id


def _fits(summary: ThreadSummary, params: dict[str, Any]) -> bool:
    cwd = params.get("cwd")
    wanted = [cwd] if isinstance(cwd, str) else cwd
    return (not wanted or summary.cwd in wanted) and not params.get("searchTerm")
